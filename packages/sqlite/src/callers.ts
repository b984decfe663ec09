import type { DatabaseSync } from "node:sqlite";
import {
  type CallerAuditLine,
  type CallerChange,
  type CallerStore,
  type CallerUpdate,
  checkCallerUpdate,
  type StoredCaller,
  type StoredKey,
} from "@calotype/core/stores";
import { type Row, readNumber, readNumberOrNull, readText } from "./read-column.js";
import { readOneOf } from "./task-rows.js";

/** What callers need besides their own tables. */
export interface CallersContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Runs a query as soon as the database is not locked. */
  readonly read: <T>(query: () => T) => Promise<T>;
  /** Runs an operation inside a transaction. */
  readonly write: <T>(operation: () => T) => Promise<T>;
}

/**
 * The callers in the database of a ledger. The number of changes is a row of its own. SQLite's `data_version` would change
 * with every request, because requests write to the same file.
 */
export function createCallers(database: DatabaseSync, { now, read, write }: CallersContext): CallerStore {
  const selectById = database.prepare(`SELECT ${COLUMNS} FROM callers WHERE id = ?`);
  const selectPage = database.prepare(`SELECT ${COLUMNS} FROM callers WHERE id > ? ORDER BY id LIMIT ?`);
  const selectByHash = database.prepare(
    `SELECT ${COLUMNS} FROM callers WHERE id = (SELECT caller FROM caller_keys WHERE hash = ?)`,
  );
  const selectKeys = database.prepare(
    "SELECT hash, hint, created_at, ends_at FROM caller_keys WHERE caller = ? ORDER BY place",
  );
  const selectRevision = database.prepare("SELECT revision FROM caller_revision");
  const countChange = database.prepare("UPDATE caller_revision SET revision = revision + 1");
  const upsert = database.prepare(
    `INSERT INTO callers (id, settings, created_at, changed_at, revoked_at) VALUES (:id, :settings, :now, :now, :revoked)
     ON CONFLICT (id) DO UPDATE
       SET settings = excluded.settings, changed_at = excluded.changed_at, revoked_at = excluded.revoked_at`,
  );
  const removeKeys = database.prepare("DELETE FROM caller_keys WHERE caller = ?");
  const insertKey = database.prepare(
    "INSERT INTO caller_keys (hash, caller, place, hint, created_at, ends_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const insertLine = database.prepare(
    "INSERT INTO caller_audit (time, made_by, action, caller, details) VALUES (?, ?, ?, ?, ?)",
  );
  const selectLines = database.prepare(
    `SELECT ${LINE} FROM caller_audit WHERE sequence < ? ORDER BY sequence DESC LIMIT ?`,
  );
  const selectLinesOf = database.prepare(
    `SELECT ${LINE} FROM caller_audit WHERE caller = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
  );
  const removeLines = database.prepare(
    `DELETE FROM caller_audit WHERE sequence IN (SELECT sequence FROM caller_audit WHERE time < ? ORDER BY sequence LIMIT ${BATCH})`,
  );
  const listeners = new Set<(change: CallerChange) => void>();

  const toCaller = (row: Row): StoredCaller => {
    const id = readText(row, "id");
    return readCaller(row, selectKeys.all(id).map(readKey));
  };
  const findById = (id: string): StoredCaller | undefined => {
    const row = selectById.get(id);
    return row && toCaller(row);
  };

  function store(id: string, instant: number, update: CallerUpdate): StoredCaller {
    checkCallerUpdate(id, update);
    const { caller, audit } = update;
    upsert.run({ id, settings: caller.settings, now: instant, revoked: caller.revokedAt ?? null });
    removeKeys.run(id);
    for (const [place, { hash, hint, createdAt, endsAt }] of caller.keys.entries()) {
      insertKey.run(hash, id, place, hint, createdAt, endsAt ?? null);
    }
    insertLine.run(instant, audit.by, audit.action, id, audit.details);
    countChange.run();
    return toCaller(selectById.get(id));
  }

  async function writeAndTell(
    id: string,
    operation: (instant: number) => StoredCaller | undefined,
  ): Promise<StoredCaller | undefined> {
    const written = await write(() => operation(Math.floor(now())));
    if (written !== undefined) for (const listener of listeners) listener({ id });
    return written;
  }

  return {
    create: async (id, create) =>
      await writeAndTell(id, (instant) =>
        findById(id) === undefined ? store(id, instant, create(instant)) : undefined,
      ),
    change: async (id, change) =>
      await writeAndTell(id, (instant) => {
        const caller = findById(id);
        return caller && store(id, instant, change(caller, instant));
      }),
    lookUp: async (hashes) =>
      await read(() => {
        // Read first: the other queries may see a later change, which the next lookup then notices.
        const revision = readNumber(selectRevision.get(), "revision");
        const callers = new Map<string, StoredCaller>();
        for (const hash of hashes) {
          const row = selectByHash.get(hash);
          if (row !== undefined) callers.set(readText(row, "id"), toCaller(row));
        }
        return { revision, now: Math.floor(now()), callers: [...callers.values()] };
      }),
    find: async (id) => await read(() => findById(id)),
    // No id is empty.
    list: async ({ limit, after = "" }) => await read(() => selectPage.all(after, limit).map(toCaller)),
    audit: async ({ limit, caller, before = Number.MAX_SAFE_INTEGER }) =>
      await read(() =>
        (caller === undefined
          ? selectLines.all(before, limit)
          : selectLinesOf.all(caller, before, limit)
        ).map(readLine),
      ),
    pruneAudit: async (before) => {
      for (let removed = 0; ; ) {
        const { changes } = await write(() => removeLines.run(before));
        removed += Number(changes);
        if (Number(changes) < BATCH) return removed;
      }
    },
    watch: (listener) => {
      // A function of its own, so that a listener may watch twice.
      const told = (change: CallerChange): void => listener(change);
      listeners.add(told);
      return () => void listeners.delete(told);
    },
  };
}

/** The maximum number of lines that one transaction removes, so that it is short. */
const BATCH = 5_000;
const COLUMNS = "id, settings, created_at, changed_at, revoked_at";
const LINE = "sequence, time, made_by, action, caller, details";
const ACTIONS = ["create", "change", "rotate", "revoke"] as const;

function readCaller(row: Row, keys: readonly StoredKey[]): StoredCaller {
  const revokedAt = readNumberOrNull(row, "revoked_at");
  return {
    id: readText(row, "id"),
    settings: readText(row, "settings"),
    keys,
    createdAt: readNumber(row, "created_at"),
    changedAt: readNumber(row, "changed_at"),
    ...(revokedAt !== null && { revokedAt }),
  };
}

function readKey(row: Row): StoredKey {
  const endsAt = readNumberOrNull(row, "ends_at");
  return {
    hash: readText(row, "hash"),
    hint: readText(row, "hint"),
    createdAt: readNumber(row, "created_at"),
    ...(endsAt !== null && { endsAt }),
  };
}

function readLine(row: Row): CallerAuditLine {
  return {
    sequence: readNumber(row, "sequence"),
    time: readNumber(row, "time"),
    by: readText(row, "made_by"),
    action: readOneOf(row, "action", ACTIONS),
    caller: readText(row, "caller"),
    details: readText(row, "details"),
  };
}
