import { hasPauseEnded } from "../../channels/pauses.js";
import type { ChannelPause } from "../../contract/channel-state.js";
import type { Cooldown } from "../../types.js";
import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  ConcurrencyLimit,
  CountsRequest,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
  Turn,
  TurnStore,
  WindowLimit,
  WindowState,
} from "./store.js";
import { Turns } from "./turns.js";

/** The options of {@link createMemoryAdmissionStore}. */
export interface MemoryAdmissionStoreOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * The number of finished requests with an idempotency key that the store remembers. When it is exceeded, the store
   * forgets the oldest, and a repeat of that request runs again. Default 100,000.
   */
  readonly maxResponses?: number | undefined;
  /**
   * Memory for all stored responses, in bytes. When it is exceeded, the store drops the oldest response, and a repeat
   * of that request is refused. Default 64 MiB.
   */
  readonly maxResponseBytes?: number | undefined;
}

/** An admission store that can also be read, that keeps pauses, and that hands out turns. */
export type MemoryAdmissionStore = AdmissionStore &
  Required<Pick<AdmissionStore, "readCounts" | "setPause">> &
  TurnStore;

/** Options of version 0.1. */
const OLD_NAMES = { maxAnswers: "maxResponses", maxAnswerBytes: "maxResponseBytes" };

const DEFAULT_MAX_RESPONSES = 100_000;
const DEFAULT_MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/**
 * Creates a store in the memory of this process, with bounds on its size and without timers. Each process that creates
 * one has its own limits, idempotency keys, cooldowns and pauses.
 *
 * @throws TypeError for an option of version 0.1
 * @example
 * ```ts
 * import { createMemoryAdmissionStore } from "@calotype/core";
 *
 * const store = createMemoryAdmissionStore({ maxResponseBytes: 16 * 1024 * 1024 });
 * ```
 */
export function createMemoryAdmissionStore(options: MemoryAdmissionStoreOptions = {}): MemoryAdmissionStore {
  for (const [name, replacement] of Object.entries(OLD_NAMES)) {
    if (name in options) throw new TypeError(`${name} is not an option any more: set ${replacement}.`);
  }
  const { now = Date.now, maxResponses = DEFAULT_MAX_RESPONSES } = options;
  const { maxResponseBytes = DEFAULT_MAX_RESPONSE_BYTES } = options;
  const windows = createWindowCounts();
  const slots = createSharedSlots();
  const keys = createIdempotencyKeys(maxResponses, maxResponseBytes);
  const cooldowns = createExpiringMap<Cooldown>(({ until }, at) => until <= at);
  const pauses = createExpiringMap<ChannelPause>(hasPauseEnded);
  const turns = new Turns();

  // There is no `await` here, so that nothing can change between the checks and what they allow.
  const decide = (
    { id, windows: limits, concurrency, idempotency, channels, pausesOf = [] }: AdmissionRequest,
    at: number,
    /** The limit at which another request is next. */
    blocked?: string,
  ): AdmissionDecision => {
    const repeat = idempotency && keys.findRepeat(idempotency, id, at);
    if (repeat !== undefined) return repeat;
    for (const limit of limits) {
      if (limit.key === blocked || windows.isReached(limit, at))
        return { kind: "limited", limit, windows: windows.read(limits, at) };
    }
    for (const limit of concurrency) {
      if (limit.key === blocked || slots.isFull(limit, at))
        return { kind: "crowded", limit, windows: windows.read(limits, at) };
    }
    for (const limit of concurrency) slots.take(limit, id, at);
    if (idempotency !== undefined) keys.begin(idempotency, id, at);
    return {
      kind: "admitted",
      windows: limits.map((limit) => windows.take(limit, at)),
      cooldowns: cooldowns.pick(channels, at),
      ...(pauses.size > 0 && { pauses: pauses.pick(pausesOf, at) }),
    };
  };
  const giveUp = ({ id, caller, idempotency }: AdmissionRequest, at: number): void => {
    turns.leave({ id, caller });
    if (idempotency !== undefined) keys.finish(idempotency, { id, outcome: { kind: "forget" }, at });
  };
  const decideInTurn = (request: AdmissionRequest, turn: Turn, at: number): AdmissionDecision => {
    const { id, idempotency } = request;
    const decision = decide(request, at, turns.findBlocked(request, turn, at));
    if (decision.kind !== "limited" && decision.kind !== "crowded") turns.leave(request);
    else if (turn.leaseMs === 0) giveUp(request, at);
    else {
      turns.take(request, turn, decision.limit.key, at);
      if (idempotency !== undefined) keys.begin(idempotency, id, at);
    }
    return decision;
  };

  return {
    async admit(request) {
      return decide(request, now());
    },

    async admitInTurn(request, turn) {
      return decideInTurn(request, turn, now());
    },

    async giveUpTurn(request) {
      giveUp(request, now());
    },

    async finish({ id, concurrency, idempotency }, outcome) {
      const at = now();
      for (const limit of concurrency) slots.release(limit, id, at);
      if (idempotency !== undefined) keys.finish(idempotency, { id, outcome, at });
    },

    async readCounts({ windows: limits, concurrency }) {
      const at = now();
      return {
        windows: limits.map((limit) => windows.count(limit, at)),
        slots: concurrency.map((limit) => slots.count(limit, at)),
      };
    },

    async setCooldown(channel, cooldown) {
      if (cooldown === undefined) cooldowns.delete(channel);
      else cooldowns.set(channel, cooldown, now());
    },

    async setPause(channel, pause) {
      if (pause === undefined) pauses.delete(channel);
      else pauses.set(channel, pause, now());
    },
  };
}

