import {
  type CallerAuditLine,
  type CallerStore,
  type CallerUpdate,
  checkCallerUpdate,
  checkStoredCallerId,
  type StoredCaller,
  type StoredKey,
} from "@calotype/core/stores";
import { type Database, type Row, readNumber, readText, type Send, toClock } from "./database.js";
import type { Notifications } from "./notifications.js";
import type { Owner } from "./owner.js";

/** What callers work with. */
export interface CallersParts {
  readonly schema: string;
  readonly owner: Owner;
  readonly notifications: Notifications;
  /** Resolves when the tables can be written to. */
  readonly ready: () => Promise<void>;
}

/**
 * The callers in a schema. A change is one transaction that is not repeated: if the connection is lost during its commit, the
 * call rejects, and the change may have been made.
 */
export function createCallers(database: Database, parts: CallersParts): CallerStore {
  const { schema, owner, notifications, ready } = parts;

  async function selectCaller(send: Send, id: string): Promise<StoredCaller | undefined> {
    const [row] = await send({
      sql: `SELECT ${schema}.describe_caller(c) AS caller FROM ${schema}.callers c WHERE id = $1`,
      values: [id],
    });
    return row && readCallerColumn(row);
  }

  async function change(
    id: string,
    toUpdate: (caller: StoredCaller | undefined, now: number) => CallerUpdate | undefined,
  ): Promise<StoredCaller | undefined> {
    checkStoredCallerId(id);
    await ready();
    const written = await database.transact(async (send) => {
      await send({ sql: `SELECT FROM ${schema}.caller_revision FOR UPDATE`, values: [] });
      // A statement of its own, because the time and the caller must be read after the lock.
      const [row] = await send({
        sql: `SELECT ${schema}.to_ms(${toClock("$1")}) AS now_ms,
          (SELECT ${schema}.describe_caller(c) FROM ${schema}.callers c WHERE id = $2) AS caller`,
        values: [owner.now(), id],
      });
      const now = readNumber(row, "now_ms");
      const update = toUpdate(row?.["caller"] === null ? undefined : readCallerColumn(row), now);
      if (update === undefined) return undefined;
      checkCallerUpdate(id, update);
      const { caller, audit } = update;
      await send({
        sql: `SELECT ${schema}.write_caller($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        values: [
          id,
          caller.settings,
          JSON.stringify(caller.keys),
          caller.revokedAt ?? null,
          now,
          audit.by,
          audit.action,
          audit.details,
          owner.id,
        ],
      });
      return await selectCaller(send, id);
    });
    if (written !== undefined) notifications.tell([{ kind: "caller", id }]);
    return written;
  }

  return {
    create: async (id, create) =>
      await change(id, (caller, now) => (caller === undefined ? create(now) : undefined)),
    change: async (id, toUpdate) => await change(id, (caller, now) => caller && toUpdate(caller, now)),
    lookUp: async (hashes) => {
      await ready();
      const [row] = await database.call(() => ({
        sql: `SELECT * FROM ${schema}.look_up_callers($1, $2)`,
        values: [hashes, owner.now()],
      }));
      const callers = row?.["callers"] === null ? [] : parseJson(readText(row, "callers"));
      return {
        revision: readNumber(row, "revision"),
        now: readNumber(row, "now_ms"),
        callers: readArray(callers).map(readCaller),
      };
    },
    find: async (id) => {
      await ready();
      const [row] = await database.run({
        sql: `SELECT ${schema}.describe_caller(c) AS caller FROM ${schema}.callers c WHERE id = $1`,
        values: [id],
      });
      return row && readCallerColumn(row);
    },
    list: async ({ limit, after = "" }) => {
      await ready();
      // No id is empty.
      const rows = await database.run({
        sql: `SELECT ${schema}.describe_caller(c) AS caller FROM ${schema}.callers c WHERE id > $1 ORDER BY id LIMIT $2`,
        values: [after, limit],
      });
      return rows.map(readCallerColumn);
    },
    audit: async ({ limit, caller, before }) => {
      await ready();
      const rows = await database.run({
        sql: `SELECT sequence, ${schema}.to_ms(time) AS time, made_by, action, caller, details FROM ${schema}.caller_audit
          WHERE ($1::text IS NULL OR caller = $1) AND ($2::bigint IS NULL OR sequence < $2)
          ORDER BY sequence DESC LIMIT $3`,
        values: [caller ?? null, before ?? null, limit],
      });
      return rows.map(readLine);
    },
    pruneAudit: async (before) => {
      await ready();
      for (let removed = 0; ; ) {
        const rows = await database.run({
          sql: `DELETE FROM ${schema}.caller_audit WHERE sequence IN (
            SELECT sequence FROM ${schema}.caller_audit WHERE time < to_timestamp($1::float8 / 1000)
              ORDER BY sequence LIMIT ${BATCH}
          ) RETURNING sequence`,
          values: [before],
        });
        removed += rows.length;
        if (rows.length < BATCH) return removed;
      }
    },
    watch: (listener) =>
      notifications.watch((told) => {
        if (told.kind === "caller") listener({ id: told.id });
      }),
  };
}

/** The maximum number of lines that one transaction removes, so that it is short. */
const BATCH = 5_000;

type JsonFields = Readonly<Record<string, unknown>>;

const readCallerColumn = (row: Row): StoredCaller => readCaller(parseJson(readText(row, "caller")));

function readCaller(value: unknown): StoredCaller {
  const fields = readObject(value);
  const revokedAt = readOptionalTime(fields, "revokedAt");
  return {
    id: readString(fields, "id"),
    settings: readString(fields, "settings"),
    keys: readArray(fields["keys"]).map(readKey),
    createdAt: readTime(fields, "createdAt"),
    changedAt: readTime(fields, "changedAt"),
    ...(revokedAt !== undefined && { revokedAt }),
  };
}

function readKey(value: unknown): StoredKey {
  const fields = readObject(value);
  const endsAt = readOptionalTime(fields, "endsAt");
  return {
    hash: readString(fields, "hash"),
    hint: readString(fields, "hint"),
    createdAt: readTime(fields, "createdAt"),
    ...(endsAt !== undefined && { endsAt }),
  };
}

const ACTIONS = ["create", "change", "rotate", "revoke"] as const;

function readLine(row: Row): CallerAuditLine {
  const action = ACTIONS.find((known) => known === row?.["action"]);
  if (action === undefined) throw unexpected("action", row?.["action"]);
  return {
    sequence: readNumber(row, "sequence"),
    time: readNumber(row, "time"),
    by: readText(row, "made_by"),
    action,
    caller: readText(row, "caller"),
    details: readText(row, "details"),
  };
}

function parseJson(json: string): unknown {
  return JSON.parse(json);
}

function readObject(value: unknown): JsonFields {
  if (typeof value !== "object" || value === null) throw unexpected("a caller", value);
  return { ...value };
}

function readArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected("keys", value);
  return value;
}

function readString(fields: JsonFields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw unexpected(name, value);
  return value;
}

function readTime(fields: JsonFields, name: string): number {
  const value = fields[name];
  if (typeof value !== "number") throw unexpected(name, value);
  return value;
}

function readOptionalTime(fields: JsonFields, name: string): number | undefined {
  return fields[name] === null ? undefined : readTime(fields, name);
}

function unexpected(name: string, value: unknown): TypeError {
  return new TypeError(`The ledger's tables are not as they should be: ${name} is ${typeof value}.`);
}
