import { createGateway, type Gateway, type GatewayOptions, type UsageRecord } from "@calotype/core";
import { gemini } from "@calotype/core/families/gemini";
import { createEmulator, type Emulator, type EmulatorServer } from "@calotype/emulator";
import { toNodeHandler } from "@calotype/node";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, onTestFinished } from "vitest";
import { listen } from "../support/listen.js";

export const CALLER_KEY = "caller-key-of-the-gemini-tests";
export const CHANNEL_KEY = "google-key-of-the-gemini-tests";
export const BANANA = "gemini-nano-banana-2.1";
export const PRO = "gemini-3-pro-image";
export const LITE = "gemini-3.1-flash-lite-image";
export const FLASH_2_5 = "gemini-2.5-flash-image";

/** Google's prices (see docs/families/gemini.md). */
export const PRICES = {
  [BANANA]: {
    pricing_mode: "per-token",
    output_token_price: "30",
    output_text_token_price: "7.5",
    input_token_price: "1.5",
  },
  [PRO]: {
    pricing_mode: "per-token",
    output_token_price: "120",
    output_text_token_price: "12",
    input_token_price: "2",
  },
  [LITE]: { pricing_mode: "per-request", model_price: "0.04" },
  [FLASH_2_5]: { pricing_mode: "per-request", model_price: "0.05" },
} as const;

interface Google {
  readonly emulator: Emulator;
  readonly server: EmulatorServer;
}

/** The emulated provider on a socket, for all tests of a file. */
export function useGoogle(): () => Google {
  let google: Google | undefined;
  const get = (): Google => {
    if (google === undefined) throw new Error("The emulator has not started.");
    return google;
  };
  beforeAll(async () => {
    const emulator = createEmulator({ images: "full" });
    google = { emulator, server: await emulator.listen() };
  });
  beforeEach(() => get().emulator.reset());
  afterAll(async () => get().server.close());
  return get;
}

export interface GeminiGateway {
  readonly gateway: Gateway;
  readonly client: OpenAI;
  /** The URL of the gateway, without `/v1`. */
  readonly url: string;
  readonly records: readonly UsageRecord[];
  readonly logLines: readonly string[];
}

/** A gateway over a socket with the official client. It closes when the test ends. */
export async function openGateway(
  { server }: Google,
  options: Partial<GatewayOptions> = {},
): Promise<GeminiGateway> {
  const records: UsageRecord[] = [];
  const logLines: string[] = [];
  const log = (fields: object, message: string): void =>
    void logLines.push(JSON.stringify({ message, ...fields }));
  const gateway = createGateway({
    families: [gemini],
    models: Object.fromEntries(Object.keys(PRICES).map((name) => [name, { family: "gemini" }])),
    channels: [{ id: "google", family: "gemini", apiKey: CHANNEL_KEY, baseUrl: server.baseUrls.gemini }],
    callers: [{ id: "tester", key: CALLER_KEY }],
    billing: { model_details: PRICES },
    onUsage: (record) => records.push(record),
    logger: { warn: log, error: log },
    ...options,
  });
  onTestFinished(() => gateway.close());
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(close);
  return {
    gateway,
    url,
    records,
    logLines,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0 }),
  };
}
