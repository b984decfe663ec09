import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import {
  type AlertFilter,
  type BudgetAlert,
  checkWebhookAttempt,
  createAlert,
  createTakenRecords,
  type KnownAlert,
  type LeaseOptions,
  MAX_ALERT_AGE_MS,
  type NewAlertMessage,
  type OutboxKind,
  type StoredAlert,
  type TakenRecords,
  toStoredName,
  type UsageRecord,
  type WebhookAttempt,
  type WebhookEndpointName,
  type WebhookEntry,
  type WebhookFilter,
  type WebhookMessage,
} from "@calotype/core/stores";
import { type Row, readNumber, readNumberOrNull, readText, readTextOrNull } from "./read-column.js";
import { readOneOf, readTask } from "./task-rows.js";

/** The outbox in the database. All but the methods that only read run inside a transaction. */
export interface EntryTable {
  /** Adds a record to be delivered. It replaces an older version, and becomes the newest. */
  addRecord(id: string, state: UsageRecord["state"]): void;
  addAlert(alert: Omit<StoredAlert, "at">): void;
  /** Writes a message for each endpoint. */
  addTaskMessages(
    task: { readonly sequence: number; readonly caller: string },
    endpoints: readonly string[],
  ): void;
  addAlertMessages(alert: BudgetAlert, messages: readonly NewAlertMessage[]): void;
  /** Deletes the messages of a task. They are not sent. */
  removeOfTask(task: number): void;
  /** Forgets alerts that waited for too long, and messages about such alerts. */
  removeOld(): void;
  /** Whether an alert can be leased now. Only reads. */
  hasAlert(): boolean;
  /** Whether a message can be leased now. Only reads. */
  hasMessage(except: LeaseOptions["except"]): boolean;
  /** Whether a record can be leased now. Only reads. */
  hasRecord(): boolean;
  leaseRecords(options: LeaseOptions): TakenRecords;
  /** The same, without the records of callers with a record before them that is leased. */
  leaseInOrder(options: LeaseOptions): TakenRecords;
  leaseAlerts(options: LeaseOptions): BudgetAlert[];
  leaseMessages(options: LeaseOptions): WebhookEntry[];
  endRecord(record: UsageRecord): void;
  endAlert(alert: BudgetAlert): void;
  /** Only reads. */
  listAlerts(filter: AlertFilter, limit: number): KnownAlert[];
  finish(id: string, attempt: WebhookAttempt): void;
  /** Only reads. */
  list(filter: WebhookFilter, limit: number): WebhookMessage[];
  replay(filter: WebhookFilter): number;
  setDisabled(name: WebhookEndpointName, isDisabled: boolean): void;
  /** Only reads. */
  listDisabled(): WebhookEndpointName[];
}

/**
 * The table `outbox`. Records are deleted when they were delivered. Alerts then have the kind `delivered_alert`, so that no search for
 * what is due reads them. Messages are kept. `webhook_queues` has a row for each
 * endpoint that has something to send, so that an endpoint that is busy or disabled costs nothing, however many messages wait for it.
 */
