import {
  type ChannelOptions,
  createGateway,
  type Gateway,
  type GatewayOptions,
  type UsageRecord,
} from "@calotype/core";
import type { ModelDetails } from "@calotype/core/billing";
import type { Fault } from "@calotype/emulator";
import { read } from "./expect.ts";
import type { Host } from "./host.ts";
import type { ProviderAddresses } from "./provider-addresses.ts";

export const CALLER_KEY = "caller-canary-c7214e3f";
export const CHANNEL_KEY = "channel-canary-5b90d6a8";
/** A service model of family A, and what the channel calls it. */
export const SEEDREAM = "seedream-4-0-250828";
export const UPSTREAM_SEEDREAM = "doubao-seedream-4-0-250828";
/** A service model of family B. */
export const QWEN_IMAGE = "image-max";

const MODELS = { [SEEDREAM]: { family: "seedream" }, [QWEN_IMAGE]: { family: "qwen-image" } } as const;
const PRICES: Readonly<Record<string, ModelDetails>> = {
  [SEEDREAM]: { pricing_mode: "per-request", model_price: "0.03" },
  [QWEN_IMAGE]: { pricing_mode: "per-request", model_price: "0.075" },
};

export const GENERATIONS = "/v1/images/generations";
export const EDITS = "/v1/images/edits";
export const NATIVE = "/api/v3/images/generations";

/** A whole response, as the runtime's own `fetch` got it. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `undefined` when the text is no JSON. */
  readonly body: unknown;
}

/** A gateway that the runtime serves, and what it told its operator. */
export interface ServedGateway {
  readonly gateway: Gateway;
  /** The address of its base path. */
  readonly url: string;
  readonly records: readonly UsageRecord[];
  readonly logLines: readonly string[];
  /** Posts JSON, or a form, with the caller's key; by default to `/v1/images/generations`. */
  readonly post: (body: object, path?: string) => Promise<ReadResponse>;
  /** Begins a request and gives the response's head. */
  readonly send: (path: string, init: RequestInit) => Promise<Response>;
}

/** What a check works with. */
export interface Bench {
  readonly host: Host;
  readonly addresses: ProviderAddresses;
  /** Serves a gateway in front of the emulated providers. Options given here replace those of the same name. */
  readonly serve: (options?: Partial<GatewayOptions>) => ServedGateway;
  /** Makes the next requests go wrong. */
  readonly fail: (...faults: readonly Fault[]) => Promise<void>;
  /** What the providers were asked, oldest first; downloads of result links left out. */
  readonly asked: () => Promise<readonly unknown[]>;
  /** Forgets faults and requests, and serves no gateway of before any more. */
  readonly reset: () => Promise<void>;
}

export function createBench(host: Host, addresses: ProviderAddresses): Bench {
  const control = async (method: string, what: string, body?: object): Promise<string> => {
    const url = `${addresses.emulator}/_emulator/${what}`;
    const response = await fetch(url, body ? { method, body: JSON.stringify(body) } : { method });
    const text = await response.text();
    if (!response.ok) throw new Error(`The emulator refused: ${text}`);
    return text;
  };
  let count = 0;
  return {
    host,
    addresses,
    serve: (options) => serveGateway({ host, addresses, name: `c${++count}` }, options),
    fail: async (...faults) => void (await control("POST", "faults", faults)),
    asked: async () => {
      const requests: unknown = JSON.parse(await control("GET", "requests"));
      return Array.isArray(requests) ? requests.filter((request) => read(request, "route") !== "link") : [];
    },
    reset: async () => {
      host.gateways.clear();
      await control("DELETE", "faults");
      await control("DELETE", "requests");
    },
  };
}

interface Place {
  readonly host: Host;
  readonly addresses: ProviderAddresses;
  readonly name: string;
}

function serveGateway(
  { host, addresses, name }: Place,
  options: Partial<GatewayOptions> = {},
): ServedGateway {
  const records: UsageRecord[] = [];
  const logLines: string[] = [];
  const log = (fields: object, message: string): void => {
    logLines.push(JSON.stringify({ message, ...fields }));
  };
  const models = options.models ?? MODELS;
  const gateway = createGateway({
    basePath: `/${name}`,
    models,
    channels: [seedreamChannel(addresses.emulator), qwenImageChannel(addresses.emulator)],
    callers: [{ id: "tester", key: CALLER_KEY }],
    billing: { model_details: pricesOf(models) },
    onUsage: (record) => records.push(record),
    logger: { warn: log, error: log },
    ...options,
  });
  host.gateways.set(name, gateway);
  const url = `${host.origin}/${name}`;
  const send: ServedGateway["send"] = (path, init) => fetch(url + path, { method: "POST", ...init });
  return {
    gateway,
    url,
    records,
    logLines,
    send,
    post: async (body, path = GENERATIONS) => readResponse(await send(path, toInit(body))),
  };
}

/** The prices of these models. A price without a model would be an error at startup. */
function pricesOf(models: object): typeof PRICES {
  return Object.fromEntries(Object.entries(PRICES).filter(([name]) => name in models));
}

/** Patience on one machine: what takes longer fails. */
const TIMEOUTS = { connectSeconds: 2, firstByteSeconds: 10, idleSeconds: 10 };

/** A channel of family A at a provider. */
export function seedreamChannel(origin: string): ChannelOptions {
  return {
    id: "ark",
    family: "seedream",
    apiKey: CHANNEL_KEY,
    baseUrl: `${origin}/api/v3`,
    modelMapping: { [SEEDREAM]: UPSTREAM_SEEDREAM },
    timeouts: TIMEOUTS,
  };
}

/** Options of a gateway whose one channel leads to a script of `scripted-provider.ts`. */
export function toScript({ scripted }: ProviderAddresses, script: string): Partial<GatewayOptions> {
  return {
    models: { [SEEDREAM]: MODELS[SEEDREAM] },
    channels: [{ ...seedreamChannel(scripted), baseUrl: `${scripted}/${script}` }],
  };
}

/** A channel of family B at a provider; its base URL may have a path. */
export function qwenImageChannel(origin: string, path = "/api/v1"): ChannelOptions {
  return {
    id: "dashscope",
    family: "qwen-image",
    apiKey: CHANNEL_KEY,
    baseUrl: origin + path,
    modelMapping: { [QWEN_IMAGE]: "qwen-image-max" },
    timeouts: TIMEOUTS,
  };
}

/** A request with the caller's key: a form as it is, anything else as JSON. */
export function toInit(body: object): RequestInit {
  const authorization = `Bearer ${CALLER_KEY}`;
  if (body instanceof FormData) return { headers: { authorization }, body };
  return { headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(body) };
}

export async function readResponse(response: Response): Promise<ReadResponse> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
