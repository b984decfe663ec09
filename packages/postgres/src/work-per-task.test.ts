import { Pool } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "./create-postgres-ledger.js";
import { migratePostgresLedger } from "./migrate.js";
import type { PostgresClient, PostgresPool } from "./pool.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { completionOf, SWEEP, takeNames, taskOf } from "./testing/tasks.js";

/** More rows than any call of this file should read. */
const MANY = 20_000;
/** The rows that a call may read if it looks past the callers or endpoints that are left out. */
const SEARCHED = 1_500;

const LEFT_OUT = [{ caller: "many", endpoint: "busy" }];

await describeWithPostgres("the work of a call about a task", ({ url, nameSchema }) => {
  const open = async () => {
    const schema = nameSchema();
    const pool = new Pool({ connectionString: url, max: 1, options: "-c synchronous_commit=off" });
    const statements: string[] = [];
    const ledger = createPostgresLedger({ pool: inOneTransaction(pool, statements), schema });
    onTestFinished(async () => {
      await ledger.close();
      await pool.end();
    });
    await migratePostgresLedger({ pool, schema });
    // The first call also says what this process delivers.
    await ledger.release("req_0");
    return {
      ledger,
      statements,
      query: async (sql: string) => (await pool.query(sql.replaceAll("{schema}", `"${schema}"`))).rows,
      /** Returns the rows and index entries that the call reads. */
      countRowsRead: async (call: () => Promise<unknown>): Promise<number> => {
        const count = async (): Promise<number> => {
          const { rows } = await pool.query<{ read: string }>(
            `SELECT sum(pg_stat_get_xact_tuples_returned(oid)) AS read FROM pg_class
              WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`,
            [schema],
          );
          return Number(rows[0]?.read);
        };
        await pool.query("BEGIN");
        const before = await count();
        await call();
        const read = (await count()) - before;
        await pool.query("COMMIT");
        return read;
      },
    };
  };

  it("is one statement", async () => {
    const { ledger, statements } = await open();
    const { tasks } = ledger;
    const sentBy = async (call: () => Promise<unknown>): Promise<string[]> => {
      statements.length = 0;
      await call();
      // Other processes are told outside of the call.
      return statements
        .filter((sql) => !sql.includes("pg_notify"))
        .map((sql) => /\.(\w+)\(/.exec(sql)?.[1] ?? sql);
    };
    const { outbox } = ledger;

    expect(await sentBy(() => tasks.submit(...taskOf("1", { webhooks: ["shop"] })))).toEqual([
      "submit_tasks_within_shares",
    ]);
    expect(await sentBy(() => tasks.take({ limit: 1, except: [] }))).toEqual(["take_sent_and_waiting_tasks"]);
    expect(await sentBy(() => tasks.markSent("task_1"))).toEqual(["mark_sent"]);
    expect(await sentBy(async () => tasks.keepUpstream?.("task_1", "kept"))).toEqual(["keep_upstream"]);
    expect(await sentBy(() => tasks.addImages("task_1", ["one"]))).toEqual(["add_images"]);
    expect(await sentBy(() => tasks.end(completionOf("1")))).toEqual(["end_tasks"]);
    expect(await sentBy(() => tasks.find("me", "task_1"))).toEqual(["find_task"]);
    expect(await sentBy(() => tasks.list("me", { limit: 9 }))).toEqual(["list_tasks"]);
    expect(await sentBy(() => tasks.cancel("me", "task_1"))).toEqual(["cancel_task"]);
    expect(await sentBy(() => tasks.putBack(["task_1"]))).toEqual(["put_back"]);
    expect(await sentBy(() => outbox.lease("message", { limit: 9, leaseMs: 0, except: [] }))).toEqual([
      "lease_messages",
    ]);
    expect(await sentBy(() => outbox.finish("msg_1", { kind: "delivered" }))).toEqual(["finish_message"]);
    expect(
      await sentBy(() => Promise.all(["2", "3", "4"].map((name) => tasks.submit(...taskOf(name))))),
    ).toEqual(["submit_tasks_within_shares"]);
  });

  it("does not grow with tables that were last analyzed when they were empty", async () => {
    const { ledger, query, countRowsRead } = await open();
    const { tasks } = ledger;
    const { outbox } = ledger;
    for (const table of ["tasks", "holds", "balances", "outbox_entries", "records"]) {
      await query(`ANALYZE {schema}.${table}`);
    }
    // After some calls a session may keep its plans.
    for (let round = 0; round < 10; round++) await runAll(ledger, `warm_${round}`);
    await query(addMany);

    await tasks.submit(...taskOf("first", { webhooks: ["shop"] }));
    await tasks.submit(...taskOf("second", { webhooks: ["shop"] }));
    await tasks.submit(...taskOf("third"));
    const calls: readonly (readonly [string, number, () => Promise<unknown>])[] = [
      ["submit", 150, () => tasks.submit(...taskOf("last", { repeat: { key: "key", fingerprint: "same" } }))],
      [
        "submit again",
        50,
        () => tasks.submit(...taskOf("more", { repeat: { key: "key", fingerprint: "same" } })),
      ],
      ["take for all", 50, () => takeNames(ledger, [], 1)],
      ["take except", SEARCHED, () => takeNames(ledger, ["many"], 2)],
      ["put back", 50, () => tasks.putBack(["task_second"])],
      ["mark", 50, () => tasks.markSent("task_first")],
      ["keep upstream", 50, async () => tasks.keepUpstream?.("task_first", "kept")],
      ["add images", 50, () => tasks.addImages("task_first", ["one"])],
      ["end", 150, () => tasks.end(completionOf("first"))],
      ["cancel", 150, () => tasks.cancel("me", "task_second")],
      ["find", 20, () => tasks.find("me", "task_first")],
      ["find another's", 20, () => tasks.find("me", "task_many_1")],
      ["list", 50, () => tasks.list("many", { limit: 10, after: "task_many_15000" })],
      [
        "take messages",
        SEARCHED,
        () => outbox.lease("message", { limit: 1, leaseMs: 1_000, except: LEFT_OUT }),
      ],
      ["finish", 20, () => outbox.finish("msg_1", { kind: "retry", delayMs: 0, error: "503" })],
      ["sweep", 150, () => tasks.sweep(SWEEP)],
      ["sweep of the ledger", 50, () => ledger.sweep({ onLost: "charge" })],
    ];
    for (const [name, most, call] of calls) {
      const read = await countRowsRead(call);
      expect.soft({ name, read, isMore: read > most }).toEqual({ name, read, isMore: false });
    }
    expect(await tasks.find("me", "task_first")).toMatchObject({ status: "completed" });
    expect(await tasks.find("me", "task_second")).toMatchObject({ status: "cancelled" });
  });

  it("is almost nothing if no task waits, whatever was taken", async () => {
    const { ledger, query, countRowsRead } = await open();
    await takeNames(ledger);
    await query(`INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, owner, turn, created_at, expires_at,
          keep, webhooks, input)
        SELECT 'task_' || n, 'req_' || n, 'many', 'm', 'generate', gen_random_uuid(), n, now(), now() + interval '1 day',
            '1 day', '{}', ''
          FROM generate_series(1, ${MANY}) AS n`);

    expect(await countRowsRead(() => takeNames(ledger, ["many"], 8))).toBeLessThan(5);
  });

  it("finds the tasks and messages behind many that are left out, in the order of their turns", async () => {
    const { ledger, query } = await open();
    const { tasks } = ledger;
    await tasks.submit(...taskOf("0", { caller: "many" }));
    await query(addMany);
    // Callers whose turns came while "many" was left out.
    await query(`UPDATE {schema}.task_turn SET turn = 50000`);
    for (const name of ["1", "2", "3"]) {
      for (const caller of ["b", "a", "other"]) {
        await tasks.submit(...taskOf(`${caller}${name}`, { caller, webhooks: ["shop"] }));
      }
    }
    expect(await takeNames(ledger, ["many", "other"], 3)).toEqual(["b1", "a1", "b2"]);
    expect(await takeNames(ledger, ["many", "other"])).toEqual(["a2", "b3", "a3"]);
    expect(await takeNames(ledger, ["many", "other"])).toEqual([]);
    expect(await takeNames(ledger, [], 2)).toEqual(["0", "many_1"]);

    for (const name of ["a1", "other1"]) await tasks.cancel(name.slice(0, -1), `task_${name}`);
    await ledger.outbox.setDisabled("other", "shop", true);
    const messages = await ledger.outbox.lease("message", { limit: 9, leaseMs: 1_000, except: LEFT_OUT });
    expect(messages.map(({ task }) => task?.id)).toEqual(["task_a1"]);
    expect(await ledger.outbox.lease("message", { limit: 9, leaseMs: 1_000, except: [] })).toHaveLength(9);
  });
});

/** Runs every call once. */
async function runAll(ledger: PostgresLedger, name: string): Promise<void> {
  const { tasks } = ledger;
  await tasks.submit(...taskOf(name, { webhooks: ["shop"] }));
  await takeNames(ledger, ["many"], 1);
  await tasks.putBack([`task_${name}`]);
  await takeNames(ledger);
  await tasks.markSent(`task_${name}`);
  await tasks.addImages(`task_${name}`, ["one"]);
  await tasks.end(completionOf(name));
  await tasks.submit(...taskOf(`${name}_cancelled`));
  await tasks.cancel("me", `task_${name}_cancelled`);
  await tasks.find("me", `task_${name}`);
  await tasks.list("me", { limit: 10 });
  const taken = await ledger.outbox.lease("message", { limit: 10, leaseMs: 1_000, except: LEFT_OUT });
  for (const { message } of taken) await ledger.outbox.finish(message.id, { kind: "delivered" });
  await tasks.sweep(SWEEP);
  await ledger.sweep({ onLost: "charge" });
}

/** Adds waiting tasks with holds, and ended tasks with waiting messages, that the statistics do not know. */
const addMany = `
  INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, turn, created_at, expires_at, keep, webhooks, input)
    SELECT 'task_many_' || n, 'req_many_' || n, 'many', 'm', 'generate', n, now(), now() + interval '1 day', '1 day', '{}', ''
      FROM generate_series(1, ${MANY}) AS n;
  INSERT INTO {schema}.holds (id, owner, expires_at, caller, amount, hold, task)
    SELECT 'req_many_' || n, gen_random_uuid(), 'infinity', 'many', 0, '{}', 'task_many_' || n
      FROM generate_series(1, ${MANY}) AS n;
  INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, status, turn, created_at, expires_at, ended_at,
      remove_at, keep, webhooks, input)
    SELECT 'task_old_' || n, 'req_old_' || n, 'many', 'm', 'generate', 'failed', n, now(), now(), now(),
        now() + interval '1 day', '1 day', '{}', ''
      FROM generate_series(1, ${MANY}) AS n;
  INSERT INTO {schema}.webhook_messages (task, caller, endpoint, next_at)
    SELECT 'task_old_' || n, 'many', 'busy', now() - interval '1 minute' FROM generate_series(1, ${MANY}) AS n`;

/** A pool that notes each statement, and whose transactions are the one of the test. */
function inOneTransaction(pool: Pool, statements: string[]): PostgresPool {
  const record = (client: PostgresClient): PostgresClient => ({
    query: async (query) => {
      if (/^\s*(?:BEGIN|COMMIT)/.test(query.text)) return { rows: [] };
      statements.push(query.text);
      return await client.query(query);
    },
    release: (destroy) => client.release(destroy),
    on: client.on.bind(client),
  });
  let only: PostgresClient | undefined;
  const recording: Pick<PostgresPool, "connect"> = {
    connect: async () => {
      const client = await pool.connect();
      only ??= record(client);
      return only;
    },
  };
  return Object.assign(Object.create(pool), recording);
}
