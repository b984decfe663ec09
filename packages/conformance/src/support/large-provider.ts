import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { ChannelOptions, GatewayOptions } from "@calotype/core";
import { onTestFinished } from "vitest";
import { listen } from "./listen.js";
import { CHANNEL_KEY, SEEDREAM } from "./test-gateway.js";

/**
 * What a provider does in the middle of its response: continue, continue after this number of milliseconds,
 * or break off.
 */
export type InTheMiddle = "goes on" | "breaks off" | number;

/** A provider that responds like Ark, with images in base64. */
export interface LargeProvider {
  readonly channel: ChannelOptions;
  /** The response that is sent. */
  readonly text: string;
  /** The number of responses that were sent completely. */
  readonly sent: () => number;
}

/** Two images with 8 MB together. */
const IMAGES = ["A", "B"].map((letter) => letter.repeat(4_000_000));

/** Starts a provider that responds with these images in base64, until the test ends. */
export async function startLargeProvider(
  inTheMiddle: InTheMiddle = "goes on",
  images: readonly string[] = IMAGES,
): Promise<LargeProvider> {
  const text = writeResponse(images);
  const bytes = Buffer.from(text);
  const half = Math.floor(bytes.length / 2);
  let sent = 0;
  const respond = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
    response.on("finish", () => sent++);
    if (inTheMiddle === "goes on") return void response.end(bytes);
    await new Promise((resolve) => {
      response.write(bytes.subarray(0, half), resolve);
    });
    if (inTheMiddle === "breaks off") return void response.destroy();
    await pause(inTheMiddle);
    response.end(bytes.subarray(half));
  };
  const { url, close } = await listen((request, response) => {
    request.resume();
    void respond(response);
  });
  onTestFinished(close);
  return {
    channel: { id: "large", family: "seedream", apiKey: CHANNEL_KEY, baseUrl: url },
    text,
    sent: () => sent,
  };
}

/** The options of a gateway that calls this provider. */
export function inFrontOf({ channel }: LargeProvider): Partial<GatewayOptions> {
  return { models: { [SEEDREAM]: { family: "seedream" } }, channels: [channel], billing: BILLING };
}

const BILLING: GatewayOptions["billing"] = {
  model_details: { [SEEDREAM]: { pricing_mode: "per-request", model_price: "0.03" } },
};

function writeResponse(encoded: readonly string[]): string {
  const data = encoded.map((b64_json) => ({ b64_json, size: "2048x2048" }));
  const images = encoded.length;
  const usage = { generated_images: images, output_tokens: 4_096 * images, total_tokens: 4_096 * images };
  return JSON.stringify({ model: SEEDREAM, created: 1_763_683_200, data, usage });
}
