import type { FoundCaller } from "../../auth/authenticate.js";
import { GatewayError } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { finishWithin } from "../../util/async.js";
import { removeOldest } from "../../util/collections.js";
import { readCallerSettings } from "./caller-settings.js";
import type { CallerLookup, CallerStore, StoredCaller } from "./caller-store.js";

/** Finds the stored callers that hold keys. */
export interface StoredCallers {
  /**
   * Finds the caller that holds the key with this hash. The result is a promise only if the store is asked.
   *
   * @throws GatewayError `gateway_unavailable` if the store cannot be reached and the key is not remembered, or if there are
   *   too many unknown keys at the moment
   * @throws TypeError if the settings of the caller cannot be read
   */
  find(hash: string): FoundCaller | undefined | Promise<FoundCaller | undefined>;
  /** Forgets a caller that was changed by this process. */
  forget(id: string): void;
  /** Ends the subscription to changes. */
  close(): void;
}

/** What {@link createStoredCallers} needs of the gateway. */
export interface StoredCallersParts {
  readonly store: CallerStore;
  readonly logger: Logger;
  /** Milliseconds of a clock that is never set back. Default `performance.now`. */
  readonly tick?: (() => number) | undefined;
}

/**
 * How long what is remembered is used without asking the store whether a caller has changed. A change takes effect within
 * this time and the time of one lookup.
 */
const FRESH_MS = 500;
/** How long remembered callers are used while the store cannot be reached. */
const GRACE_MS = 300_000;
/** How long a request waits for the store. */
const PATIENCE_MS = 2_000;
/** How long the store is left alone after a failure. */
const PAUSE_MS = 1_000;
/** The shortest time between two lookups, so that unknown keys cause at most fifty in a second. */
const SPACING_MS = 20;
/** The maximum number of hashes in a lookup. */
const LARGEST_BATCH = 500;
/** The maximum number of hashes that wait for a lookup. */
const MAX_WAITING = 2_000;
/** The maximum number of keys of callers, and of unknown keys, that are remembered. Each takes about 1 KiB. */
const MAX_KEYS = 10_000;
const MAX_UNKNOWN = 10_000;

/** A key of a caller. */
interface KnownKey {
  readonly id: string;
  /** The caller, or why its settings cannot be read. */
  readonly result: FoundCaller | Error;
  /** When the key ends, by the clock `tick`. */
  readonly endsAt: number;
  /** When the store last confirmed the key, by the clock `tick`. */
  confirmedAt: number;
  /** True if the store must be asked again, because some caller has changed. */
  isStale: boolean;
}

