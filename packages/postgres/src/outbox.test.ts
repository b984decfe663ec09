import { expect, it } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { createDatabase } from "./database.js";
import { migrate } from "./migrate.js";
import { MIGRATIONS } from "./migrations.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { completionOf, SWEEP, takeNames, taskOf } from "./testing/tasks.js";

/** The number of steps before the outbox. */
const BEFORE = 12;

const OPTIONS = { limit: 9, leaseMs: 0 };

/** The statements of the version before the outbox that read and write its tables. */
const OLD = {
  leaseRecords: `WITH due AS (
      SELECT sequence FROM {schema}.outbox WHERE leased_until <= clock_timestamp() AND sequence > 0
        ORDER BY sequence LIMIT 9 FOR UPDATE SKIP LOCKED
    ), leased AS (
      UPDATE {schema}.outbox o SET leased_until = clock_timestamp() + interval '1 hour'
        FROM due WHERE o.sequence = due.sequence RETURNING o.sequence, o.id, o.state
    )
    SELECT l.id FROM leased l JOIN {schema}.records r ON r.id = l.id AND r.state = l.state ORDER BY l.sequence`,
  markRecord: `DELETE FROM {schema}.outbox o USING unnest(ARRAY['req_1'], ARRAY['settled']) AS d (id, state)
    WHERE o.id = d.id AND o.state = d.state`,
  leaseAlerts: `WITH due AS (
      SELECT sequence FROM {schema}.budget_alerts WHERE leased_until <= clock_timestamp()
        ORDER BY sequence LIMIT 9 FOR UPDATE SKIP LOCKED
    ), leased AS (
      UPDATE {schema}.budget_alerts a SET leased_until = clock_timestamp() + interval '1 hour'
        FROM due WHERE a.sequence = due.sequence RETURNING a.*
    )
    SELECT caller AS id, threshold, budget, settled, created_at FROM leased ORDER BY sequence`,
  markAlert: `DELETE FROM {schema}.budget_alerts a USING unnest(ARRAY['me'], ARRAY[''], ARRAY[50]) AS d (caller, period, threshold)
    WHERE a.caller = d.caller AND a.period = d.period AND a.threshold = d.threshold`,
  takeMessages: `SELECT (w.message).task AS id, (w.message).next_at, (w.task).status
    FROM {schema}.take_messages(9, 0, '{}', '{}', NULL) w`,
  replay: `WITH page AS (
      SELECT m.id, m.sequence FROM {schema}.webhook_messages m WHERE m.sequence > 0 AND m.caller = 'me'
        ORDER BY m.sequence LIMIT 9 FOR UPDATE
    )
    UPDATE {schema}.webhook_messages m SET state = 'waiting', attempts = 0, last_error = NULL, next_at = clock_timestamp()
      FROM page WHERE m.id = page.id RETURNING m.id`,
};

