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
  const limits: GrowingLimits = { windows: [], concurrency: [] };
  addLimits(limits, callerLimits, { owner: [callerId], sources });
  if (modelLimits !== undefined) {
    addLimits(limits, modelLimits, { owner: [callerId, model], model, sources });
  }
  return limits;
}

/** What a caller's limits depend on, apart from one call. */
export interface CallerLimitSources extends Pick<LimitSources, "callerId" | "callerLimits"> {
  /** The limits of each caller for a model, by the model's key in `models`. */
  readonly modelLimits: Readonly<Record<string, CallerLimits>>;
}

/** Returns all limits of a caller with the keys of {@link toCallLimits}. They have no cost and no lease, as for no call. */
export function listCallerLimits({ callerId, callerLimits, modelLimits }: CallerLimitSources): CallLimits {
  const limits: GrowingLimits = { windows: [], concurrency: [] };
  const sources = { maxImages: 0, leaseMs: 0 };
  addLimits(limits, callerLimits, { owner: [callerId], sources });
  for (const [model, own] of Object.entries(modelLimits)) {
    addLimits(limits, own, { owner: [callerId, model], model, sources });
  }
  return limits;
}

interface GrowingLimits extends CallLimits {
  readonly windows: (WindowLimit & LimitScope)[];
  readonly concurrency: (ConcurrencyLimit & LimitScope)[];
}

interface LimitOwner {
  readonly owner: readonly string[];
  readonly model?: string;
  readonly sources: Pick<LimitSources, "maxImages" | "leaseMs">;
}

function addLimits(
  { windows, concurrency }: GrowingLimits,
  { requestsPerMinute, imagesPerMinute, concurrent }: CallerLimits,
  { owner, model, sources }: LimitOwner,
): void {
  // JSON keeps the names apart whatever they contain, and writes lone surrogates in a form that every store keeps.
  const endOfKey = JSON.stringify(owner).slice(1);
  const withScope = <Limit extends object>(limit: Limit): Limit & LimitScope =>
    model === undefined ? limit : { ...limit, model };
  const windowMs = MINUTE_MS;
  if (typeof requestsPerMinute === "number") {
    const key = `["requests",${endOfKey}`;
    windows.push(withScope({ name: "requests", key, limit: requestsPerMinute, windowMs, cost: 1 }));
  }
  if (typeof imagesPerMinute === "number") {
    const key = `["images",${endOfKey}`;
    const cost = sources.maxImages;
    windows.push(withScope({ name: "images", key, limit: imagesPerMinute, windowMs, cost }));
  }
  if (typeof concurrent === "number") {
    const key = `["concurrent",${endOfKey}`;
    concurrency.push(withScope({ key, limit: concurrent, leaseMs: sources.leaseMs }));
  }
}
