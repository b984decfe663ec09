import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import {
  checkWebhookAttempt,
  type WebhookAttempt,
  type WebhookEndpointName,
  type WebhookFilter,
  type WebhookMessage,
  type WebhookTakeOptions,
} from "@calotype/core/stores";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";
import { readOneOf } from "./task-rows.js";

/** The messages in the database. All but the methods that only read run inside a transaction. */
export interface Webhooks {
  /** Writes a message for each endpoint. */
  write(task: { readonly sequence: number; readonly caller: string }, endpoints: readonly string[]): void;
  /** Deletes the messages of a task, none of which is to be sent. */
  remove(task: number): void;
  /** Whether a message can be taken now. Only reads. */
  isDue(except: WebhookTakeOptions["except"]): boolean;
  take(options: WebhookTakeOptions): WebhookMessage[];
  finish(id: string, attempt: WebhookAttempt): void;
  /** Only reads. */
  list(filter: WebhookFilter, limit: number): WebhookMessage[];
  replay(filter: WebhookFilter): number;
  setDisabled(name: WebhookEndpointName, isDisabled: boolean): void;
  /** Only reads. */
  listDisabled(): WebhookEndpointName[];
}

/**
 * The messages in the database. `webhook_queues` has a row for each endpoint that has something to send, so that an endpoint
 * that is busy or disabled costs nothing, however many messages wait for it.
 */
export function createWebhooks(database: DatabaseSync, now: () => number): Webhooks {
  const insert = database.prepare(
    `INSERT INTO webhook_messages (id, task, caller, endpoint, state, attempts, next_at)
     VALUES (?, ?, ?, ?, 'waiting', 0, ?)`,
  );
  const selectQueues = database.prepare(SELECT_QUEUES);
  const selectFirst = database.prepare(SELECT_FIRST_MESSAGE);
  const selectById = database.prepare(`SELECT ${COLUMNS} ${FROM} WHERE message.id = ?`);
  const remove = database.prepare("DELETE FROM webhook_messages WHERE task = ?");
  const lease = database.prepare("UPDATE webhook_messages SET next_at = ? WHERE sequence = ?");
  const update = database.prepare(
    `UPDATE webhook_messages SET state = ?, attempts = attempts + 1, next_at = ?, last_error = ? WHERE sequence = ?`,
  );
  const disable = database.prepare(
    "INSERT OR IGNORE INTO disabled_webhooks (caller, endpoint) VALUES (?, ?)",
  );
  const enable = database.prepare("DELETE FROM disabled_webhooks WHERE caller = ? AND endpoint = ?");
  const selectDisabled = database.prepare("SELECT caller, endpoint FROM disabled_webhooks");
  const removeQueue = database.prepare("DELETE FROM webhook_queues WHERE caller = ? AND endpoint = ?");
  const addQueue = database.prepare(
    `INSERT INTO webhook_queues (caller, endpoint, next_at)
     SELECT caller, endpoint, next_at FROM webhook_messages
     WHERE caller = :caller AND endpoint = :endpoint AND state = 'waiting'
       AND NOT EXISTS (SELECT 1 FROM disabled_webhooks WHERE caller = :caller AND endpoint = :endpoint)
     ORDER BY next_at LIMIT 1`,
  );

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

  return {
    write: ({ sequence, caller }, endpoints) => {
      for (const endpoint of endpoints) {
        const id = `msg_${randomUUID().replaceAll("-", "")}`;
        insert.run(id, sequence, caller, endpoint, Math.floor(now()));
        refreshQueue({ caller, endpoint });
      }
    },
    remove: (task) => void remove.run(task),
    isDue: (except) => findQueue(new Set(except.map(keyOf))) !== undefined,
    take: ({ limit, leaseMs, except }) => {
      const excluded = new Set(except.map(keyOf));
      const taken: WebhookMessage[] = [];
      let queue = findQueue(excluded);
      // All endpoints before the one that was found are left out, so the next search begins there.
      for (; queue !== undefined && taken.length < limit; queue = findQueue(excluded, queue.nextAt)) {
        const row = selectFirst.get(queue.caller, queue.endpoint);
        // At least a millisecond, so that this call does not return the message again.
        const nextAt = Math.ceil(now() + Math.max(leaseMs, 1));
        lease.run(nextAt, readNumber(row, "sequence"));
        refreshQueue(queue);
        taken.push({ ...readMessage(row), nextAt });
      }
      return taken;
    },
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
      const sql = `SELECT ${COLUMNS} ${FROM} WHERE ${condition} ORDER BY message.sequence DESC LIMIT ?`;
      return database
        .prepare(sql)
        .all(...values, limit)
        .map(readMessage);
    },
    replay: (filter) => {
      const { condition, values } = toCondition(filter);
      const rows = database
        .prepare(
          `UPDATE webhook_messages SET state = 'waiting', attempts = 0, next_at = ?, last_error = NULL
           WHERE sequence IN (SELECT message.sequence ${FROM} WHERE ${condition}) RETURNING caller, endpoint`,
        )
        .all(Math.floor(now()), ...values);
      const changed = new Map(rows.map(readName).map((name) => [keyOf(name), name]));
      for (const name of changed.values()) refreshQueue(name);
      return rows.length;
    },
    setDisabled: (name, isDisabled) => {
      (isDisabled ? disable : enable).run(name.caller, name.endpoint);
      refreshQueue(name);
    },
    listDisabled: () => selectDisabled.all().map(readName),
  };
}

