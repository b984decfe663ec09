import { GatewayError } from "../errors.js";
import type { ConcurrencyLimit, WindowLimit, WindowState } from "./admission-store.js";
import { toRateLimitHeaders } from "./rate-limit-headers.js";
import type { LimitScope, TicketLimits } from "./ticket-limits.js";

/** A window limit is reached: which one, and when it is worth to come again. */
export function createLimitedError(
  limits: TicketLimits,
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
  limits: TicketLimits,
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
