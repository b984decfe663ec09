import { createGateway, type Gateway, type GatewayOptions, type UsageRecord } from "@calotype/core";
import type { ModelDetails } from "@calotype/core/billing";
import { type Family, qwenImage, seedream } from "@calotype/core/families";
import type { RecordedRequest } from "@calotype/emulator";
import { toNodeHandler } from "@calotype/node";
import OpenAI from "openai";
import { onTestFinished } from "vitest";
import { listen } from "../support/listen.ts";
import type { Providers } from "../support/test-gateway.ts";
import type { FamilyService } from "./services.ts";

export const CALLER_KEY = "caller-key-of-the-family-tests";

const BUILT_IN: ReadonlySet<Family> = new Set([seedream, qwenImage]);

type ModelOptions = Partial<Extract<GatewayOptions["models"], Record<string, object>>[string]>;

interface OpenOptions {
  readonly model?: ModelOptions;
  readonly price?: ModelDetails;
  /** How many channels serve the model, all of them at the same provider. Default 1. */
  readonly channels?: number;
  readonly options?: Partial<GatewayOptions>;
}

export interface OpenedService {
  readonly gateway: Gateway;
  readonly client: OpenAI;
  /** The URL of the gateway, without `/v1`. */
  readonly url: string;
  readonly records: readonly UsageRecord[];
  /** The calls that the provider got, without polls of jobs and downloads of links. */
  readonly calls: () => readonly RecordedRequest[];
  /** How often result links were downloaded. */
  readonly countDownloads: () => number;
  /** Sends JSON to the gateway, or a GET without a body. */
  readonly send: (path: string, body?: object, headers?: Readonly<Record<string, string>>) => Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A gateway over a socket whose only model is that of the service. It is closed when the test ends. */
export async function openService(
  { emulator, server }: Providers,
  service: FamilyService,
  { model = {}, price, channels = 1, options }: OpenOptions = {},
): Promise<OpenedService> {
  const { family, dialect, provider, needsEdits = false } = service;
  emulator.reset();
  const records: UsageRecord[] = [];
  const gateway = createGateway({
    families: BUILT_IN.has(family) ? [] : [family],
    models: { [service.model]: { family: family.name, ...(needsEdits && { edits: true }), ...model } },
    channels: Array.from({ length: channels }, (_, index) => ({
      id: `channel-${index}`,
      family: family.name,
      ...(dialect !== undefined && { dialect }),
      apiKey: `provider-key-${index}`,
      baseUrl: server.baseUrls[provider],
      priority: -index,
    })),
    callers: [{ id: "tester", key: CALLER_KEY }],
    billing: {
      model_details: { [service.model]: price ?? { pricing_mode: "per-request", model_price: "0.05" } },
    },
    onUsage: (record) => void records.push(record),
    logger: { warn() {}, error() {} },
    ...options,
  });
  onTestFinished(() => gateway.close());
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(close);
  const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
  return {
    gateway,
    url,
    records,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0 }),
    calls: () => emulator.requests.filter(({ method, route }) => method === "POST" && route === provider),
    countDownloads: () => emulator.requests.filter(({ route }) => route === "link").length,
    async send(path, body, more) {
      const response = await fetch(url + path, {
        method: body === undefined ? "GET" : "POST",
        headers: { ...headers, ...more },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
  };
}
