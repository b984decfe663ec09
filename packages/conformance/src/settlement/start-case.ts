import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { type ChannelOptions, createGateway, type Gateway, type GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { listen } from "../support/listen.js";
import { CALLER_KEY, CHANNEL_KEY } from "../support/test-gateway.js";
import { JOB_FAMILY } from "./job-family.js";
import { report } from "./making.js";
import type { Row } from "./row.js";
import { accepts, makes, type Script } from "./script.js";
import {
  isOpenAi,
  isQwenImage,
  MAX_BYTES_IN_FLIGHT,
  QWEN_IMAGE_MODEL,
  SEEDREAM_MODEL,
  type Way,
} from "./ways.js";

/** A row in one way and with one price. */
export interface Case {
  readonly row: Row;
  readonly way: Way;
  readonly pricing: keyof typeof PRICES;
}

/** A gateway and a provider, each on a socket. The provider does what the row says. */
export interface StartedCase {
  readonly gateway: Gateway;
  readonly url: string;
  /** How often the provider was called. */
  readonly calls: () => number;
  /** Resolves when the gateway has the first request. */
  readonly gatewayCalled: Promise<unknown>;
  /** Resolves when the provider has the first request. */
  readonly providerCalled: Promise<unknown>;
  readonly close: () => Promise<void>;
}

export const CALLER = "tester";

/** 0.25 an image; 10 for a million output tokens. */
const PRICES = {
  image: { pricing_mode: "per-request", model_price: "0.25" },
  token: { pricing_mode: "per-token", output_token_price: "10" },
} as const;

/** Longer than any test. */
const PATIENCE_MS = 30_000;
const HEALTHY: Script = makes({ images: 1, usage: report(1) });

export async function startCase(started: Case): Promise<StartedCase> {
  const { row, way } = started;
  const gatewayCalled = Promise.withResolvers<void>();
  const providerCalled = Promise.withResolvers<void>();
  const clientLeft = Promise.withResolvers<void>();
  let calls = 0;
  let downloads = 0;
  const provide = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const isPoll = request.url?.includes("/jobs/") === true;
    const isDownload = request.method === "GET" && !isPoll;
    const healthy = way === "job" && !isPoll ? accepts : HEALTHY;
    const script = (isDownload ? row.downloads?.[downloads++] : row.provider[calls++]) ?? healthy;
    if (!isDownload) providerCalled.resolve();
    const format = isQwenImage(way) ? "Qwen-Image" : isStreamRequest(body) ? "events" : "Seedream";
    await script({ request, response, format, clientLeft: clientLeft.promise });
  };
  const provider = await listen((request, response) => void provide(request, response));
  const gateway = createGateway(describeGateway(started, provider.url, clientLeft.promise));
  const handle = toNodeHandler(gateway);
  const host = await listen((request, response) => {
    response.on("close", clientLeft.resolve);
    gatewayCalled.resolve();
    handle(request, response);
  });
  return {
    gateway,
    url: host.url,
    calls: () => calls,
    gatewayCalled: gatewayCalled.promise,
    providerCalled: providerCalled.promise,
    async close() {
      await gateway.close({ deadlineSeconds: 0 });
      await Promise.all([host.close(), provider.close()]);
    },
  };
}

function isStreamRequest(body: string): boolean {
  const fields: { readonly stream?: unknown } = JSON.parse(body || "{}");
  return fields.stream === true;
}

function describeGateway(
  { row, way, pricing }: Case,
  providerUrl: string,
  clientLeft: Promise<unknown>,
): GatewayOptions {
  const family = isQwenImage(way) ? "qwen-image" : way === "job" ? JOB_FAMILY.name : "seedream";
  return {
    families: [JOB_FAMILY],
    models: {
      [isQwenImage(way) ? QWEN_IMAGE_MODEL : SEEDREAM_MODEL]: { family, capabilities: row.capabilities },
    },
    channels: describeChannels(row, family, providerUrl),
    callers: [{ id: CALLER, key: CALLER_KEY, budget: row.budget?.[pricing] }],
    streamFormat: isOpenAi(way) ? "openai" : "native",
    // So that the next request fails if this one keeps its slot.
    limits: { concurrent: 1 },
    maxBytesInFlight: MAX_BYTES_IN_FLIGHT,
    billing: { model_details: { "*": PRICES[pricing] }, onLost: row.onLost ?? row.closed },
    logger: { warn: () => undefined, error: () => undefined },
    ...row.options?.(clientLeft),
  };
}

/** The port of the discard service. No server listens there. */
const NOBODY = "http://127.0.0.1:9";

function describeChannels(
  { channels = ["provider"], retryUnsafe, silenceMs = PATIENCE_MS }: Row,
  family: string,
  providerUrl: string,
): readonly ChannelOptions[] {
  return channels.map((behind, index) => ({
    id: `channel ${index + 1}`,
    family,
    apiKey: CHANNEL_KEY,
    baseUrl: behind === "provider" ? providerUrl : NOBODY,
    priority: channels.length - index,
    timeouts: { connectSeconds: 5, firstByteSeconds: silenceMs / 1000, idleSeconds: silenceMs / 1000 },
    retryUnsafe,
  }));
}
