import type { ChannelOptions, GatewayOptions } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import express from "express";
import { onTestFinished } from "vitest";
import { listen } from "../../support/listen.js";
import {
  CALLER_KEY,
  CHANNEL_KEY,
  type Providers,
  startGateway,
  type TestGateway,
} from "../../support/test-gateway.js";

export { CALLER_KEY, QWEN_IMAGE, SEEDREAM } from "../../support/test-gateway.js";

/** The key of a caller whose default response format is base64. */
export const BASE64_CALLER_KEY = "caller-canary-60b2f8d5";
/** A model of family B that makes up to six images. */
export const QWEN_IMAGE_2 = "image-2.0";

const CHANNELS: readonly Omit<ChannelOptions, "baseUrl">[] = [
  { id: "ark", family: "seedream", apiKey: CHANNEL_KEY, modelMapping: { "seedream-*": "doubao-seedream-*" } },
  { id: "dashscope", family: "qwen-image", apiKey: CHANNEL_KEY, modelMapping: { "image-*": "qwen-image-*" } },
];

const perImage = (model_price: string) => ({ pricing_mode: "per-request" as const, model_price });

/** Serves a gateway with a model of each kind in an Express app on a free port, until the test ends. */
export async function serve(
  { emulator, server }: Providers,
  options: Partial<GatewayOptions> = {},
): Promise<TestGateway & { readonly url: string }> {
  const baseUrls = [server.arkBaseUrl, server.dashscopeBaseUrl];
  const started = startGateway(
    { emulator, server },
    {
      models: { "seedream-*": { family: "seedream" }, "image-*": { family: "qwen-image" } },
      channels: CHANNELS.map((channel, index) => ({ ...channel, baseUrl: baseUrls[index] })),
      callers: [
        { id: "tester", key: CALLER_KEY },
        { id: "base64-tester", key: BASE64_CALLER_KEY, responseFormat: "b64_json" },
      ],
      billing: {
        model_details: {
          "seedream-*": perImage("0.03"),
          "image-*": perImage("0.075"),
          "image-edit-*": perImage("0.05"),
        },
      },
      ...options,
    },
  );
  const { url, close } = await listen(express().use(toExpressHandler(started.gateway)));
  onTestFinished(close);
  return { ...started, url };
}
