import { createGateway, type GatewayOptions, type SettledRecord } from "@calotype/core";
import { openai } from "@calotype/core/families/openai";
import { createEmulator, type Emulator, type EmulatorOptions } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import express from "express";
import OpenAI from "openai";
import { onTestFinished } from "vitest";
import { listen } from "../support/listen.ts";

export const CALLER_KEY = "caller-key-openai-family";
const NOW = Date.parse("2026-11-22T12:00:00Z");

/** An emulator on a socket. Two with the same seed draw the same images. */
export async function startEmulator(options: EmulatorOptions = {}) {
  const emulator = createEmulator({ seed: 7, now: () => NOW, images: "tiny", ...options });
  const server = await emulator.listen();
  onTestFinished(() => server.close());
  return { emulator, baseUrls: server.baseUrls };
}

export interface StartOptions {
  /** The API of the emulator and the dialect of the channel. Default `openai`. */
  readonly service?: keyof Awaited<ReturnType<typeof startEmulator>>["baseUrls"];
  readonly models?: readonly string[];
  readonly options?: Partial<GatewayOptions>;
  readonly emulator?: EmulatorOptions;
}

export interface Started {
  readonly emulator: Emulator;
  readonly baseUrl: string;
  readonly client: OpenAI;
  readonly url: string;
  readonly records: readonly SettledRecord[];
  readonly gateway: ReturnType<typeof createGateway>;
  /** Posts JSON or a form with the caller's key. */
  readonly post: (path: string, body: object) => Promise<Response>;
}

/** A gateway in an Express app, whose only provider is an emulator, and the official client for it. */
export async function start({
  service = "openai",
  models = ["gpt-image-2"],
  options,
  emulator: emulatorOptions,
}: StartOptions = {}): Promise<Started> {
  const { emulator, baseUrls } = await startEmulator(emulatorOptions);
  const records: SettledRecord[] = [];
  const baseUrl = baseUrls[service];
  const gateway = createGateway({
    families: [openai],
    models: Object.fromEntries(models.map((model) => [model, { family: "openai" }])),
    channels: [{ id: "c", family: "openai", dialect: service, apiKey: "provider-key-0001", baseUrl }],
    callers: [{ id: "me", key: CALLER_KEY }],
    onUsage: (record) => void (record.state === "settled" && records.push(record)),
    logger: { warn() {}, error() {} },
    ...options,
  });
  const { url, close } = await listen(express().use(toExpressHandler(gateway)));
  onTestFinished(async () => {
    await close();
    await gateway.close();
  });
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0 });
  const post = (path: string, body: object): Promise<Response> =>
    fetch(url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${CALLER_KEY}`,
        ...(!(body instanceof FormData) && { "content-type": "application/json" }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    });
  return { emulator, baseUrl, client, url, records, gateway, post };
}