export function createEntryTable(
  database: DatabaseSync,
  now: () => number,
  onAdded: (kind: "alert" | "message") => void,
): EntryTable {
  const insert = database.prepare(INSERT);
  const select = { record: database.prepare(SELECT_RECORDS), alert: database.prepare(SELECT_ALERTS) };
  const selectInOrder = database.prepare(SELECT_IN_ORDER);
  const selectQueues = database.prepare(SELECT_QUEUES);
  const selectFirst = database.prepare(SELECT_FIRST_MESSAGE);
  const selectById = database.prepare(`SELECT ${COLUMNS} ${FROM} WHERE e.kind = 'message' AND e.id = ?`);
  const selectTask = database.prepare("SELECT * FROM tasks WHERE sequence = ?");
  const endAlert = database.prepare(
    "UPDATE outbox SET kind = 'delivered_alert', state = 'delivered' WHERE kind = 'alert' AND id = ?",
  );
  const selectAlerts = database.prepare(SELECT_KNOWN_ALERTS);
  const removeRecord = database.prepare("DELETE FROM outbox WHERE kind = 'record' AND id = ? AND state = ?");
  const removeOfTask = database.prepare("DELETE FROM outbox WHERE task = ?");
  const removeOld = database.prepare("DELETE FROM outbox WHERE created_at < ? RETURNING caller, endpoint");
  const lease = database.prepare("UPDATE outbox SET due_at = ? WHERE sequence = ?");
  const update = database.prepare(
    "UPDATE outbox SET state = ?, attempts = attempts + 1, due_at = ?, last_error = ? WHERE sequence = ?",
  );
  const disable = database.prepare(
    "INSERT OR IGNORE INTO disabled_webhooks (caller, endpoint) VALUES (?, ?)",
  );
  const enable = database.prepare("DELETE FROM disabled_webhooks WHERE caller = ? AND endpoint = ?");
  const selectDisabled = database.prepare("SELECT caller, endpoint FROM disabled_webhooks");
  const removeQueue = database.prepare("DELETE FROM webhook_queues WHERE caller = ? AND endpoint = ?");
  const addQueue = database.prepare(ADD_QUEUE);

  function add(kind: OutboxKind, id: string, values: Partial<typeof NOTHING>): void {
    insert.run({ ...NOTHING, kind, id, ...values });
    if (kind !== "record") onAdded(kind);
  }

  /** To be called after each change of a message. */
  function refreshQueue({ caller, endpoint }: WebhookEndpointName): void {
    removeQueue.run(caller, endpoint);
    addQueue.run({ caller, endpoint });
  }

  /** The endpoint whose first message waits longest, and since when. */
  function findQueue(excluded: ReadonlySet<string>, from = 0): DueEndpoint | undefined {
    for (const row of selectQueues.iterate(from, Math.floor(now()))) {
      const name = readName(row);
      const isExcluded = excluded.has(keyOf(name)) || excluded.has(keyOf({ caller: name.caller }));
      if (!isExcluded) return { ...name, nextAt: readNumber(row, "next_at") };
    }
    return undefined;
  }

  /** Leases records or alerts that come after a position in the order in which they were written. */
  function leaseInOrder(kind: "record" | "alert", behind: number, { limit, leaseMs }: LeaseOptions): Row[] {
    const instant = now();
    const rows = select[kind].all(Math.floor(instant), behind, limit);
    for (const row of rows) lease.run(Math.ceil(instant + leaseMs), readNumber(row, "sequence"));
    return rows;
  }

  function readEntry(row: Row): WebhookEntry {
    const message = readMessage(row);
    const task = readNumberOrNull(row, "task_sequence");
    const about = task === null ? { alert: readAlert(row) } : { task: readTask(selectTask.get(task)) };
    return { id: message.id, message, ...about };
  }

  return {
    addRecord: (id, state) => add("record", id, { state }),
    addAlert: (alert) => {
      const at = Math.floor(now());
      const { id } = createAlert({ ...alert, at });
      add("alert", id, { ...toColumns(alert), created_at: at });
    },
    addTaskMessages: ({ sequence, caller }, endpoints) => {
      for (const endpoint of endpoints) {
        const id = `msg_${randomUUID().replaceAll("-", "")}`;
        add("message", id, { caller, endpoint, task: sequence, due_at: Math.floor(now()) });
        refreshQueue({ caller, endpoint });
      }
    },
    addAlertMessages: (alert, messages) => {
      const { caller, time } = alert;
      const columns = toColumns({ ...toStoredName(alert), budget: alert.budget, settled: alert.settled });
      for (const { id, endpoint } of messages) {
        if (selectById.get(id) !== undefined) continue;
        add("message", id, { ...columns, endpoint, created_at: Date.parse(time), due_at: Math.floor(now()) });
        refreshQueue({ caller, endpoint });
      }
    },
    removeOfTask: (task) => void removeOfTask.run(task),
    removeOld: () => {
      for (const row of removeOld.all(Math.floor(now() - MAX_ALERT_AGE_MS))) {
        if (readTextOrNull(row, "endpoint") !== null) refreshQueue(readName(row));
      }
    },
    hasAlert: () => select.alert.get(Math.floor(now()), 0, 1) !== undefined,
    hasMessage: (except = []) => findQueue(new Set(except.map(keyOf))) !== undefined,
    leaseRecords: ({ limit, leaseMs }) => {
      const taken = createTakenRecords(limit);
      let rows: Row[] = [];
      do {
        const behind = rows.length === 0 ? 0 : readNumber(rows.at(-1), "sequence");
        rows = leaseInOrder("record", behind, { limit: taken.countWanted(), leaseMs });
      } while (taken.add(rows.map((row) => ({ id: readText(row, "id"), json: readText(row, "record") }))));
      return taken;
    },
    hasRecord: () => select.record.get(Math.floor(now()), 0, 1) !== undefined,
    leaseInOrder: ({ limit, leaseMs }) => {
      const instant = now();
      const isLeased = new Set<string>();
      const due: Row[] = [];
      for (const row of selectInOrder.iterate(MAX_LOOKED_AT)) {
        const caller = readText(row, "caller");
        if (readNumber(row, "due_at") > Math.floor(instant)) isLeased.add(caller);
        else if (!isLeased.has(caller)) due.push(row);
        if (due.length >= limit) break;
      }
      for (const row of due) lease.run(Math.ceil(instant + leaseMs), readNumber(row, "sequence"));
      const taken = createTakenRecords(limit);
      taken.add(due.map((row) => ({ id: readText(row, "id"), json: readText(row, "record") })));
      return taken;
    },
    leaseAlerts: (options) => leaseInOrder("alert", 0, options).map(readAlert),
    leaseMessages: ({ limit, leaseMs, except = [] }) => {
      const excluded = new Set(except.map(keyOf));
      const taken: WebhookEntry[] = [];
      let queue = findQueue(excluded);
      // All endpoints before the one that was found are left out, so the next search begins there.
      for (; queue !== undefined && taken.length < limit; queue = findQueue(excluded, queue.nextAt)) {
        const row = selectFirst.get(queue.caller, queue.endpoint);
        // At least a millisecond, so that this call does not return the message again.
        const nextAt = Math.ceil(now() + Math.max(leaseMs, 1));
        lease.run(nextAt, readNumber(row, "sequence"));
        refreshQueue(queue);
        const entry = readEntry(row);
        taken.push({ ...entry, message: { ...entry.message, nextAt } });
      }
      return taken;
    },
    endRecord: ({ id, state }) => void removeRecord.run(id, state),
    endAlert: ({ id }) => void endAlert.run(id),
    listAlerts: ({ caller = null }, limit) =>
      selectAlerts
        .all(caller, caller, limit)
        .map((row) => ({ ...readAlert(row), state: readOneOf(row, "alert_state", STATES) })),
    finish: (id, attempt) => {
      checkWebhookAttempt(attempt);
      const row = selectById.get(id);
      if (row === undefined) return;
      const { state, caller, endpoint, nextAt } = readMessage(row);
      if (state === "delivered" || (state === "given_up" && attempt.kind !== "delivered")) return;
      const sequence = readNumber(row, "sequence");
      if (attempt.kind === "delivered") update.run("delivered", nextAt, null, sequence);
      else if (attempt.kind === "given_up") update.run("given_up", nextAt, attempt.error, sequence);
      else update.run("waiting", Math.ceil(now() + attempt.delayMs), attempt.error, sequence);
      refreshQueue({ caller, endpoint });
    },
    list: (filter, limit) => {
      const { condition, values } = toCondition(filter);
      const sql = `SELECT ${COLUMNS} ${FROM} WHERE ${condition} ORDER BY e.sequence DESC LIMIT ?`;
      return database
        .prepare(sql)
        .all(...values, limit)
        .map(readMessage);
    },
    replay: (filter) => {
      const { condition, values } = toCondition(filter);
      const rows = database
        .prepare(
          `UPDATE outbox SET state = 'waiting', attempts = 0, due_at = ?, last_error = NULL
           WHERE sequence IN (SELECT e.sequence ${FROM} WHERE ${condition}) RETURNING caller, endpoint`,
        )
        .all(Math.floor(now()), ...values);
      const changed = new Map(rows.map(readName).map((name) => [keyOf(name), name]));
      for (const name of changed.values()) refreshQueue(name);
      if (rows.length > 0) onAdded("message");
      return rows.length;
    },
    setDisabled: (name, isDisabled) => {
      (isDisabled ? disable : enable).run(name.caller, name.endpoint);
      refreshQueue(name);
      if (!isDisabled) onAdded("message");
    },
    listDisabled: () => selectDisabled.all().map(readName),
  };
}

