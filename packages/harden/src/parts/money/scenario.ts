import { chance, drawInt, pick, type Random } from "../../grammar/draw.ts";

/** A scenario of the money model: the callers, the channels, the requests, and what the provider does. Plain JSON. */
export interface Scenario {
  /** Decides the random choices of the gateway, such as the channel of a priority. */
  readonly seed: number;
  readonly pricing: Pricing;
  readonly channels: readonly ScenarioChannel[];
  readonly callers: readonly ScenarioCaller[];
  readonly requests: readonly ScenarioRequest[];
}

/** How family A is priced. Family B reports no tokens and is always priced per image. */
type Pricing = "per-request" | "per-token";

export interface ScenarioChannel {
  readonly id: string;
  readonly family: "seedream" | "qwen-image";
  /** The number of API keys. */
  readonly keys: number;
  readonly priority: number;
  readonly retryUnsafe: boolean;
}

export interface ScenarioCaller {
  readonly id: string;
  readonly group: "default" | "partner";
  /** A decimal amount. */
  readonly budget?: string;
  /** The limit of concurrent requests. */
  readonly concurrent?: number;
}

/** The kind of a request: family A on `/v1`, on `/api/v3` or as a form, or family B. */
export type Kind = "json" | "stream" | "native" | "native stream" | "form" | "qwen";

/** A request of a client, which may send it several times. */
export interface ScenarioRequest {
  /** Unique. The prompt of the request. */
  readonly name: string;
  readonly caller: string;
  readonly kind: Kind;
  /** The number of images that the client asks for. */
  readonly n: number;
  /** Whether all sends carry the same `Idempotency-Key`. */
  readonly hasKey: boolean;
  readonly sends: readonly Send[];
  /** What the provider does with each attempt, in order. Later attempts get the last behaviour. */
  readonly attempts: readonly Behaviour[];
}

/** One HTTP request of a client. */
export interface Send {
  /** Milliseconds from the start of the run. */
  readonly atMs: number;
  /** The client disconnects this long after sending. Absent: it reads the whole response. */
  readonly leaveAfterMs?: number;
}

/** What a provider does with one attempt, `afterMs` after it has the request. */
export type Behaviour = { readonly afterMs: number } & (
  | { readonly does: "makes"; readonly images: number; readonly report: Report; readonly isLarge?: true }
  /** Makes `images`, and the connection breaks or stalls when `sent` of them were sent. */
  | { readonly does: "stops"; readonly images: number; readonly sent: number; readonly how: Stop }
  | { readonly does: "refuses"; readonly status: 400 | 401 | 404 | 429 | 500 | 503 }
  /** A 200 whose body says that the service is overloaded. */
  | { readonly does: "refuses with 200" }
  /** No connection. */
  | { readonly does: "unreachable" }
  /** The connection breaks or stalls before the head of the response; the images were made. */
  | { readonly does: "breaks" | "stalls"; readonly images: number }
);

/** `full`: a correct usage report. `none`: no report; a stream ends with a `completed` event without usage. */
type Report = "full" | "none" | "no completed event";
type Stop = "broken between events" | "broken inside an event" | "stalled";

/** The price of an image and of a million output tokens, and the ratio of the group `partner`. */
export const PRICES = { image: "0.25", millionTokens: "10", partnerRatio: "0.5" } as const;

const KINDS: readonly Kind[] = ["json", "json", "stream", "native", "native stream", "form", "qwen", "qwen"];
/** The requests of a scenario begin within this time. It is longer than a cooldown. */
const SPAN_MS = 120_000;

export function drawScenario(random: Random): Scenario {
  const callers = drawCallers(random);
  const count = 5 + below(random, 60);
  return {
    seed: below(random, 2 ** 31),
    pricing: pick(random, ["per-request", "per-token"]),
    channels: [...drawChannels(random, "seedream"), ...drawChannels(random, "qwen-image")],
    callers,
    requests: Array.from({ length: count }, (_, index) => drawRequest(random, `request-${index}`, callers)),
  };
}

function drawChannels(random: Random, family: ScenarioChannel["family"]): ScenarioChannel[] {
  return Array.from({ length: 1 + below(random, 3) }, (_, index) => ({
    id: `${family}-${index}`,
    family,
    keys: 1 + below(random, 3),
    priority: below(random, 2),
    retryUnsafe: chance(random, 0.3),
  }));
}

function drawCallers(random: Random): ScenarioCaller[] {
  return Array.from({ length: 1 + below(random, 3) }, (_, index) => ({
    id: `caller-${index}`,
    group: pick(random, ["default", "partner"] as const),
    ...(chance(random, 0.4) && { budget: pick(random, ["0", "1", "2.5", "6"]) }),
    ...(chance(random, 0.3) && { concurrent: 1 + below(random, 3) }),
  }));
}

function drawRequest(random: Random, name: string, callers: readonly ScenarioCaller[]): ScenarioRequest {
  const kind = pick(random, KINDS);
  const n = chance(random, 0.5) ? 1 : 1 + below(random, 4);
  return {
    name,
    caller: pick(random, callers).id,
    kind,
    n,
    hasKey: chance(random, 0.4),
    sends: drawSends(random),
    attempts: Array.from({ length: 1 + below(random, 3) }, () => drawBehaviour(random, n)),
  };
}

function drawSends(random: Random): Send[] {
  const firstMs = below(random, SPAN_MS);
  const again = chance(random, 0.6) ? 0 : 1 + below(random, 3);
  // At the same time, while the first one runs, or long after it.
  const gapMs = pick(random, [0, 1, 500, 5_000, 60_000]);
  return Array.from({ length: 1 + again }, (_, index) => ({
    atMs: firstMs + index * gapMs,
    ...(chance(random, 0.3) && { leaveAfterMs: below(random, pick(random, [1, 100, 6_000, 40_000])) }),
  }));
}

function drawBehaviour(random: Random, n: number): Behaviour {
  const afterMs = below(random, pick(random, [1, 2_000, 30_000]));
  const images = chance(random, 0.8) ? n : 1 + below(random, n);
  if (chance(random, 0.5))
    return { does: "makes", images, report: drawReport(random), afterMs, ...drawSize(random) };
  const status = pick(random, [400, 401, 404, 429, 500, 503] as const);
  const how = pick(random, ["broken between events", "broken inside an event", "stalled"] as const);
  return pick<() => Behaviour>(random, [
    () => ({ does: "refuses", status, afterMs }),
    () => ({ does: "refuses", status, afterMs }),
    () => ({ does: "refuses with 200", afterMs }),
    () => ({ does: "unreachable", afterMs }),
    () => ({ does: "breaks", images, afterMs }),
    () => ({ does: "stalls", images, afterMs }),
    () => ({ does: "stops", images, sent: below(random, images + 1), how, afterMs }),
  ])();
}

function drawReport(random: Random): Report {
  return chance(random, 0.7) ? "full" : pick(random, ["none", "no completed event"]);
}

/** The gateway relays large responses while they arrive. */
function drawSize(random: Random): { readonly isLarge?: true } {
  return chance(random, 0.05) ? { isLarge: true } : {};
}

/** A whole number from 0 up to, not including, `limit`. */
function below(random: Random, limit: number): number {
  return drawInt(random, 0, limit - 1);
}