/** The endpoints with a message that is due, the longest waiting first. */
const SELECT_QUEUES = `SELECT caller, endpoint, next_at FROM webhook_queues WHERE next_at >= ? AND next_at <= ?
  ORDER BY next_at`;

interface DueEndpoint extends WebhookEndpointName {
  readonly nextAt: number;
}

const COLUMNS = `message.sequence, message.id, task.id AS task, message.caller,
  endpoint, state, attempts, next_at, last_error`;
const FROM = "FROM webhook_messages AS message JOIN tasks AS task ON task.sequence = message.task";

/** The message of an endpoint that waits longest. */
const SELECT_FIRST_MESSAGE = `SELECT ${COLUMNS} ${FROM}
  WHERE message.caller = ? AND endpoint = ? AND state = 'waiting' ORDER BY next_at, message.sequence LIMIT 1`;

function readMessage(row: Row): WebhookMessage {
  const lastError = readTextOrNull(row, "last_error");
  return {
    id: readText(row, "id"),
    task: readText(row, "task"),
    caller: readText(row, "caller"),
    endpoint: readText(row, "endpoint"),
    state: readOneOf(row, "state", STATES),
    attempts: readNumber(row, "attempts"),
    nextAt: readNumber(row, "next_at"),
    ...(lastError !== null && { lastError }),
  };
}

const STATES: readonly WebhookMessage["state"][] = ["waiting", "delivered", "given_up"];

const readName = (row: Row): WebhookEndpointName => ({
  caller: readText(row, "caller"),
  endpoint: readText(row, "endpoint"),
});

/** Without `endpoint`, the key of all endpoints of the caller. */
const keyOf = ({ caller, endpoint }: WebhookTakeOptions["except"][number]): string =>
  JSON.stringify([caller, endpoint]);

/** The contents of a filter are always values, never SQL. */
function toCondition({ caller, endpoint, task, state }: WebhookFilter): {
  readonly condition: string;
  readonly values: readonly string[];
} {
  const tests: [string, string | undefined][] = [
    ["message.caller = ?", caller],
    ["endpoint = ?", endpoint],
    ["task.id = ?", task],
    ["state = ?", state],
  ];
  const given = tests.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
  return {
    condition: ["TRUE", ...given.map(({ sql }) => sql)].join(" AND "),
    values: given.map(({ value }) => value),
  };
}