await describeWithPostgres("the outbox", ({ pool, nameSchema }) => {
  const queryOf = (schema: string) => async (sql: string) =>
    (await pool.query<Record<string, unknown>>(sql.replaceAll("{schema}", `"${schema}"`))).rows;

  it("has what a schema of an older version had to deliver, with its messages", async () => {
    const schema = nameSchema();
    const query = queryOf(schema);
    await migrate(createDatabase(pool, 10_000), {
      schema,
      steps: MIGRATIONS.slice(0, BEFORE),
      mayChange: true,
    });
    const record = recordOf({ id: "req_1", time: new Date(START).toISOString() });
    await query(`
      INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, record, outcome)
        VALUES ('req_1', 'settled', now(), 'me', 'm', 'c', 1, 0, '${JSON.stringify(record)}', 'succeeded');
      INSERT INTO {schema}.outbox (id, state) VALUES ('req_1', 'settled');
      INSERT INTO {schema}.budget_alerts (caller, period, threshold, budget, settled, created_at)
        VALUES ('me', '', 50, 10, 5, now()), ('me', '2026-01-01 month UTC', 80, 10, 8, now());
      INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, status, turn, created_at, expires_at, ended_at,
          remove_at, keep, webhooks, input)
        VALUES ('task_1', 'req_1', 'me', 'm', 'generate', 'cancelled', 1, now(), now(), now(), now(), '1 day', '{}', '');
      INSERT INTO {schema}.webhook_messages (id, task, caller, endpoint, state, attempts, next_at, last_error)
        VALUES ('msg_1', 'task_1', 'me', 'shop', 'waiting', 2, now(), '503'),
          ('msg_2', 'task_1', 'me', 'log', 'delivered', 1, now(), NULL)`);
    const ledger = createPostgresLedger({ pool, schema });

    expect(await ledger.outbox.lease("record", OPTIONS)).toEqual([record]);
    expect((await ledger.outbox.lease("alert", OPTIONS)).map(({ id }) => id)).toEqual([
      "total 50 me",
      "2026-01-01 month UTC 80 me",
    ]);
    expect(await ledger.outbox.lease("message", OPTIONS)).toMatchObject([
      { message: { id: "msg_1", task: "task_1", attempts: 2, lastError: "503" }, task: { id: "task_1" } },
    ]);
    expect((await ledger.outbox.list({}, 9)).map(({ id }) => id)).toEqual(["msg_2", "msg_1"]);
    await ledger.outbox.finish("msg_1", { kind: "delivered" });
    await ledger.tasks.sweep(SWEEP);
    expect(await ledger.outbox.list({}, 9)).toEqual([]);
    await ledger.close();
  });

  it("is written and leased by processes of an older version, which leave messages about alerts alone", async () => {
    const schema = nameSchema();
    const query = queryOf(schema);
    // PostgreSQL's clock has microseconds, so what it has just written may be due after this millisecond.
    const ledger = createPostgresLedger({ pool, schema, now: () => Date.now() + 1 });
    await ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "2" }));
    await ledger.settle(recordOf({ id: "req_1", charge: "1" }));
    const [alert] = await ledger.outbox.lease("alert", OPTIONS);
    if (alert === undefined) throw new TypeError("There is no alert.");
    await ledger.outbox.addMessages(alert, [{ id: "msg_alert", endpoint: "shop" }]);
    await ledger.tasks.submit(...taskOf("2", { webhooks: ["shop"] }));
    await takeNames(ledger);
    await ledger.tasks.end(completionOf("2"));

    expect(await query(OLD.leaseRecords)).toMatchObject([{ id: "req_1" }, {}]);
    expect(await ledger.outbox.lease("record", OPTIONS)).toEqual([]);
    await query(OLD.markRecord);
    expect(await query("SELECT id, state FROM {schema}.outbox")).toHaveLength(1);
    expect(await query(OLD.leaseAlerts)).toMatchObject([
      { id: "me", threshold: 50, budget: "2", settled: "1" },
    ]);
    expect(await ledger.outbox.lease("alert", OPTIONS)).toEqual([]);
    await query(OLD.markAlert);
    expect(await query("SELECT FROM {schema}.budget_alerts")).toEqual([]);
    expect(await query(OLD.takeMessages)).toMatchObject([{ id: "task_2", status: "completed" }]);
    expect(await query(OLD.replay)).toHaveLength(2);
    expect(await ledger.outbox.lease("message", OPTIONS)).toMatchObject([
      { message: { id: "msg_alert" }, alert: { id: alert.id } },
      { message: { task: "task_2" }, task: { status: "completed" } },
    ]);
    await ledger.close();
  });

  it("has no delivered alert that a process of the version before would deliver again", async () => {
    const schema = nameSchema();
    const query = queryOf(schema);
    const ledger = createPostgresLedger({ pool, schema, now: () => Date.now() + 1 });
    await ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "2" }));
    await ledger.settle(recordOf({ id: "req_1", charge: "1" }));
    const leased = await ledger.outbox.lease("alert", OPTIONS);
    const listDue = (): Promise<unknown> =>
      query(`SELECT threshold FROM {schema}.outbox_entries
        WHERE threshold IS NOT NULL AND endpoint IS NULL AND due_at <= clock_timestamp() + interval '1 s'`);
    expect(await listDue()).toEqual([{ threshold: 50 }]);
    await ledger.outbox.done("alert", leased);
    expect(await listDue()).toEqual([]);
    expect(await ledger.outbox.listAlerts?.({}, 9)).toMatchObject([{ threshold: 50, state: "delivered" }]);
    await ledger.close();
  });
});
