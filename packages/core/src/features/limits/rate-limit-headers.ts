import { GatewayError } from "../../errors.js";
import type { CallLimits, LimitScope } from "./rate-limits.js";
import type { ConcurrencyLimit, WindowLimit, WindowState } from "./store.js";

/** The state of the limits of a call. */
export interface LimitStates {
  /** In the order of the limits' windows. */
  readonly windows: readonly WindowState[];
  /** The concurrency limit that is reached. */
  readonly crowded?: ConcurrencyLimit | undefined;
}

/**
 * Adds headers about the limits of a call: `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-11, and the `x-ratelimit-*` headers that OpenAI's clients read. A call without
 * limits gets none.
 */
export function addRateLimits(
  headers: Record<string, string>,
  limits: CallLimits,
  states: LimitStates,
): Record<string, string> {
  const { windows, concurrency } = limits;
  if (windows.length === 0 && concurrency.length === 0) return headers;
  const { policy, names } = findHeaderStrings(limits);
  let items = "";
  let requests: Standing | undefined;
  let images: Standing | undefined;
  for (const [index, limit] of windows.entries()) {
    const state = states.windows[index];
    if (state === undefined) continue;
    items += `${items && ", "}${names[index]};r=${toInteger(state.remaining)};t=${toSeconds(state.resetMs)}`;
    if (limit.name === "requests") requests = pickTighter(requests, { limit, state });
    else images = pickTighter(images, { limit, state });
  }
  const { crowded } = states;
  const full = crowded && concurrency.find(({ key }) => key === crowded.key);
  if (full !== undefined) items += `${items && ", "}"${toName("concurrent", full)}";r=0`;
  headers["ratelimit-policy"] = policy;
  if (items !== "") headers["ratelimit"] = items;
  // OpenAI's clients know one limit of each kind, so they get the one that is closer to its end.
  if (requests !== undefined) {
    headers["x-ratelimit-limit-requests"] = String(requests.limit.limit);
    headers["x-ratelimit-remaining-requests"] = String(requests.state.remaining);
    headers["x-ratelimit-reset-requests"] = toDuration(requests.state.resetMs);
  }
  if (images !== undefined) {
    headers["x-ratelimit-limit-images"] = String(images.limit.limit);
    headers["x-ratelimit-remaining-images"] = String(images.state.remaining);
    headers["x-ratelimit-reset-images"] = toDuration(images.state.resetMs);
  }
  return headers;
}

/** Returns the 429 for a window limit that is reached. */
export function createLimitedError(
  limits: CallLimits,
  { key }: WindowLimit,
  states: readonly WindowState[],
): GatewayError {
  const index = limits.windows.findIndex((window) => window.key === key);
  const reached = limits.windows[index];
  if (reached === undefined) throw new TypeError("The admission store named a limit that the call has not.");
  const headers = addRateLimits({}, limits, { windows: states });
  const name = toName(reached.name, reached);
  if (reached.cost > reached.limit) {
    const message = `This request may make ${reached.cost} images, and ${describe(reached)} are allowed: ask for fewer.`;
    return new GatewayError("rate_limit_exceeded", message, { headers, limit: name, shouldRetry: false });
  }
  const { remaining = 0, resetMs = 0 } = states[index] ?? {};
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  const rest = remaining === 0 ? "" : ` (this request may make ${reached.cost}, ${remaining} are left)`;
  const message = `The limit of ${describe(reached)} is reached${rest}: try again in ${retryAfterSeconds} s.`;
  return new GatewayError("rate_limit_exceeded", message, { headers, limit: name, retryAfterSeconds });
}

/** Returns the 429 for a concurrency limit that is reached. */
export function createCrowdedError(
  limits: CallLimits,
  crowded: ConcurrencyLimit,
  states: readonly WindowState[],
): GatewayError {
  const scope = limits.concurrency.find(({ key }) => key === crowded.key) ?? {};
  const message = `The limit of ${crowded.limit} requests at once${describeScope(scope)} is reached: try again when one has ended.`;
  return new GatewayError("rate_limit_exceeded", message, {
    headers: addRateLimits({}, limits, { windows: states, crowded }),
    limit: toName("concurrent", scope),
    retryAfterSeconds: 1,
  });
}

/** Returns the 429 for a caller that has this many requests at once in this process. */
export function createOwnCrowdedError(limit: number): GatewayError {
  const concurrency = { key: "concurrent", limit, leaseMs: 0 };
  return createCrowdedError({ windows: [], concurrency: [concurrency] }, concurrency, []);
}

function describe({ limit, name, windowMs, ...scope }: WindowLimit & LimitScope): string {
  const time = windowMs === 60_000 ? "minute" : `${windowMs / 1000} s`;
  return `${limit} ${name} per ${time}${describeScope(scope)}`;
}

function describeScope({ model }: LimitScope): string {
  return model === undefined ? "" : ` to the model ${model}`;
}

/** A limit and its state. */
interface Standing {
  readonly limit: WindowLimit & LimitScope;
  readonly state: WindowState;
}

function pickTighter(one: Standing | undefined, other: Standing): Standing {
  if (one === undefined) return other;
  const byRemaining = other.state.remaining - one.state.remaining;
  return (byRemaining || one.state.resetMs - other.state.resetMs) < 0 ? other : one;
}

/** What the headers of all calls with the same limits have in common. */
interface HeaderStrings {
  readonly policy: string;
  /** The quoted names of the windows. */
  readonly names: readonly string[];
}

/** `toCallLimits` returns the same limits for many calls. */
const remembered = new WeakMap<CallLimits, HeaderStrings>();

function findHeaderStrings(limits: CallLimits): HeaderStrings {
  const known = remembered.get(limits);
  if (known !== undefined) return known;
  const { windows, concurrency } = limits;
  const policy = [...windows.map(toWindowPolicy), ...concurrency.map(toConcurrencyPolicy)].join(", ");
  const strings = { policy, names: windows.map((limit) => `"${toName(limit.name, limit)}"`) };
  remembered.set(limits, strings);
  return strings;
}

function toWindowPolicy(limit: WindowLimit & LimitScope): string {
  // The default unit is requests. Images are not a registered unit, but the default would be wrong.
  const unit = limit.name === "images" ? ';qu="images"' : "";
  return `"${toName(limit.name, limit)}";q=${toInteger(limit.limit)}${unit};w=${toSeconds(limit.windowMs)}`;
}

function toConcurrencyPolicy(limit: ConcurrencyLimit & LimitScope): string {
  return `"${toName("concurrent", limit)}";q=${toInteger(limit.limit)};qu="concurrent-requests"`;
}

/** Limits of the caller and limits for the model have different names. */
function toName(name: string, { model }: LimitScope): string {
  return model === undefined ? name : `model-${name}`;
}

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

function toInteger(value: number): number {
  return Math.min(value, MAX_INTEGER);
}

function toSeconds(ms: number): number {
  return toInteger(Math.ceil(ms / 1000));
}

/** Writes a time as OpenAI and Go do: `20ms`, `1s`, `1.5s`, `6m0s`, `1h0m0s`. */
function toDuration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole <= 0) return "0s";
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole % 60_000) / 1000}s`;
  if (minutes === 0) return seconds;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes % 60}m${seconds}`;
}
