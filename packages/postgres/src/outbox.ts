import { randomUUID } from "node:crypto";
import {
  type BudgetAlert,
  checkWebhookAttempt,
  createAlert,
  createTakenRecords,
  isName,
  type LeaseOptions,
  type Outbox,
  type OutboxEntries,
  type OutboxKind,
  toStoredName,
  type UsageRecord,
  type WebhookEntry,
  type WebhookFilter,
  type WebhookMessage,
} from "@calotype/core/stores";
import { type Database, type Row, readNumber, readText, toClock } from "./database.js";
import { lockKeyOf } from "./migrate.js";
import type { Notifications } from "./notifications.js";
import type { Readers } from "./outbox-readers.js";
import type { Owner } from "./owner.js";
import { readOneOf, readOptional, readTask, taskColumns, toMs } from "./task-rows.js";

/** What an outbox works with. */
export interface OutboxContext {
  readonly schema: string;
  readonly owner: Owner;
  readonly notifications: Pick<Notifications, "tell" | "watch">;
  readonly readers: Readers;
  readonly ready: () => Promise<void>;
}

/** The maximum number of messages that one transaction replays. */
const BATCH = 1000;
/** How many records are looked at for those whose callers have no leased record. */
const MAX_LOOKED_AT = 10_000;
/** Of a leased entry `l` and its record `r`. */
const RECORD_COLUMNS = "l.record AS id, r.record::text AS record";