/** A hash that waits for a lookup. */
interface WaitingLookup {
  readonly promise: Promise<KnownKey | undefined>;
  readonly resolve: (key: KnownKey | undefined) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Remembers the callers of keys, and unknown keys, in memory. Every half second at most, a request asks the store for the
 * number of changes of all callers. So a change takes effect within a second, also if a notification of the store is lost.
 *
 * Lookups are made one after the other, each for all keys that wait. So random keys cause a bounded number of queries. They
 * use no memory beyond the limits above, and do not displace or delay the keys of callers that are remembered.
 */
export function createStoredCallers({
  store,
  logger,
  tick = () => performance.now(),
}: StoredCallersParts): StoredCallers {
  // In the order of their last use.
  const known = new Map<string, KnownKey>();
  const unknown = new Set<string>();
  const waiting = createWaitingHashes((hash) => known.has(hash));
  let revision: number | undefined;
  /** When the last lookup that succeeded began. */
  let checkedAt = -Infinity;
  let failedAt = -Infinity;
  /** True if a change was told since the last lookup. */
  let hasChanged = false;
  let isLookingUp = false;
  let isClosed = false;
  let stopWatching: (() => void) | undefined;

  const isFresh = (): boolean => !hasChanged && tick() - checkedAt < FRESH_MS;
  const isPaused = (): boolean => tick() - failedAt < PAUSE_MS;
  const lastConfirmed = (key: KnownKey): number =>
    key.isStale ? key.confirmedAt : Math.max(key.confirmedAt, checkedAt);

  function forget(id: string | undefined): void {
    hasChanged = true;
    unknown.clear();
    if (id === undefined) makeStale();
    for (const [hash, key] of known) if (key.id === id) known.delete(hash);
  }

  function makeStale(): void {
    for (const key of known.values()) {
      key.confirmedAt = lastConfirmed(key);
      key.isStale = true;
    }
  }

  /** Returns the caller of a key that need not be looked up. */
  function readFresh(hash: string): { readonly caller: FoundCaller | undefined } | undefined {
    if (!isFresh()) return undefined;
    if (unknown.has(hash)) return { caller: undefined };
    const key = known.get(hash);
    if (key === undefined || key.isStale) return undefined;
    known.delete(hash);
    known.set(hash, key);
    return { caller: open(key) };
  }

  function open({ id, result, endsAt }: KnownKey): FoundCaller | undefined {
    if (tick() >= endsAt) return undefined;
    if (!(result instanceof Error)) return result;
    throw new TypeError(`The stored caller ${JSON.stringify(id)} cannot be used: ${result.message}.`);
  }

  async function findInStore(hash: string): Promise<FoundCaller | undefined> {
    if (!isPaused()) {
      const found = waiting.add(hash);
      if (!isLookingUp) void runLookups();
      try {
        const key = await found;
        return key && open(key);
      } catch (error) {
        if (!(error instanceof CallerStoreError)) throw error;
      }
    }
    const key = known.get(hash);
    if (key !== undefined && tick() - lastConfirmed(key) < GRACE_MS) return open(key);
    throw unavailable("This server cannot check API keys at the moment: try again.");
  }

  async function runLookups(): Promise<void> {
    isLookingUp = true;
    for (let batch = waiting.take(); batch.length > 0; batch = waiting.take()) {
      const begunAt = tick();
      await runLookup(batch, begunAt);
      const leftMs = begunAt + SPACING_MS - tick();
      if (leftMs > 0 && !waiting.isEmpty()) await new Promise((resolve) => setTimeout(resolve, leftMs));
    }
    isLookingUp = false;
  }

  async function runLookup(
    batch: readonly (readonly [string, WaitingLookup])[],
    begunAt: number,
  ): Promise<void> {
    hasChanged = false;
    try {
      if (!isClosed) stopWatching ??= store.watch(({ id }) => forget(id));
      const hashes = batch.map(([hash]) => hash);
      const lookup = await finishWithin(store.lookUp(hashes), {
        ms: PATIENCE_MS,
        createError: () => new Error(`The caller store needs more than ${PATIENCE_MS} ms.`),
      });
      remember(hashes, lookup, begunAt);
      for (const [hash, { resolve }] of batch) resolve(known.get(hash));
      // A change was told during the lookup, which may not have seen it. The next lookup makes all other keys stale.
      if (hasChanged) for (const hash of hashes) known.delete(hash);
    } catch (error) {
      failedAt = tick();
      hasChanged = true;
      // One line for each pause, not for each request.
      logger.warn({ err: error }, "The caller store failed. Callers that are remembered are still admitted.");
      // The others would wait for as long.
      for (const [, { reject }] of [...batch, ...waiting.takeAll()]) reject(new CallerStoreError());
    }
  }

  function remember(hashes: readonly string[], lookup: CallerLookup, begunAt: number): void {
    if (lookup.revision !== revision) {
      makeStale();
      unknown.clear();
      revision = lookup.revision;
    }
    checkedAt = begunAt;
    const found = new Map(lookup.callers.flatMap((caller) => caller.keys.map(({ hash }) => [hash, caller])));
    for (const hash of hashes) {
      const caller = found.get(hash);
      known.delete(hash);
      unknown.delete(hash);
      if (caller === undefined) unknown.add(hash);
      else known.set(hash, toKnownKey(caller, hash, { now: lookup.now, begunAt }));
    }
    removeOldest(known, MAX_KEYS);
    removeOldest(unknown, MAX_UNKNOWN);
  }

  return {
    find(hash) {
      const fresh = readFresh(hash);
      return fresh === undefined ? findInStore(hash) : fresh.caller;
    },
    forget,
    close() {
      isClosed = true;
      stopWatching?.();
    },
  };
}

/** The hashes that wait for a lookup. */
interface WaitingHashes {
  /** Resolves when the hash was looked up by a lookup that began after this call. */
  add(hash: string): Promise<KnownKey | undefined>;
  /** Takes the hashes of the next lookup, those of known keys first. */
  take(): readonly (readonly [string, WaitingLookup])[];
  takeAll(): readonly (readonly [string, WaitingLookup])[];
  isEmpty(): boolean;
}

function createWaitingHashes(isKnown: (hash: string) => boolean): WaitingHashes {
  // There are at most as many of these as keys are remembered.
  const ofKnown = new Map<string, WaitingLookup>();
  const others = new Map<string, WaitingLookup>();
  const take = (max: number): readonly (readonly [string, WaitingLookup])[] => {
    const taken = [...[...ofKnown].slice(0, max), ...[...others].slice(0, max)].slice(0, max);
    for (const [hash] of taken) if (!ofKnown.delete(hash)) others.delete(hash);
    return taken;
  };
  return {
    add(hash) {
      const before = ofKnown.get(hash) ?? others.get(hash);
      if (before !== undefined) return before.promise;
      const list = isKnown(hash) ? ofKnown : others;
      if (list === others && others.size >= MAX_WAITING) {
        throw unavailable("This server checks too many unknown API keys at the moment: try again.");
      }
      const entry: WaitingLookup = Promise.withResolvers<KnownKey | undefined>();
      list.set(hash, entry);
      return entry.promise;
    },
    take: () => take(LARGEST_BATCH),
    takeAll: () => take(Infinity),
    isEmpty: () => ofKnown.size + others.size === 0,
  };
}

/** The store failed; it was logged. */
class CallerStoreError extends Error {
  override readonly name = "StoreError";
}

function toKnownKey(
  { id, settings, keys }: StoredCaller,
  hash: string,
  { now, begunAt }: { readonly now: number; readonly begunAt: number },
): KnownKey {
  const { endsAt, hint } = keys.find((key) => key.hash === hash) ?? {};
  return {
    id,
    result: toCaller(id, settings, hint),
    // The time that is left by the store's clock, because the clocks of machines differ.
    endsAt: endsAt === undefined ? Infinity : begunAt + endsAt - now,
    confirmedAt: begunAt,
    isStale: false,
  };
}

function toCaller(id: string, settings: string, keyHint: string | undefined): FoundCaller | Error {
  try {
    return { id, ...readCallerSettings(settings), keyHint };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function unavailable(message: string): GatewayError {
  return new GatewayError("gateway_unavailable", message, { retryAfterSeconds: 1 });
}
