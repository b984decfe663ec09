import { createGateway, type Gateway, type GatewayOptions } from "@calotype/core";
import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import { createEmulator, type Emulator } from "@calotype/emulator";
import { onTestFinished } from "vitest";
import { createStudio, type Studio, type StudioOptions } from "../studio.js";
import { openSession } from "./open-session.js";

export const MODEL = "seedream-4-0-250828";
export const CALLER_KEY = "caller-canary-51d20c7e";

/** A studio with a real gateway and emulated providers, without sockets. */
export interface OpenStudio {
  readonly gateway: Gateway;
  readonly studio: Studio;
  readonly emulator: Emulator;
  /** The lines of the studio's log. */
  readonly log: readonly string[];
  /** Sends a request of the studio's own page, from this machine, unless the fields say otherwise. */
  readonly send: (request: SentRequest) => Promise<ReadResponse>;
}

/** A request as a host passes it on. */
interface SentRequest {
  readonly method?: string;
  /** Below the studio, such as `/api/session`. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** `null`: the host does not know it. */
  readonly address?: string | null;
  readonly mountPath?: string;
  /** The beginning of an absolute URL. Default: the URL begins with its path. */
  readonly origin?: string;
  readonly signal?: AbortSignal;
  readonly httpVersion?: string | undefined;
  /** Default: of a browser that has opened a printed link, if the studio has no `authorize`. */
  readonly cookie?: string;
}

/** A response that was read to its end. */
interface ReadResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed text, or `undefined` if it is not JSON. */
  readonly json: unknown;
}

/** The headers of a request of the page. */
const OWN_PAGE = {
  host: "localhost:8787",
  "sec-fetch-site": "same-origin",
  "x-calotype-studio": "1",
  "content-type": "application/json",
};

export function openStudio(
  options: StudioOptions = {},
  gatewayOptions: Partial<GatewayOptions> = {},
): OpenStudio {
  const emulator = createEmulator({ images: "tiny" });
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "channel-canary-9b1f0a64" }],
    callers: [{ id: "shop", key: CALLER_KEY, budget: "10" }],
    billing: { model_details: { [MODEL]: { pricing_mode: "per-request", model_price: "0.2" } } },
    fetch: (url, init) => emulator.fetch(url, init),
    logger: { warn: () => {}, error: () => {} },
    ...gatewayOptions,
  });
  onTestFinished(() => gateway.close());
  const log: string[] = [];
  const write = (fields: object, message: string): void => {
    log.push(
      `${message} ${JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.message : value))}`,
    );
  };
  const studio = createStudio(gateway, { logger: { warn: write, error: write }, ...options });
  const send: OpenStudio["send"] = async (sent) => {
    const cookie = sent.cookie ?? (await openSession(studio, sent.mountPath));
    const responded = studio.handle(toRequest({ ...sent, cookie }));
    if (responded === null) throw new Error("The path is not one of the studio.");
    return read(await responded);
  };
  return { gateway, studio, emulator, log, send };
}

function toRequest({
  method = "GET",
  path = "",
  headers = {},
  body,
  address = "127.0.0.1",
  mountPath,
  origin = "",
  signal = new AbortController().signal,
  httpVersion,
  cookie,
}: SentRequest): GatewayRequest {
  const all = Object.entries({ ...OWN_PAGE, ...(cookie && { cookie }), ...headers }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
  return {
    method,
    url: `${origin}${mountPath ?? "/studio"}${path}`,
    mountPath,
    headers: new Headers(all),
    body: method === "GET" ? null : new Blob([text]).stream(),
    signal,
    httpVersion,
    ...(address !== null && { clientAddress: () => address }),
  };
}

async function read({ status, headers, body }: GatewayResponse): Promise<ReadResponse> {
  const chunks: Uint8Array[] = [];
  if (typeof body === "string") chunks.push(new TextEncoder().encode(body));
  else if (body instanceof Uint8Array) chunks.push(body);
  else for await (const chunk of body) chunks.push(chunk.slice());
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(chunks));
  return { status, headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, as the pages.
    return undefined;
  }
}
