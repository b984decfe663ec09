import { Buffer } from "node:buffer";
import type { SettledRecord } from "../billing/records.js";
import { createGateway } from "../gateway.js";
import { BUILT_IN_FAMILIES } from "../gateway-options/check-options.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import type { BillingOptions } from "../options/options.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import type { FamilySubject, RecordedRequest } from "./subject.js";

/** A PNG of 1 × 1 pixel. */
export const PNG = new Uint8Array(
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
);

/** A key of a channel. It must be in no response, URL or body. */
export const CHANNEL_KEY = "channel-key-of-the-suite-51c0e7";
const CALLER_KEY = "caller-key-of-the-suite-9d2f14";

/** A call that the provider got. */
export interface ReplayedCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** What the client got. */
export interface ClientResponse {
  readonly status: number;
  readonly text: string;
  /** Empty if the text is not a JSON object. */
  readonly body: JsonObject;
}

/** A gateway whose providers are simulated. */
export interface Replay {
  readonly calls: readonly ReplayedCall[];
  readonly records: readonly SettledRecord[];
  send(request: RecordedRequest, files?: Files): Promise<ClientResponse>;
  close(): Promise<void>;
}

/** The files of a form by their field. */
export type Files = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

/** Responds to the calls of a gateway. The index of the first one is 0. If it throws, the connection breaks. */
export type Respond = (index: number, call: ReplayedCall) => Response;

/** What a gateway for a check needs. */
export interface ReplayOptions {
  readonly respond: Respond;
  /** How many channels there are. Default 1. */
  readonly channels?: number;
  /** Default: each image costs 1. */
  readonly billing?: BillingOptions;
  readonly streamFormat?: GatewayOptions["streamFormat"];
}

/** Creates a gateway with one model of the family. Links of results lead to {@link PNG}. */
export function createReplay(subject: FamilySubject, options: ReplayOptions): Replay {
  const { family, dialect, model } = subject;
  const calls: ReplayedCall[] = [];
  const records: SettledRecord[] = [];
  // A job waits in no time.
  let now = Date.now();
  const time = {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
  };
  const gatewayOptions: GatewayOptions = {
    ...(isBuiltIn(family.name) ? {} : { families: [family] }),
    models: { [model]: { family: family.name, edits: true } },
    channels: Array.from({ length: options.channels ?? 1 }, (_, index) => ({
      id: `channel-${index}`,
      family: family.name,
      dialect,
      apiKey: CHANNEL_KEY,
      baseUrl: `https://provider-${index}.example${pathOf(family.defaultBaseUrl)}`,
      priority: -index,
    })),
    callers: [{ id: "suite", key: CALLER_KEY }],
    billing: options.billing ?? {
      model_details: { [model]: { pricing_mode: "per-request", model_price: "1" } },
    },
    streamFormat: options.streamFormat,
    logger: { warn: () => undefined, error: () => undefined },
    onUsage: (record) => void (record.state === "settled" && records.push(record)),
    async fetch(url, init) {
      const headers = new Headers(init.headers);
      const hasKey = [...headers.values()].some((value) => value.includes(CHANNEL_KEY));
      if (!hasKey && !/^https:\/\/provider-\d+\.example\//.test(url)) return new Response(PNG);
      const body = new Uint8Array(await new Response(init.body ?? null).arrayBuffer());
      const call = { method: init.method ?? "GET", url, headers, body };
      calls.push(call);
      return options.respond(calls.length - 1, call);
    },
  };
  const gateway = createGateway(gatewayOptions, time);
  return {
    calls,
    records,
    async send(request, files) {
      const response = await gateway.fetch(toRequest(model, request, files));
      const text = await response.text();
      return { status: response.status, text, body: parse(text) };
    },
    close: () => gateway.close(),
  };
}

function isBuiltIn(name: string): boolean {
  return BUILT_IN_FAMILIES.some((family) => family.name === name);
}

function pathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname;
}

function toRequest(
  model: string,
  { operation, fields }: RecordedRequest,
  files: Files = { image: PNG },
): Request {
  const headers = { authorization: `Bearer ${CALLER_KEY}` };
  if (operation !== "edit") {
    return new Request("http://gateway.example/v1/images/generations", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ model, ...fields }),
    });
  }
  const form = new FormData();
  for (const [name, value] of Object.entries({ model, ...fields })) {
    form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  for (const [name, bytes] of Object.entries(files)) form.append(name, new Blob([bytes]), `${name}.png`);
  return new Request("http://gateway.example/v1/images/edits", { method: "POST", headers, body: form });
}

function parse(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
