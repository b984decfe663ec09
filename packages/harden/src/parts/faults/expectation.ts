import {
  type Cell,
  type Fault,
  isClientFault,
  isPostgresFault,
  isProviderFault,
  isStreamKind,
  type Kind,
  type ProviderFault,
} from "./cells.ts";

/** The expected result of a cell. */
export interface Expectation {
  /** What the client may see, as status, code and ending. Absent: it disconnects. */
  readonly sees?: readonly string[];
  /** The number of calls of the provider. */
  readonly attempts: number;
  /** Whether a usage record is left. */
  readonly hasRecord: boolean;
  /** The images that are charged, and that a client sees unless it disconnects. */
  readonly images: number;
}

/** The number of images that every request asks for. */
export const IMAGES = 2;

const WHOLE: Expectation = { sees: ["200"], attempts: 1, hasRecord: true, images: IMAGES };

/** The rule for a cell, after docs/settlement.md and docs/errors.md. */
export function expectationOf({ fault, kind }: Cell): Expectation {
  if (isProviderFault(fault)) return toEarly(PROVIDER[fault](kind), kind);
  if (isClientFault(fault)) return ofClient(fault);
  if (isPostgresFault(fault)) return fault === "PostgreSQL is down" ? UNAVAILABLE : WHOLE;
  return fault === "Redis is down" || fault === "Redis is silent" ? UNAVAILABLE : WHOLE;
}

/** After an early head, an HTTP error is an error event. A provider that cannot be reached may fail before the head. */
function toEarly(expectation: Expectation, kind: Kind): Expectation {
  const { sees, attempts } = expectation;
  if (kind !== "early stream" || sees === undefined) return expectation;
  const events = sees.map((seen) => (seen.startsWith("200") ? seen : `200 ${seen.slice(4)} error event`));
  return { ...expectation, sees: attempts === 0 ? [...sees, ...events] : events };
}

const UNAVAILABLE: Expectation = {
  sees: ["503 gateway_unavailable"],
  attempts: 0,
  hasRecord: false,
  images: 0,
};

function ofClient(fault: Fault): Expectation {
  if (fault === "client leaves in its upload") return { attempts: 0, hasRecord: false, images: 0 };
  const isLeaving = fault !== "client pauses in its upload" && fault !== "client reads slowly";
  // A client that does not read counts as disconnected. Its images are charged.
  return isLeaving ? { attempts: 1, hasRecord: true, images: IMAGES } : WHOLE;
}

/** The provider was called and made nothing that is charged. */
function failed(...sees: string[]): Expectation {
  return { sees, attempts: 1, hasRecord: true, images: 0 };
}

/** A stream that is cut off. */
function streamed(ending: string, images: number): Expectation {
  return { sees: [`200 ${ending}`], attempts: 1, hasRecord: true, images };
}

const INVALID = "502 upstream_invalid_response";

const PROVIDER: Readonly<Record<ProviderFault, (kind: Kind) => Expectation>> = {
  none: () => WHOLE,
  "refuses the connection": () => ({
    sees: ["502 upstream_unreachable"],
    attempts: 0,
    hasRecord: false,
    images: 0,
  }),
  "resets before the head": () => failed(INVALID),
  "resets after the head": (kind) =>
    // The head of a stream in OpenAI's format waits for the first bytes.
    isStreamKind(kind) && kind !== "openai stream"
      ? streamed("upstream_invalid_response error event", 0)
      : failed(INVALID),
  "resets in the body": (kind) =>
    isStreamKind(kind) ? streamed("upstream_invalid_response error event", 1) : failed(INVALID),
  // In OpenAI's format, an event begins when its image has come.
  "resets inside an event": (kind) =>
    streamed(kind === "openai stream" ? "upstream_invalid_response error event" : "breaks off", 1),
  "stalls before the head": () => failed("504 upstream_timeout"),
  "stalls in the body": (kind) =>
    isStreamKind(kind) ? streamed("upstream_timeout error event", 1) : failed("504 upstream_timeout"),
  "is slow": () => WHOLE,
  "responds with 400": () => failed("400 InputTextSensitiveContentDetected"),
  "responds with 401": () => failed("401 upstream_authentication_failed"),
  // The model is gone: a failure of the channel. Without another channel the operator's key or account is blamed.
  "responds with 404": () =>
    failed(
      "404 InvalidEndpointOrModel.NotFound",
      "401 upstream_authentication_failed",
      "502 InvalidEndpointOrModel.NotFound",
    ),
  "responds with 429": () => failed("429 ModelAccountRpmRateLimitExceeded"),
  "responds with 500": () => failed("502 InternalServiceError"),
  "responds with 503": () => failed("502 ServerOverloaded"),
  "sends truncated JSON": () => failed(INVALID),
  "sends HTML with 200": () => failed(INVALID),
  "sends HTML with 503": () => failed("502 upstream_error"),
  "sends an empty 200": () => failed(INVALID),
};
