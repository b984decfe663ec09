import {
  type Cell,
  type Fault,
  isClientFault,
  isPostgresFault,
  isProviderFault,
  type Kind,
  type ProviderFault,
} from "./cells.ts";

/** What must come of a cell. */
export interface Expectation {
  /** What the client may see, as status, code and ending. Absent: it left. */
  readonly sees?: readonly string[];
  /** How often the provider is called. */
  readonly attempts: number;
  /** Whether a usage record is left. */
  readonly hasRecord: boolean;
  /** Images that are charged, and that a client sees that stays. */
  readonly images: number;
}

/** Images that every request asks for. */
export const IMAGES = 2;

const WHOLE: Expectation = { sees: ["200"], attempts: 1, hasRecord: true, images: IMAGES };

/** The rule for a cell, after docs/settlement.md and docs/errors.md. */
export function expectationOf({ fault, kind }: Cell): Expectation {
  if (isProviderFault(fault)) return PROVIDER[fault](kind);
  if (isClientFault(fault)) return ofClient(fault);
  if (isPostgresFault(fault)) return fault === "PostgreSQL is down" ? UNAVAILABLE : WHOLE;
  return fault === "Redis is down" || fault === "Redis is silent" ? UNAVAILABLE : WHOLE;
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
  // A client that does not read counts as gone; what was made is charged.
  return isLeaving ? { attempts: 1, hasRecord: true, images: IMAGES } : WHOLE;
}

/** The provider was called, and nothing came that is charged. */
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
    kind === "stream" ? streamed("upstream_invalid_response error event", 0) : failed(INVALID),
  "resets in the body": (kind) =>
    kind === "stream" ? streamed("upstream_invalid_response error event", 1) : failed(INVALID),
  "resets inside an event": () => streamed("breaks off", 1),
  "stalls before the head": () => failed("504 upstream_timeout"),
  "stalls in the body": (kind) =>
    kind === "stream" ? streamed("upstream_timeout error event", 1) : failed("504 upstream_timeout"),
  "is slow": () => WHOLE,
  "answers 400": () => failed("400 InputTextSensitiveContentDetected"),
  "answers 401": () => failed("401 upstream_authentication_failed"),
  // The model is gone: a failure of the channel. Without another channel the operator's key or account is blamed.
  "answers 404": () =>
    failed(
      "404 InvalidEndpointOrModel.NotFound",
      "401 upstream_authentication_failed",
      "502 InvalidEndpointOrModel.NotFound",
    ),
  "answers 429": () => failed("429 ModelAccountRpmRateLimitExceeded"),
  "answers 500": () => failed("502 InternalServiceError"),
  "answers 503": () => failed("502 ServerOverloaded"),
  "sends truncated JSON": () => failed(INVALID),
  "sends HTML with 200": () => failed(INVALID),
  "sends HTML with 503": () => failed("502 upstream_error"),
  "sends an empty 200": () => failed(INVALID),
};
