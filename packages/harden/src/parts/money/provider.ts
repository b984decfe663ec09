import type { VirtualClock } from "@calotype/conformance/fleet-simulation/create-virtual-clock";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "@calotype/core/testing";
import type { Behaviour, Kind, ScenarioRequest } from "./scenario.ts";

/** A call of a provider, as the provider received it. */
export interface Attempt {
  readonly channel: string;
  /** The API key of the channel. */
  readonly key: string;
  readonly beganMs: number;
  readonly behaviour: Behaviour;
}

/** A send of a client with the calls of providers that it led to. */
export interface Served {
  readonly request: ScenarioRequest;
  readonly attempts: Attempt[];
}

/** The tokens of an image of 2048 × 2048 pixels. */
export const TOKENS_PER_IMAGE = 16_384;
const SIZE = "2048x2048";
/** The gateway relays JSON of this size while it arrives. */
const LARGE_BYTES = 80_000;
const EVENT_GAP_MS = 200;

interface ProviderParts {
  readonly clock: VirtualClock;
  /** The send that the current call belongs to. */
  readonly current: () => Served;
}

/** Providers of both families that behave as the scenario says. */
export function createProvider({ clock, current }: ProviderParts): Transport {
  const run = new Map<string, number>();
  return {
    async send(call) {
      const { request, attempts } = current();
      const turn = run.get(request.name) ?? 0;
      run.set(request.name, turn + 1);
      const behaviour = request.attempts[Math.min(turn, request.attempts.length - 1)];
      if (behaviour === undefined) throw new Error(`No attempt of ${request.name} has a behaviour.`);
      attempts.push({ ...addressOf(call), beganMs: clock.now(), behaviour });
      const { body = "" } = call;
      if (typeof body !== "string") for await (const _ of body);
      await clock.sleep(behaviour.afterMs);
      return respond(behaviour, request.kind, clock);
    },
    download: () => Promise.reject(new TransportError("unreachable", undefined)),
    close: () => Promise.resolve(),
  };
}

function addressOf({ url, headers }: TransportRequest): Pick<Attempt, "channel" | "key"> {
  return { channel: new URL(url).hostname.replace(".test", ""), key: headers["authorization"] ?? "" };
}

function respond(behaviour: Behaviour, kind: Kind, clock: VirtualClock): TransportResponse {
  switch (behaviour.does) {
    case "unreachable":
      throw new TransportError("unreachable", undefined);
    case "breaks":
      throw new TransportError("broken", undefined);
    case "stalls":
      throw new TransportError("timeout", undefined);
    case "refuses":
      return toResponse(behaviour.status, "application/json", wholeBody(refusal(kind, behaviour.status)));
    case "refuses with 200":
      return toResponse(200, "application/json", wholeBody(refusal(kind, 503)));
    case "makes":
    case "stops":
      return isStream(kind)
        ? toResponse(200, "text/event-stream", eventsOf(behaviour, clock))
        : toResponse(200, "application/json", jsonOf(behaviour, kind));
  }
}

export function isStream(kind: Kind): boolean {
  return kind === "stream" || kind === "native stream";
}

const CODES = {
  400: "InputTextSensitiveContentDetected",
  401: "AuthenticationError",
  404: "InvalidEndpointOrModel.NotFound",
  429: "ModelAccountRpmRateLimitExceeded",
  500: "InternalServiceError",
  503: "ServerOverloaded",
} as const;
const QWEN_CODES = {
  400: "DataInspectionFailed",
  401: "InvalidApiKey",
  404: "ModelNotFound",
  429: "Throttling.RateQuota",
  500: "InternalError",
  503: "ServiceUnavailable",
} as const;

function refusal(kind: Kind, status: keyof typeof CODES): string {
  const message = "Refused.";
  if (kind === "qwen") return JSON.stringify({ code: QWEN_CODES[status], message, request_id: "b1" });
  return JSON.stringify({ error: { code: CODES[status], message } });
}

type Images = Extract<Behaviour, { does: "makes" | "stops" }>;

async function* jsonOf(behaviour: Images, kind: Kind): AsyncIterable<Uint8Array> {
  const json = JSON.stringify(kind === "qwen" ? qwenBody(behaviour) : seedreamBody(behaviour));
  if (behaviour.does === "makes") {
    yield encode(json);
    return;
  }
  yield encode(json.slice(0, 25));
  throw new TransportError(behaviour.how === "stalled" ? "timeout" : "broken", undefined);
}

function seedreamBody(behaviour: Images): object {
  const large = behaviour.does === "makes" && behaviour.isLarge === true;
  const image = (index: number): object =>
    large ? { b64_json: "A".repeat(LARGE_BYTES), size: SIZE } : { url: urlOf(index), size: SIZE };
  const data = Array.from({ length: behaviour.images }, (_, index) => image(index));
  return { model: "ep-1", created: 1_763_683_200, data, ...usageOf(behaviour) };
}

function qwenBody(behaviour: Images): object {
  const content = Array.from({ length: behaviour.images }, (_, index) => ({ image: urlOf(index) }));
  const choices = [{ finish_reason: "stop", message: { role: "assistant", content } }];
  const isReported = behaviour.does === "makes" && behaviour.report === "full";
  return {
    request_id: "b1",
    output: { choices },
    ...(isReported && { usage: { image_count: behaviour.images } }),
  };
}

function usageOf(behaviour: Images): object {
  if (behaviour.does === "stops" || behaviour.report !== "full") return {};
  const tokens = behaviour.images * TOKENS_PER_IMAGE;
  return { usage: { generated_images: behaviour.images, output_tokens: tokens, total_tokens: tokens } };
}

async function* eventsOf(behaviour: Images, clock: VirtualClock): AsyncIterable<Uint8Array> {
  const sent = behaviour.does === "makes" ? behaviour.images : behaviour.sent;
  for (let index = 0; index < sent; index++) {
    yield event("partial_succeeded", { image_index: index, url: urlOf(index), size: SIZE });
    await clock.sleep(EVENT_GAP_MS);
  }
  if (behaviour.does === "makes") {
    if (behaviour.report !== "no completed event") yield event("completed", usageOf(behaviour));
    yield encode("data: [DONE]\n\n");
    return;
  }
  if (behaviour.how === "broken inside an event") {
    yield encode('event: image_generation.partial_succeeded\ndata: {"type":"image_gen');
  }
  throw new TransportError(behaviour.how === "stalled" ? "timeout" : "broken", undefined);
}

function event(name: string, fields: object): Uint8Array {
  const type = `image_generation.${name}`;
  const data = { type, model: "ep-1", created: 1_763_683_200, ...fields };
  return encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}

function urlOf(index: number): string {
  return `https://images.example/${index}.png`;
}

async function* wholeBody(text: string): AsyncIterable<Uint8Array> {
  yield encode(text);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function toResponse(status: number, type: string, body: AsyncIterable<Uint8Array>): TransportResponse {
  return {
    status,
    headers: { get: (name) => (name === "content-type" ? type : null) },
    body,
    cancel: () => {},
  };
}
