import { GatewayError } from "../errors.js";
import type { CallLimits, LimitScope } from "./rate-limits.js";
import type { ConcurrencyLimit, WindowLimit, WindowState } from "./store.js";

/** How the limits of a request stand. */
export interface LimitStates {
  /** In the order of the limits' windows. */
  readonly windows: readonly WindowState[];
  /** The limit on requests at once that is reached, if one is. */
  readonly crowded?: ConcurrencyLimit | undefined;
}

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

/**
 * `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11), and the `x-ratelimit-*` that
 * clients of OpenAI read. Without limits there are none.
 */
export function toRateLimitHeaders(limits: CallLimits, states: LimitStates): Record<string, string> {
  return addRateLimits({}, limits, states);
}

/** The same, among other headers. */
export function addRateLimits(
  headers: Record<string, string>,
  limits: CallLimits,
  states: LimitStates,
): Record<string, string> {
  const { windows, concurrency } = limits;
  if (windows.length === 0 && concurrency.length === 0) return headers;
  const { policy, names } = findTexts(limits);
  headers["ratelimit-policy"] = policy;
  let services = "";
  let requests: Standing | undefined;
  let images: Standing | undefined;
  for (let index = 0; index < windows.length; index++) {
    const limit = windows[index];
    const state = states.windows[index];
    if (limit === undefined || state === undefined) continue;
    services = append(
      services,
      `${names[index]};r=${toInteger(state.remaining)};t=${toSeconds(state.resetMs)}`,
    );
    if (limit.name === "requests") requests = tighter(requests, { limit, state });
    else images = tighter(images, { limit, state });
  }
  const crowded = states.crowded && concurrency.find(({ key }) => key === states.crowded?.key);
  if (crowded !== undefined) services = append(services, toFullService(crowded));
  if (services !== "") headers["ratelimit"] = services;
  // Clients of OpenAI know one limit of a kind: the one that is nearer to its end. Written out, since V8 keeps an object
  // whose names are worked out as a dictionary, and each answer has one.
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

/** What the headers of all requests with the same limits have in common. */
interface LimitTexts {
  readonly policy: string;
  /** In the order of the windows. */
  readonly names: readonly string[];
}

/** Of limits that are remembered for the next request, too. */
const texts = new WeakMap<CallLimits, LimitTexts>();

function findTexts(limits: CallLimits): LimitTexts {
  const known = texts.get(limits);
  if (known !== undefined) return known;
  const { windows, concurrency } = limits;
  const policy = [...windows.map(toWindowPolicy), ...concurrency.map(toConcurrencyPolicy)].join(", ");
  const found = { policy, names: windows.map((limit) => toName(limit.name, limit)) };
  texts.set(limits, found);
  return found;
}

function append(list: string, item: string): string {
  return list === "" ? item : `${list}, ${item}`;
}

/** A limit and how it stands. */
interface Standing {
  readonly limit: WindowLimit;
  readonly state: WindowState;
}

function tighter(one: Standing | undefined, other: Standing): Standing {
  return one === undefined || isTighter(other.state, one.state) ? other : one;
}

function isTighter(one: WindowState, other: WindowState): boolean {
  if (one.remaining !== other.remaining) return one.remaining < other.remaining;
  return one.resetMs > other.resetMs;
}

function toWindowPolicy(limit: WindowLimit & LimitScope): string {
  // The unit where none is given is requests. Images are no registered unit, but called requests they would lie.
  const unit = limit.name === "images" ? ';qu="images"' : "";
  return `${toName(limit.name, limit)};q=${toInteger(limit.limit)}${unit};w=${toSeconds(limit.windowMs)}`;
}

function toConcurrencyPolicy(limit: ConcurrencyLimit & LimitScope): string {
  return `${toName("concurrent", limit)};q=${toInteger(limit.limit)};qu="concurrent-requests"`;
}

function toFullService(limit: ConcurrencyLimit & LimitScope): string {
  return `${toName("concurrent", limit)};r=0`;
}

/** The name of a policy: the limit of a model and that of the caller are two. */
function toName(name: string, { model }: LimitScope): string {
  return model === undefined ? `"${name}"` : `"model-${name}"`;
}

function toInteger(value: number): number {
  return Math.min(value, MAX_INTEGER);
}

function toSeconds(ms: number): number {
  return toInteger(Math.ceil(ms / 1000));
}

/** As OpenAI writes a time, which is how Go does: `20ms`, `1s`, `1.5s`, `6m0s`, `1h0m0s`. */
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

/** A window limit is reached: which one, and when it is worth to come again. */
export function createLimitedError(
  limits: CallLimits,
  { key }: WindowLimit,
  states: readonly WindowState[],
): GatewayError {
  const index = limits.windows.findIndex((window) => window.key === key);
  const reached = limits.windows[index];
  if (reached === undefined) throw new TypeError("The store of limits names a limit that was not asked for.");
  const headers = toRateLimitHeaders(limits, { windows: states });
  // No window will ever have room for it.
  if (reached.cost > reached.limit) {
    const message = `This request may make ${reached.cost} images, and ${describe(reached)} are allowed: ask for fewer.`;
    return new GatewayError("rate_limit_exceeded", message, { headers, shouldRetry: false });
  }
  const { remaining = 0, resetMs = 0 } = states[index] ?? {};
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  const rest = remaining === 0 ? "" : ` (this request may make ${reached.cost}, ${remaining} are left)`;
  const message = `The limit of ${describe(reached)} is reached${rest}: try again in ${retryAfterSeconds} s.`;
  return new GatewayError("rate_limit_exceeded", message, { headers, retryAfterSeconds });
}

/**
 * Too many requests run at once.
 *
 * @param states of the windows; none where they were not asked
 */
export function createCrowdedError(
  limits: CallLimits,
  crowded: ConcurrencyLimit,
  states: readonly WindowState[],
): GatewayError {
  const scope = limits.concurrency.find(({ key }) => key === crowded.key) ?? {};
  const message = `The limit of ${crowded.limit} requests at once${toPlace(scope)} is reached: try again when one has ended.`;
  return new GatewayError("rate_limit_exceeded", message, {
    headers: toRateLimitHeaders(limits, { windows: states, crowded }),
    retryAfterSeconds: 1,
  });
}

function describe({ limit, name, windowMs, ...scope }: WindowLimit & LimitScope): string {
  const time = windowMs === 60_000 ? "minute" : `${windowMs / 1000} s`;
  return `${limit} ${name} per ${time}${toPlace(scope)}`;
}

function toPlace({ model }: LimitScope): string {
  return model === undefined ? "" : ` to the model ${model}`;
}
