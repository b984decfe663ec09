import { randomUUID } from "node:crypto";
import { checkWebhookAttempt, isName, type WebhookFilter, type WebhookStore } from "@calotype/core/stores";
import { type Database, readText, toClock } from "./database.js";
import type { Notifications } from "./notifications.js";
import type { Owner } from "./owner.js";
import { messageColumns, readMessage, readTask, taskColumns } from "./task-rows.js";

/** What webhooks work with. */
export interface WebhooksParts {
  readonly schema: string;
  readonly owner: Owner;
  readonly notifications: Pick<Notifications, "tell">;
  readonly ready: () => Promise<void>;
}

/** The maximum number of messages that one transaction replays. */
const BATCH = 1000;

/** The messages about the tasks of a schema. The functions that end tasks write them. */
export function createWebhooks(
  database: Database,
  { schema, owner, notifications, ready }: WebhooksParts,
): WebhookStore {
  const notify = `${schema}.tell($1, false, true, '{}')`;

  /** Makes messages after a position in the order of writing wait again. Returns their positions. */
  async function replayAfter(place: string, filter: WebhookFilter): Promise<string[]> {
    const { condition, values } = toCondition(filter, 3);
    const rows = await database.run({
      sql: `WITH page AS (
          SELECT m.id, m.sequence FROM ${schema}.webhook_messages m WHERE m.sequence > $1 AND ${condition}
            ORDER BY m.sequence LIMIT ${BATCH} FOR UPDATE
        ), replayed AS (
          UPDATE ${schema}.webhook_messages m
            SET state = 'waiting', attempts = 0, last_error = NULL, next_at = date_trunc('milliseconds', ${toClock("$2")})
            FROM page WHERE m.id = page.id RETURNING page.sequence
        )
        SELECT sequence FROM replayed ORDER BY sequence`,
      values: [place, owner.now(), ...values],
    });
    return rows.map((row) => readText(row, "sequence"));
  }

  return {
    take: async ({ limit, leaseMs, except }) => {
      await ready();
      const endpoints = except.filter(
        ({ caller, endpoint }) => isName(caller) && (endpoint === undefined || isName(endpoint)),
      );
      const rows = await database.call(() => ({
        sql: `SELECT ${messageColumns("(w.message)")}, ${taskColumns("(w.task)")}
          FROM ${schema}.take_messages($1, $2, $3, $4, $5) w`,
        values: [
          limit,
          leaseMs,
          endpoints.map(({ caller }) => caller),
          endpoints.map(({ endpoint }) => endpoint ?? null),
          owner.now(),
        ],
      }));
      return rows.map((row) => ({ message: readMessage(row), task: readTask(row) }));
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
    list: async (filter, limit) => {
      await ready();
      if (!isPossible(filter)) return [];
      const { condition, values } = toCondition(filter, 2);
      const rows = await database.run({
        sql: `SELECT ${messageColumns("m")} FROM ${schema}.webhook_messages m WHERE ${condition}
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
      await database.run({ sql: `SELECT ${notify}`, values: [owner.id] });
      notifications.tell([{ kind: "webhook" }]);
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
        sql: `WITH enabled AS (DELETE FROM ${schema}.disabled_webhooks WHERE caller = $2 AND endpoint = $3)
          SELECT ${notify}`,
        values: [owner.id, caller, endpoint],
      });
      notifications.tell([{ kind: "webhook" }]);
    },
    listDisabled: async () => {
      await ready();
      const rows = await database.run({
        sql: `SELECT caller, endpoint FROM ${schema}.disabled_webhooks ORDER BY caller, endpoint`,
        values: [],
      });
      return rows.map((row) => ({ caller: readText(row, "caller"), endpoint: readText(row, "endpoint") }));
    },
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