/** The outbox of a schema. The functions that settle and that end tasks write its entries. */
export function createOutbox(
  database: Database,
  { schema, owner, notifications, readers, ready }: OutboxContext,
): Outbox {
  const table = `${schema}.outbox_entries`;

  /**
   * Leases the oldest entries after a position in the order. Skips entries that another process is leasing at the same time.
   *
   * @param columns of the leased entries `l`
   */
  const leaseInOrder = async (
    {
      condition,
      columns,
      join = "",
    }: { readonly condition: string; readonly columns: string; readonly join?: string },
    { behind, limit, leaseMs }: { readonly behind: string; readonly limit: number; readonly leaseMs: number },
  ): Promise<readonly Row[]> =>
    await database.run({
      sql: `WITH due AS (
          SELECT sequence FROM ${table} WHERE ${condition} AND due_at <= ${toClock("$1")} AND sequence > $4
            ORDER BY sequence LIMIT $2 FOR UPDATE SKIP LOCKED
        ), leased AS (
          UPDATE ${table} e SET due_at = ${toClock("$1")} + $3::float8 * interval '1 millisecond'
            FROM due WHERE e.sequence = due.sequence RETURNING e.*
        )
        SELECT l.sequence, ${columns} FROM leased l ${join} ORDER BY l.sequence`,
      values: [owner.now(), limit, leaseMs, behind],
    });

  const joinRecord = (entry: string): string =>
    `JOIN ${schema}.records r ON r.id = ${entry}.record AND r.state = ${entry}.state`;

  /** One call at a time: which callers have a leased record must not change in between. */
  async function leaseRecordsInOrder({ limit, leaseMs, onUnreadable }: LeaseOptions): Promise<UsageRecord[]> {
    const rows = await database.transact(async (send) => {
      await send({ sql: "SELECT pg_advisory_xact_lock($1)", values: [lockKeyOf(`${schema} outbox`)] });
      return await send({
        sql: `WITH oldest AS MATERIALIZED (
            SELECT sequence, record, state, due_at > ${toClock("$1")} AS is_leased
              FROM ${table} WHERE record IS NOT NULL ORDER BY sequence LIMIT ${MAX_LOOKED_AT}
          ), busy AS MATERIALIZED (
            SELECT DISTINCT r.caller FROM oldest o ${joinRecord("o")} WHERE o.is_leased
          ), due AS (
            SELECT o.sequence FROM oldest o ${joinRecord("o")}
              WHERE NOT o.is_leased AND r.caller NOT IN (SELECT caller FROM busy) ORDER BY o.sequence LIMIT $2
          ), leased AS (
            UPDATE ${table} e SET due_at = ${toClock("$1")} + $3::float8 * interval '1 millisecond'
              FROM due WHERE e.sequence = due.sequence RETURNING e.*
          )
          SELECT l.sequence, ${RECORD_COLUMNS} FROM leased l ${joinRecord("l")} ORDER BY l.sequence`,
        values: [owner.now(), limit, leaseMs],
      });
    });
    const taken = createTakenRecords(limit);
    taken.add(rows.map((row) => ({ id: readText(row, "id"), json: readText(row, "record") })));
    for (const failure of taken.failures) onUnreadable?.(failure);
    return taken.records;
  }

  async function leaseRecords({ limit, leaseMs, onUnreadable }: LeaseOptions): Promise<UsageRecord[]> {
    const taken = createTakenRecords(limit);
    let behind = "0";
    let rows: readonly Row[];
    do {
      rows = await database.run({
        sql: `SELECT sequence, id, record::text AS record FROM ${schema}.lease_records($1, $2, $3, $4)`,
        values: [taken.countWanted(), leaseMs, behind, owner.now()],
      });
      behind = rows.length === 0 ? behind : readText(rows.at(-1), "sequence");
      rows = await readMissed(rows);
    } while (taken.add(rows.map((row) => ({ id: readText(row, "id"), json: readText(row, "record") }))));
    for (const failure of taken.failures) onUnreadable?.(failure);
    return taken.records;
  }

  /**
   * Reads the records again that a lease has not found, in all months. Their entries have no time, or the lease was planned before the
   * partition of a month was made, and ran after the month's records had moved there.
   */
  async function readMissed(rows: readonly Row[]): Promise<readonly Row[]> {
    const missed = rows.filter((row) => row?.["record"] === null).map((row) => readText(row, "sequence"));
    if (missed.length === 0) return rows;
    const found = await database.run({
      sql: `SELECT l.sequence, ${RECORD_COLUMNS} FROM ${table} l ${joinRecord("l")} WHERE l.sequence = ANY ($1::bigint[])`,
      values: [missed],
    });
    return [...rows.filter((row) => row?.["record"] !== null), ...found];
  }

  async function leaseMessages({ limit, leaseMs, except = [] }: LeaseOptions): Promise<WebhookEntry[]> {
    const endpoints = except.filter(
      ({ caller, endpoint }) => isName(caller) && (endpoint === undefined || isName(endpoint)),
    );
    const rows = await database.call(() => ({
      sql: `SELECT ${messageColumns("(w.message)")}, ${taskColumns("(w.task)")}
        FROM ${schema}.lease_messages($1, $2, $3, $4, $5) w`,
      values: [
        limit,
        leaseMs,
        endpoints.map(({ caller }) => caller),
        endpoints.map(({ endpoint }) => endpoint ?? null),
        owner.now(),
      ],
    }));
    return rows.map((row) => {
      const message = readMessage(row);
      const about = message.task === undefined ? { alert: readAlert(row) } : { task: readTask(row) };
      return { id: message.id, message, ...about };
    });
  }

  const leases: { [Kind in OutboxKind]: (options: LeaseOptions) => Promise<readonly OutboxEntries[Kind][]> } =
    {
      record: leaseRecords,
      alert: async ({ limit, leaseMs }) => {
        const select = {
          condition: "threshold IS NOT NULL AND endpoint IS NULL AND state IS NULL",
          columns: alertColumns("l"),
        };
        const rows = await leaseInOrder(select, { behind: "0", limit, leaseMs });
        return rows.map(readAlert);
      },
      message: leaseMessages,
    };

  const ends: {
    [Kind in "record" | "alert"]: (entries: readonly OutboxEntries[Kind][]) => Promise<unknown>;
  } = {
    // A record has one version of each state at most.
    record: (records) =>
      database.run({
        sql: `DELETE FROM ${table} e USING unnest($1::text[], $2::text[]) AS d (id, state)
          WHERE e.record = d.id AND e.state = d.state`,
        values: [records.map(({ id }) => id), records.map(({ state }) => state)],
      }),
    alert: (alerts) => {
      const names = alerts.map(toStoredName);
      return database.run({
        // Processes of an older version do not look at the state of an alert, only at the time when it is due.
        sql: `UPDATE ${table} e SET state = 'delivered', due_at = 'infinity'
          FROM unnest($1::text[], $2::text[], $3::int[]) AS d (caller, period, threshold)
          WHERE e.threshold IS NOT NULL AND e.endpoint IS NULL AND e.caller = d.caller AND e.period = d.period AND e.threshold = d.threshold`,
        values: [
          names.map(({ caller }) => caller),
          names.map(({ periodKey }) => periodKey),
          names.map(({ threshold }) => threshold),
        ],
      });
    },
  };

  /** Makes messages after a position in the order of writing wait again. Returns their positions. */
  async function replayAfter(place: string, filter: WebhookFilter): Promise<string[]> {
    const { condition, values } = toCondition(filter, 3);
    const rows = await database.run({
      sql: `WITH page AS (
          SELECT m.sequence FROM ${table} m WHERE m.endpoint IS NOT NULL AND m.sequence > $1 AND ${condition}
            ORDER BY m.sequence LIMIT ${BATCH} FOR UPDATE
        ), replayed AS (
          UPDATE ${table} m
            SET state = 'waiting', attempts = 0, last_error = NULL, due_at = date_trunc('milliseconds', ${toClock("$2")})
            FROM page WHERE m.sequence = page.sequence RETURNING page.sequence
        )
        SELECT sequence FROM replayed ORDER BY sequence`,
      values: [place, owner.now(), ...values],
    });
    return rows.map((row) => readText(row, "sequence"));
  }

  return {
    lease: async (kind, options) => {
      if (kind !== "message") readers.set(kind, true);
      await ready();
      return await leases[kind](options);
    },
    leaseInOrder: async (options) => {
      await ready();
      return await leaseRecordsInOrder(options);
    },
    done: async (kind, entries) => {
      if (entries.length === 0) return;
      await ready();
      await ends[kind](entries);
    },
    finish: async (id, attempt) => {
      checkWebhookAttempt(attempt);
      await ready();
      if (!isName(id)) return;
      const { kind } = attempt;
      // The same in each try of this call.
      const number = randomUUID();
      const delayMs = kind === "retry" ? attempt.delayMs : 0;
      const error = kind === "delivered" ? null : attempt.error;
      await database.call(() => ({
        sql: `SELECT ${schema}.finish_message($1, $2, $3, $4, $5, $6)`,
        values: [id, number, kind, delayMs, error, owner.now()],
      }));
    },
    addMessages: async (alert, messages) => {
      if (messages.length === 0) return;
      await ready();
      const { periodKey } = toStoredName(alert);
      await database.run({
        sql: `INSERT INTO ${table} (id, endpoint, task, state, due_at, caller, period, threshold, budget, settled, created_at)
          SELECT n.id, n.endpoint, '', 'waiting', date_trunc('milliseconds', ${toClock("$3")}), $4, $5, $6, $7, $8, $9::timestamptz
            FROM unnest($1::text[], $2::text[]) AS n (id, endpoint)
          ON CONFLICT DO NOTHING`,
        values: [
          messages.map(({ id }) => id),
          messages.map(({ endpoint }) => endpoint),
          owner.now(),
          alert.caller,
          periodKey,
          alert.threshold,
          alert.budget,
          alert.settled,
          alert.time,
        ],
      });
      notifications.tell([{ kind: "message" }]);
    },
    listAlerts: async ({ caller }, limit) => {
      await ready();
      if (!isPossible({ caller })) return [];
      const rows = await database.run({
        // A message has the time of its alert, in milliseconds.
        sql: `SELECT ${alertColumns("e")}, CASE
              WHEN e.state IS NULL OR 'waiting' = ANY (m.states) THEN 'waiting'
              WHEN 'given_up' = ANY (m.states) THEN 'given_up' ELSE 'delivered' END AS state
          FROM ${table} e, LATERAL (
            SELECT array_agg(m.state) AS states FROM ${table} m
              WHERE m.created_at = date_trunc('milliseconds', e.created_at) AND m.endpoint IS NOT NULL
                AND m.caller = e.caller AND m.period = e.period AND m.threshold = e.threshold
          ) m
          WHERE e.threshold IS NOT NULL AND e.endpoint IS NULL AND e.created_at IS NOT NULL AND ($2::text IS NULL OR e.caller = $2)
          ORDER BY e.created_at DESC, e.sequence DESC LIMIT $1`,
        values: [limit, caller ?? null],
      });
      return rows.map((row) => ({ ...readAlert(row), state: readOneOf(row, "state", STATES) }));
    },
    list: async (filter, limit) => {
      await ready();
      if (!isPossible(filter)) return [];
      const { condition, values } = toCondition(filter, 2);
      const rows = await database.run({
        sql: `SELECT ${messageColumns("m")} FROM ${table} m WHERE m.endpoint IS NOT NULL AND ${condition}
          ORDER BY m.sequence DESC LIMIT $1`,
        values: [limit, ...values],
      });
      return rows.map(readMessage);
    },
    replay: async (filter) => {
      await ready();
      if (!isPossible(filter)) return 0;
      let count = 0;
      let places: string[] = [];
      do {
        places = await replayAfter(places.at(-1) ?? "0", filter);
        count += places.length;
      } while (places.length === BATCH);
      if (count === 0) return 0;
      notifications.tell([{ kind: "message" }]);
      return count;
    },
    setDisabled: async (caller, endpoint, isDisabled) => {
      await ready();
      if (!isPossible({ caller, endpoint })) return;
      if (isDisabled) {
        await database.run({
          sql: `INSERT INTO ${schema}.disabled_webhooks (caller, endpoint) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
          values: [caller, endpoint],
        });
        return;
      }
      await database.run({
        sql: `DELETE FROM ${schema}.disabled_webhooks WHERE caller = $1 AND endpoint = $2`,
        values: [caller, endpoint],
      });
      notifications.tell([{ kind: "message" }]);
    },
    listDisabled: async () => {
      await ready();
      const rows = await database.run({
        sql: `SELECT caller, endpoint FROM ${schema}.disabled_webhooks ORDER BY caller, endpoint`,
        values: [],
      });
      return rows.map((row) => ({ caller: readText(row, "caller"), endpoint: readText(row, "endpoint") }));
    },
    watch: (listener) =>
      notifications.watch(({ kind }) => {
        if (kind === "alert" || kind === "message") listener(kind);
      }),
  };
}

/** The columns that {@link readAlert} reads. Their names differ from those of a task. */
const alertColumns = (row: string): string => `
  ${row}.caller AS alert_caller, ${row}.period, ${row}.threshold, ${row}.budget, ${row}.settled,
  floor(extract(epoch FROM ${row}.created_at) * 1000) AS reached_at`;

function readAlert(row: Row): BudgetAlert {
  return createAlert({
    caller: readText(row, "alert_caller"),
    periodKey: readText(row, "period"),
    threshold: readNumber(row, "threshold"),
    budget: readText(row, "budget"),
    settled: readText(row, "settled"),
    at: readNumber(row, "reached_at"),
  });
}

/** The columns that {@link readMessage} reads. Their names differ from those of a task. */
const messageColumns = (row: string): string => `
  ${row}.id AS message_id, ${row}.task AS message_task, ${row}.endpoint, ${row}.state, ${row}.attempts,
  ${toMs(`${row}.due_at`)} AS due_at, ${row}.last_error, ${alertColumns(row)}`;

const STATES: readonly WebhookMessage["state"][] = ["waiting", "delivered", "given_up"];

function readMessage(row: Row): WebhookMessage {
  const lastError = readOptional(row, "last_error");
  // A message about an alert has its period.
  const isAboutTask = readOptional(row, "period") === undefined;
  return {
    id: readText(row, "message_id"),
    ...(isAboutTask ? { task: readText(row, "message_task") } : { alert: readAlert(row).id }),
    caller: readText(row, "alert_caller"),
    endpoint: readText(row, "endpoint"),
    state: readOneOf(row, "state", STATES),
    attempts: readNumber(row, "attempts"),
    nextAt: readNumber(row, "due_at"),
    ...(lastError !== undefined && { lastError }),
  };
}

/** Whether PostgreSQL can store the names of the filter. Others have no messages, and must not be sent to it. */
const isPossible = ({ caller, endpoint, task }: WebhookFilter): boolean =>
  [caller, endpoint, task].every((name) => name === undefined || isName(name));

/** The filter in SQL. Its values begin with this parameter. */
function toCondition(
  filter: WebhookFilter,
  first: number,
): { readonly condition: string; readonly values: readonly string[] } {
  const fields = (["caller", "endpoint", "task", "state"] as const).flatMap((field) => {
    const value = filter[field];
    return value === undefined ? [] : [{ field, value }];
  });
  const conditions = fields.map(({ field }, at) => `m.${field} = $${first + at}`);
  return { condition: ["true", ...conditions].join(" AND "), values: fields.map(({ value }) => value) };
}
