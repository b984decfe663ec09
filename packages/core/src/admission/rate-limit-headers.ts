import type { ConcurrencyLimit, WindowLimit, WindowState } from "./admission-store.js";
import type { LimitScope, TicketLimits } from "./ticket-limits.js";

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
export function toRateLimitHeaders(limits: TicketLimits, states: LimitStates): Record<string, string> {
  const policies = [...limits.windows.map(toWindowPolicy), ...limits.concurrency.map(toConcurrencyPolicy)];
  const services = [
    ...limits.windows.flatMap((limit, index) => toService(limit, states.windows[index])),
    ...limits.concurrency.filter(({ key }) => key === states.crowded?.key).map(toFullService),
  ];
  return {
    ...(policies.length > 0 && { "ratelimit-policy": policies.join(", ") }),
    ...(services.length > 0 && { ratelimit: services.join(", ") }),
    ...toOpenaiHeaders("requests", limits, states),
    ...toOpenaiHeaders("images", limits, states),
  };
}

function toWindowPolicy(limit: WindowLimit & LimitScope): string {
  // The unit where none is given is requests. Images are no registered unit, but called requests they would lie.
  const unit = limit.name === "images" ? ';qu="images"' : "";
  return `${toName(limit.name, limit)};q=${toInteger(limit.limit)}${unit};w=${toSeconds(limit.windowMs)}`;
}

function toConcurrencyPolicy(limit: ConcurrencyLimit & LimitScope): string {
  return `${toName("concurrent", limit)};q=${toInteger(limit.limit)};qu="concurrent-requests"`;
}

function toService(limit: WindowLimit & LimitScope, state: WindowState | undefined): string[] {
  if (state === undefined) return [];
  const { remaining, resetMs } = state;
  return [`${toName(limit.name, limit)};r=${toInteger(remaining)};t=${toSeconds(resetMs)}`];
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

/** These have one limit of a kind: the one that is nearer to its end. */
function toOpenaiHeaders(
  name: WindowLimit["name"],
  limits: TicketLimits,
  states: LimitStates,
): Record<string, string> {
  const [tightest] = limits.windows
    .flatMap((limit, index) => {
      const state = states.windows[index];
      return limit.name === name && state !== undefined ? [{ limit: limit.limit, ...state }] : [];
    })
    .toSorted((a, b) => a.remaining - b.remaining || b.resetMs - a.resetMs);
  if (tightest === undefined) return {};
  return {
    [`x-ratelimit-limit-${name}`]: String(tightest.limit),
    [`x-ratelimit-remaining-${name}`]: String(tightest.remaining),
    [`x-ratelimit-reset-${name}`]: toDuration(tightest.resetMs),
  };
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