interface Window {
  count: number;
  endsAt: number;
}

/** Counts in windows of time. A window begins with the first count in it. */
function createWindowCounts() {
  const windows = createExpiringMap<Window>(({ endsAt }, now) => endsAt <= now);

  const find = (
    { key, windowMs }: Pick<WindowLimit, "key" | "windowMs">,
    now: number,
  ): Window | undefined => {
    const window = windows.get(key, now);
    // A clock that is set back must not make the window longer.
    if (window !== undefined) window.endsAt = Math.min(window.endsAt, now + windowMs);
    return window;
  };
  const begin = ({ key, windowMs }: WindowLimit, now: number): Window => {
    const window = { count: 0, endsAt: now + windowMs };
    windows.set(key, window, now);
    return window;
  };
  return {
    /** True if the window has no room for the cost of the limit. */
    isReached: (limit: WindowLimit, now: number) => limit.cost > countRemaining(limit, find(limit, now)),
    /** Returns the states of the windows without the costs of the limits. */
    read: (limits: readonly WindowLimit[], now: number) =>
      limits.map((limit) => toState(limit, find(limit, now), now)),
    /** Returns what was counted. */
    count(limit: CountsRequest["windows"][number], now: number) {
      const { count = 0, endsAt = now } = find(limit, now) ?? {};
      return { count, resetMs: endsAt - now };
    },
    /** Adds the cost of the limit, and returns the state after it. */
    take(limit: WindowLimit, now: number) {
      const window = find(limit, now) ?? begin(limit, now);
      window.count += limit.cost;
      return toState(limit, window, now);
    },
  };
}

/** The count can exceed a limit that the operator has lowered. */
function countRemaining({ limit }: WindowLimit, window: Window | undefined): number {
  return window === undefined ? limit : Math.max(0, limit - window.count);
}

function toState(limit: WindowLimit, window: Window | undefined, now: number): WindowState {
  if (window === undefined) return { remaining: limit.limit, resetMs: 0 };
  return { remaining: countRemaining(limit, window), resetMs: window.endsAt - now };
}

/** Slots of running requests. A slot is free again when it is released or when its lease ends. */
function createSharedSlots() {
  /** For each limit: the requests that have a slot, and the ends of their leases. */
  const byKey = createExpiringMap<Map<string, number>>((leases, now) => {
    for (const endsAt of leases.values()) if (endsAt > now) return false;
    return true;
  });
  return {
    isFull({ key, limit }: ConcurrencyLimit, now: number) {
      const leases = byKey.get(key, now);
      if (leases === undefined || leases.size < limit) return false;
      for (const [id, endsAt] of leases) if (endsAt <= now) leases.delete(id);
      return leases.size >= limit;
    },
    /** Takes a slot for the request with this id, whether or not one is free. */
    take({ key, leaseMs }: ConcurrencyLimit, id: string, now: number) {
      const leases = byKey.get(key, now) ?? new Map<string, number>();
      leases.set(id, now + leaseMs);
      byKey.set(key, leases, now);
    },
    count({ key }: Pick<ConcurrencyLimit, "key">, now: number) {
      let count = 0;
      for (const endsAt of byKey.get(key, now)?.values() ?? []) if (endsAt > now) count += 1;
      return count;
    },
    release({ key }: ConcurrencyLimit, id: string, now: number) {
      byKey.get(key, now)?.delete(id);
    },
  };
}

type KeyRepeat = Extract<AdmissionDecision, { kind: "replay" | "not_replayable" | "conflict" | "running" }>;

interface KeyEnd {
  readonly id: string;
  readonly outcome: IdempotencyOutcome;
  readonly at: number;
}

interface FinishedKey {
  readonly fingerprint: string;
  readonly until: number;
}

interface RunningKey extends FinishedKey {
  readonly id: string;
}