/** The columns of an entry that has none of them. */
const NOTHING = {
  state: "waiting" as string,
  due_at: 0,
  caller: null as string | null,
  endpoint: null as string | null,
  task: null as number | null,
  period: null as string | null,
  threshold: null as number | null,
  budget: null as string | null,
  settled: null as string | null,
  created_at: null as number | null,
};

/** A replaced record gets a new sequence, so that it is delivered as the newest. */
const INSERT = `INSERT OR REPLACE INTO outbox (kind, id, ${Object.keys(NOTHING).join(", ")})
  VALUES (:kind, :id, ${Object.keys(NOTHING)
    .map((name) => `:${name}`)
    .join(", ")})`;

/** Records that are due, after a position in the order in which they were written. */
export const SELECT_RECORDS = `SELECT e.sequence, e.id, r.record FROM outbox AS e JOIN records AS r ON r.id = e.id
  WHERE e.kind = 'record' AND e.due_at <= ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?`;

/** The oldest records, also those that are leased. */
const SELECT_IN_ORDER = `SELECT e.sequence, e.due_at, e.id, r.caller, r.record
  FROM outbox AS e JOIN records AS r ON r.id = e.id WHERE e.kind = 'record' ORDER BY e.sequence LIMIT ?`;

/** How many records are looked at for those whose callers have no leased record. */
const MAX_LOOKED_AT = 10_000;

