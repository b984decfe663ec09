import type { CallerLimits } from "../types.js";
import type { ConcurrencyLimit, WindowLimit } from "./store.js";

/** Whose limit it is. */
export interface LimitScope {
  /** The model whose own limit it is; absent for a limit on all that the caller does. */
  readonly model?: string | undefined;
}

/** What a request counts against. */
export interface CallLimits {
  readonly windows: readonly (WindowLimit & LimitScope)[];
  readonly concurrency: readonly (ConcurrencyLimit & LimitScope)[];
}

/** What limits a request. */
export interface LimitSources {
  readonly callerId: string;
  /** The caller's own limits over those of the gateway, see {@link mergeLimits}. */
  readonly callerLimits: CallerLimits;
  /** The service model, or the series that has the limits: else each of its endless names would have them anew. */
  readonly model: string;
  /** What the model allows each caller. */
  readonly modelLimits: CallerLimits | undefined;
  /** The most images that the request may make. */
  readonly maxImages: number;
  /** For how long a request can hold its place. */
  readonly leaseMs: number;
}

const NO_LIMITS: CallerLimits = {};
const MINUTE_MS = 60_000;

/** Each limit of the caller's own in place of the gateway's; `null` is none. */
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

/** All that a request counts against: the caller's limits first, then those of the model for the caller. */
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

function toLimits(limits: CallerLimits, owner: readonly string[], sources: LimitSources): CallLimits {
  const { requestsPerMinute, imagesPerMinute, concurrent } = limits;
  const windows: WindowLimit[] = [];
  const add = (name: WindowLimit["name"], limit: number | null | undefined, cost: number): void => {
    if (typeof limit !== "number") return;
    windows.push({ name, key: toKey(name, owner), limit, windowMs: MINUTE_MS, cost });
  };
  add("requests", requestsPerMinute, 1);
  add("images", imagesPerMinute, sources.maxImages);
  if (typeof concurrent !== "number") return { windows, concurrency: [] };
  const place = { key: toKey("concurrent", owner), limit: concurrent, leaseMs: sources.leaseMs };
  return { windows, concurrency: [place] };
}

/** JSON, since it keeps names apart whatever they hold, and writes lone surrogates so that no store loses them. */
function toKey(name: string, owner: readonly string[]): string {
  return JSON.stringify([name, ...owner]);
}

/** What callers' requests count against, worked out once for requests that are alike. */
export interface LimitPlans {
  find(sources: LimitSources): CallLimits;
}

interface Plan {
  readonly sources: LimitSources;
  readonly limits: CallLimits;
}

/** Callers may be any number. */
const MOST_CALLERS = 10_000;

/** Remembers of each caller its latest request to each model. */
export function createLimitPlans(): LimitPlans {
  const byModel = new Map<string, Map<string, Plan>>();
  return {
    find(sources) {
      const { model, callerId } = sources;
      let plans = byModel.get(model);
      if (plans === undefined) byModel.set(model, (plans = new Map()));
      const known = plans.get(callerId);
      if (known !== undefined && isAlike(known.sources, sources)) return known.limits;
      if (plans.size >= MOST_CALLERS) plans.clear();
      const limits = toCallLimits(sources);
      plans.set(callerId, { sources, limits });
      return limits;
    },
  };
}

/** The operator may give a caller other limits at each request. */
function isAlike(one: LimitSources, other: LimitSources): boolean {
  return (
    one.maxImages === other.maxImages &&
    one.leaseMs === other.leaseMs &&
    hasSameLimits(one.callerLimits, other.callerLimits) &&
    hasSameLimits(one.modelLimits, other.modelLimits)
  );
}

function hasSameLimits(one: LimitSources["modelLimits"], other: LimitSources["modelLimits"]): boolean {
  return (
    one?.requestsPerMinute === other?.requestsPerMinute &&
    one?.imagesPerMinute === other?.imagesPerMinute &&
    one?.concurrent === other?.concurrent
  );
}
