import { createListeners } from "../../util/collections.js";
import { compareStrings } from "../../util/compare-strings.js";
import {
  type CallerAuditLine,
  type CallerChange,
  type CallerStore,
  type CallerUpdate,
  checkCallerUpdate,
  type StoredCaller,
} from "./caller-store.js";

/** The maximum number of callers, with those that were revoked. */
const MAX_CALLERS = 10_000;
/** The newest audit lines that are kept. */
const MAX_AUDIT_LINES = 10_000;

/** Callers in the memory of this process, at most 10,000, and the newest 10,000 lines about their changes. */
export function createMemoryCallers(now: () => number): CallerStore {
  const callers = new Map<string, StoredCaller>();
  const byHash = new Map<string, string>();
  const listeners = createListeners<CallerChange>();
  let lines: CallerAuditLine[] = [];
  let revision = 0;

  /** Later, so that no listener runs inside a method. */
  function tell(change: CallerChange): void {
    queueMicrotask(() => listeners.tell(change));
  }

  function write(
    old: StoredCaller | undefined,
    id: string,
    time: number,
    { caller, audit }: CallerUpdate,
  ): StoredCaller {
    const { settings, keys, revokedAt } = caller;
    const written: StoredCaller = {
      id,
      settings,
      keys: keys.map((key) => ({ ...key })),
      createdAt: old?.createdAt ?? time,
      changedAt: time,
      ...(revokedAt !== undefined && { revokedAt }),
    };
    const taken = keys.find(({ hash }) => (byHash.get(hash) ?? id) !== id);
    if (taken !== undefined) throw new RangeError("another caller has the same key");
    for (const { hash } of old?.keys ?? []) byHash.delete(hash);
    for (const { hash } of keys) byHash.set(hash, id);
    callers.set(id, written);
    revision++;
    lines.push({ sequence: revision, time, caller: id, ...audit });
    if (lines.length > 2 * MAX_AUDIT_LINES) lines = lines.slice(-MAX_AUDIT_LINES);
    tell({ id });
    return written;
  }

  // No method awaits anything, so each is atomic.
  return {
    async create(id, create) {
      if (callers.has(id)) return undefined;
      const time = Math.floor(now());
      const update = create(time);
      checkCallerUpdate(id, update);
      if (callers.size >= MAX_CALLERS) {
        throw new RangeError(`The memory of this process keeps at most ${MAX_CALLERS} callers.`);
      }
      return write(undefined, id, time, update);
    },
    async change(id, change) {
      const old = callers.get(id);
      if (old === undefined) return undefined;
      const time = Math.floor(now());
      const update = change(old, time);
      checkCallerUpdate(id, update);
      return write(old, id, time, update);
    },
    async lookUp(hashes) {
      const ids = new Set(hashes.flatMap((hash) => byHash.get(hash) ?? []));
      return { revision, now: Math.floor(now()), callers: [...ids].flatMap((id) => callers.get(id) ?? []) };
    },
    async find(id) {
      return callers.get(id);
    },
    async list({ limit, after }) {
      return [...callers.values()]
        .filter(({ id }) => after === undefined || compareStrings(id, after) > 0)
        .toSorted((one, other) => compareStrings(one.id, other.id))
        .slice(0, limit);
    },
    async audit({ limit, caller, before = Infinity }) {
      return lines
        .slice(-MAX_AUDIT_LINES)
        .filter((line) => line.sequence < before && (caller === undefined || line.caller === caller))
        .toReversed()
        .slice(0, limit);
    },
    async pruneAudit(before) {
      const all = lines.length;
      lines = lines.filter(({ time }) => time >= before);
      return all - lines.length;
    },
    watch: listeners.watch,
  };
}