const ALERT_COLUMNS = "e.caller, e.period, e.threshold, e.budget, e.settled, e.created_at";

const SELECT_ALERTS = `SELECT e.sequence, ${ALERT_COLUMNS} FROM outbox AS e
  WHERE e.kind = 'alert' AND e.due_at <= ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?`;

/** Alerts, the newest first, with the state of their messages. A message has the time of its alert. */
const SELECT_KNOWN_ALERTS = `SELECT ${ALERT_COLUMNS}, CASE
      WHEN e.state = 'waiting' OR 'waiting' IN messages THEN 'waiting'
      WHEN 'given_up' IN messages THEN 'given_up' ELSE 'delivered' END AS alert_state
  FROM outbox AS e WHERE +e.kind IN ('alert', 'delivered_alert') AND e.created_at IS NOT NULL AND (? IS NULL OR e.caller = ?)
  ORDER BY e.created_at DESC, e.sequence DESC LIMIT ?`.replaceAll(
  "messages",
  `(SELECT m.state FROM outbox AS m WHERE m.kind = 'message' AND m.created_at = e.created_at AND m.caller = e.caller
    AND m.period = e.period AND m.threshold = e.threshold)`,
);

/** The endpoints with a message that is due, the longest waiting first. */
const SELECT_QUEUES = `SELECT caller, endpoint, next_at FROM webhook_queues WHERE next_at >= ? AND next_at <= ?
  ORDER BY next_at`;

const ADD_QUEUE = `INSERT INTO webhook_queues (caller, endpoint, next_at)
  SELECT caller, endpoint, due_at FROM outbox
  WHERE kind = 'message' AND caller = :caller AND endpoint = :endpoint AND state = 'waiting'
    AND NOT EXISTS (SELECT 1 FROM disabled_webhooks WHERE caller = :caller AND endpoint = :endpoint)
  ORDER BY due_at LIMIT 1`;

interface DueEndpoint extends WebhookEndpointName {
  readonly nextAt: number;
}

const COLUMNS = `e.sequence, e.id, task.id AS task, e.task AS task_sequence, ${ALERT_COLUMNS}, e.endpoint, e.state,
  e.attempts, e.due_at, e.last_error`;
const FROM = "FROM outbox AS e LEFT JOIN tasks AS task ON task.sequence = e.task";

/** The message of an endpoint that waits longest. */
const SELECT_FIRST_MESSAGE = `SELECT ${COLUMNS} ${FROM}
  WHERE e.kind = 'message' AND e.caller = ? AND e.endpoint = ? AND e.state = 'waiting'
  ORDER BY e.due_at, e.sequence LIMIT 1`;

function readMessage(row: Row): WebhookMessage {
  const lastError = readTextOrNull(row, "last_error");
  const task = readTextOrNull(row, "task");
  return {
    id: readText(row, "id"),
    ...(task === null ? { alert: readAlert(row).id } : { task }),
    caller: readText(row, "caller"),
    endpoint: readText(row, "endpoint"),
    state: readOneOf(row, "state", STATES),
    attempts: readNumber(row, "attempts"),
    nextAt: readNumber(row, "due_at"),
    ...(lastError !== null && { lastError }),
  };
}

const STATES: readonly WebhookMessage["state"][] = ["waiting", "delivered", "given_up"];

function readAlert(row: Row): BudgetAlert {
  return createAlert({
    caller: readText(row, "caller"),
    periodKey: readText(row, "period"),
    threshold: readNumber(row, "threshold"),
    budget: readText(row, "budget"),
    settled: readText(row, "settled"),
    at: readNumber(row, "created_at"),
  });
}

const toColumns = ({ caller, periodKey, threshold, budget, settled }: Omit<StoredAlert, "at">) => ({
  caller,
  period: periodKey,
  threshold,
  budget,
  settled,
});

const readName = (row: Row): WebhookEndpointName => ({
  caller: readText(row, "caller"),
  endpoint: readText(row, "endpoint"),
});

/** Without `endpoint`, the key of all endpoints of the caller. */
const keyOf = ({ caller, endpoint }: NonNullable<LeaseOptions["except"]>[number]): string =>
  JSON.stringify([caller, endpoint]);

/** The contents of a filter are always values, never SQL. */
function toCondition({ caller, endpoint, task, state }: WebhookFilter): {
  readonly condition: string;
  readonly values: readonly string[];
} {
  const tests: [string, string | undefined][] = [
    ["e.caller = ?", caller],
    ["e.endpoint = ?", endpoint],
    ["task.id = ?", task],
    ["e.state = ?", state],
  ];
  const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    condition: ["e.kind = 'message'", ...given.map(({ sql }) => sql)].join(" AND "),
    values: given.map(({ value }) => value),
  };
}
