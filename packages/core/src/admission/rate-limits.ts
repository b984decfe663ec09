import type { CallerLimits } from "../types.js";
import type { ConcurrencyLimit, WindowLimit } from "./store.js";

/** The limits that apply to one call. */
export interface CallLimits {
  readonly windows: readonly (WindowLimit & LimitScope)[];
  readonly concurrency: readonly (ConcurrencyLimit & LimitScope)[];
}

/** What a limit applies to. */
export interface LimitScope {
  /** The model whose own limit it is. Absent for a limit on all calls of the caller. */
  readonly model?: string | undefined;
}

/** What the limits of a call depend on. */
export interface LimitSources {
  readonly callerId: string;
  /** The caller's own limits merged with those of the gateway, see {@link mergeLimits}. */
  readonly callerLimits: CallerLimits;
  /** The model's key in `models`. For a series this is the series, so that all of its names share their limits. */
  readonly model: string;
  /** The limits of each caller for this model. */
  readonly modelLimits: CallerLimits | undefined;
  /** The largest number of images that the call may make. */
  readonly maxImages: number;
  /** The longest time for which the call can need its slots. */
  readonly leaseMs: number;
}

const NO_LIMITS: CallerLimits = {};
const MINUTE_MS = 60_000;

/** Returns the gateway's limits with each limit that the caller has itself replaced. `null` means no limit. */
export function mergeLimits(own: CallerLimits | undefined, gateway: CallerLimits | undefined): CallerLimits {
  if (own === undefined) return gateway ?? NO_LIMITS;
  const pick = (name: keyof CallerLimits): number | null | undefined =>
    own[name] === undefined ? gateway?.[name] : own[name];
  return {
    requestsPerMinute: pick("requestsPerMinute"),
    imagesPerMinute: pick("imagesPerMinute"),
    concurrent: pick("concurrent"),
  };
}

/** Returns all limits of a call: first the caller's limits, then the caller's limits for the model. */
export function toCallLimits(sources: LimitSources): CallLimits {
  const { callerId, callerLimits, model, modelLimits } = sources;
  const own = toLimits(callerLimits, [callerId], sources);
  if (modelLimits === undefined) return own;
  const ofModel = toLimits(modelLimits, [callerId, model], sources);
  return {
    windows: [...own.windows, ...ofModel.windows.map((limit) => ({ ...limit, model }))],
    concurrency: [...own.concurrency, ...ofModel.concurrency.map((limit) => ({ ...limit, model }))],
  };
}

function toLimits(
  { requestsPerMinute, imagesPerMinute, concurrent }: CallerLimits,
  owner: readonly string[],
  { maxImages, leaseMs }: LimitSources,
): { readonly windows: readonly WindowLimit[]; readonly concurrency: readonly ConcurrencyLimit[] } {
  // JSON keeps the names apart whatever they contain, and writes lone surrogates in a form that every store keeps.
  const toKey = (name: string): string => JSON.stringify([name, ...owner]);
  const toWindows = (name: WindowLimit["name"], limit: number | null | undefined, cost: number) =>
    typeof limit === "number" ? [{ name, key: toKey(name), limit, windowMs: MINUTE_MS, cost }] : [];
  return {
    windows: [
      ...toWindows("requests", requestsPerMinute, 1),
      ...toWindows("images", imagesPerMinute, maxImages),
    ],
    concurrency:
      typeof concurrent === "number" ? [{ key: toKey("concurrent"), limit: concurrent, leaseMs }] : [],
  };
}
