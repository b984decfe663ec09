import type { CallerLimits } from "../../types.js";
import { removeOldest } from "../../util/collections.js";
import { haveSameFields } from "../../util/json.js";
import type { ConcurrencyLimit, WindowLimit } from "./store.js";

/** The limits that apply to one call. */
export interface CallLimits {
  readonly windows: readonly (WindowLimit & LimitScope)[];
  readonly concurrency: readonly (ConcurrencyLimit & LimitScope)[];
  /** True if a request waits for its turn at one of them. */
  readonly waits?: boolean | undefined;
}

/** What a limit applies to. */
export interface LimitScope {
  /** The model whose own limit it is. Absent for a limit on all calls of the caller. */
  readonly model?: string | undefined;
  /** How long a request waits for its turn at this limit, in milliseconds. Absent: it does not wait. */
  readonly waitMs?: number | undefined;
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
    waitSeconds: pick("waitSeconds"),
  };
}

const MAX_REMEMBERED = 1_000;
/** The limits of the last call of each caller, and what they depend on. Most calls of a caller have the same. */
const remembered = new Map<string, { readonly facts: object; readonly limits: CallLimits }>();

/** Returns all limits of a call: first the caller's limits, then the caller's limits for the model. */
export function toCallLimits(sources: LimitSources): CallLimits {
  const { callerId, callerLimits, model, modelLimits } = sources;
  // The fields of the caller's limits are compared, because they may be in a new object for each call.
  const facts = { ...sources, ...callerLimits, callerLimits: undefined };
  const last = remembered.get(callerId);
  if (last !== undefined && haveSameFields(last.facts, facts)) return last.limits;
  const limits = listLimits(sources, modelLimits === undefined ? [] : [[model, modelLimits]]);
  remembered.set(callerId, { facts, limits });
  removeOldest(remembered, MAX_REMEMBERED);
  return limits;
}

/** What a caller's limits depend on, apart from one call. */
export interface CallerLimitSources extends Pick<LimitSources, "callerId" | "callerLimits"> {
  /** The limits of each caller for a model, by the model's key in `models`. */
  readonly modelLimits: Readonly<Record<string, CallerLimits>>;
}

/** Returns all limits of a caller with the keys of {@link toCallLimits}. They have no cost and no lease, as for no call. */
export function listCallerLimits({ modelLimits, ...own }: CallerLimitSources): CallLimits {
  return listLimits({ ...own, maxImages: 0, leaseMs: 0 }, Object.entries(modelLimits));
}

/** Lists the limits of a caller, then those for each model. */
function listLimits(
  { callerId, callerLimits, maxImages, leaseMs }: Omit<LimitSources, "model" | "modelLimits">,
  ofModels: readonly [string, CallerLimits][],
): CallLimits {
  const windows: (WindowLimit & LimitScope)[] = [];
  const concurrency: (ConcurrencyLimit & LimitScope)[] = [];
  const add = (limits: CallerLimits, model?: string): void => {
    const { requestsPerMinute, imagesPerMinute, concurrent } = limits;
    // JSON keeps the names apart whatever they contain, and writes lone surrogates in a form that every store keeps.
    const endOfKey = JSON.stringify(model === undefined ? [callerId] : [callerId, model]).slice(1);
    const { waitSeconds = callerLimits.waitSeconds } = limits;
    const scope: LimitScope = {
      ...(model !== undefined && { model }),
      ...(waitSeconds && { waitMs: waitSeconds * 1000 }),
    };
    const windowMs = MINUTE_MS;
    if (typeof requestsPerMinute === "number") {
      const key = `["requests",${endOfKey}`;
      windows.push({ name: "requests", key, limit: requestsPerMinute, windowMs, cost: 1, ...scope });
    }
    if (typeof imagesPerMinute === "number") {
      const key = `["images",${endOfKey}`;
      windows.push({ name: "images", key, limit: imagesPerMinute, windowMs, cost: maxImages, ...scope });
    }
    if (typeof concurrent === "number") {
      concurrency.push({ key: `["concurrent",${endOfKey}`, limit: concurrent, leaseMs, ...scope });
    }
  };
  add(callerLimits);
  for (const [model, limits] of ofModels) add(limits, model);
  const waits = [...windows, ...concurrency].some(({ waitMs }) => waitMs !== undefined);
  return waits ? { windows, concurrency, waits } : { windows, concurrency };
}