/** Idempotency keys and stored responses. The bounds apply to finished requests only. */
function createIdempotencyKeys(maxResponses: number, maxResponseBytes: number) {
  const running = createExpiringMap<RunningKey>(({ until }, now) => until <= now);
  /** The oldest first. */
  const finished = new Map<string, FinishedKey>();
  /** The responses of some of `finished`, the oldest first. */
  const responses = new Map<string, StoredResponse>();
  let bytes = 0;

  const findFinished = (key: string, now: number): FinishedKey | undefined => {
    const entry = finished.get(key);
    return entry === undefined || entry.until <= now ? undefined : entry;
  };
  const dropResponse = (key: string): void => {
    const response = responses.get(key);
    if (response === undefined) return;
    bytes -= sizeOf(response);
    responses.delete(key);
  };
  const forget = (key: string): void => {
    dropResponse(key);
    finished.delete(key);
  };
  const store = (key: string, response: StoredResponse): void => {
    const size = sizeOf(response);
    // It would drop all other responses and then itself.
    if (size > maxResponseBytes) return;
    responses.set(key, response);
    bytes += size;
    for (const oldest of responses.keys()) {
      if (bytes <= maxResponseBytes) return;
      dropResponse(oldest);
    }
  };
  const forgetOldest = (now: number): void => {
    for (const [key, { until }] of finished) {
      if (finished.size <= maxResponses && until > now) return;
      forget(key);
    }
  };

  return {
    /** Returns the decision for a request whose key is in use; `undefined` if the key is free, or of this request, which waits. */
    findRepeat({ key, fingerprint }: IdempotencyRequest, id: string, now: number): KeyRepeat | undefined {
      const ended = findFinished(key, now);
      const owner = running.get(key, now);
      const found = ended ?? owner;
      if (found === undefined || (ended === undefined && owner?.id === id)) return undefined;
      if (found.fingerprint !== fingerprint) return { kind: "conflict" };
      if (ended === undefined) return { kind: "running" };
      const response = responses.get(key);
      return response === undefined ? { kind: "not_replayable" } : { kind: "replay", response };
    },
    /** Takes a free key for the request with this id. */
    begin({ key, fingerprint, leaseMs }: IdempotencyRequest, id: string, now: number) {
      forget(key);
      running.set(key, { id, fingerprint, until: now + leaseMs }, now);
    },
    /** A request whose lease has ended can still finish, unless another request has the key. */
    finish({ key, fingerprint }: IdempotencyRequest, { id, outcome, at }: KeyEnd) {
      const owner = running.get(key, at)?.id ?? id;
      if (owner !== id || findFinished(key, at) !== undefined) return;
      running.delete(key);
      forget(key);
      if (outcome.kind === "forget") return;
      finished.set(key, { fingerprint, until: at + outcome.ttlMs });
      if (outcome.kind === "keep") store(key, outcome.response);
      forgetOldest(at);
    },
  };
}

/** JavaScript engines use at most two bytes for each character. */
function sizeOf({ headers, body }: StoredResponse): number {
  return (
    2 * Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, body.length)
  );
}

/** A map whose entries end at some time. */
export interface ExpiringMap<Value> {
  /** Returns the value of an entry that has not ended. */
  get(key: string, now: number): Value | undefined;
  /** Returns the entries of these keys that have not ended. */
  pick(keys: readonly string[], now: number): Record<string, Value>;
  set(key: string, value: Value, now: number): void;
  delete(key: string): void;
  /** The number of entries in memory, including ended ones that are not removed yet. */
  readonly size: number;
}

const MIN_SIZE_TO_SWEEP = 64;

/**
 * Creates a map that removes ended entries without a timer: `set` looks at all entries each time the map has doubled
 * since it last did so. The map therefore holds at most about twice as many entries as have not ended.
 *
 * @param hasEnded called with milliseconds since 1970
 */
export function createExpiringMap<Value>(
  hasEnded: (value: Value, now: number) => boolean,
): ExpiringMap<Value> {
  const entries = new Map<string, Value>();
  let sizeToSweep = MIN_SIZE_TO_SWEEP;

  const sweep = (now: number): void => {
    for (const [key, value] of entries) if (hasEnded(value, now)) entries.delete(key);
    sizeToSweep = Math.max(MIN_SIZE_TO_SWEEP, 2 * entries.size);
  };
  const get: ExpiringMap<Value>["get"] = (key, now) => {
    const value = entries.get(key);
    return value === undefined || hasEnded(value, now) ? undefined : value;
  };
  return {
    get,
    pick(keys, now) {
      const found: [string, Value][] = [];
      for (const key of keys) {
        const value = get(key, now);
        if (value !== undefined) found.push([key, value]);
      }
      // `fromEntries`, because an assignment to `__proto__` would not add a field.
      return found.length === 0 ? {} : Object.fromEntries(found);
    },
    set(key, value, now) {
      if (entries.size >= sizeToSweep) sweep(now);
      entries.set(key, value);
    },
    delete(key) {
      entries.delete(key);
    },
    get size() {
      return entries.size;
    },
  };
}
