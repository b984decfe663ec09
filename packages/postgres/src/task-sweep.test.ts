import type { EntryFailure } from "@calotype/core/stores";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { START } from "./testing/entries.js";
import { SWEEP, takeNames, taskOf } from "./testing/tasks.js";

await describeWithPostgres("a sweep of tasks", ({ pool, nameSchema }) => {
  const open = async () => {
    const schema = nameSchema();
    let now = START;
    // A machine with much else to do may need long for 40 MB.
    const ledger = createPostgresLedger({ pool, schema, now: () => now, timeoutSeconds: 60 });
    onTestFinished(async () => await ledger.close());
    await ledger.ready();
    return {
      ledger,
      schema,
      advance: (ms: number) => {
        now += ms;
      },
      query: async (sql: string) => await pool.query(sql.replaceAll("{schema}", `"${schema}"`)),
    };
  };

  it("ends as many expired tasks as its bounds allow, and the next sweeps end the others", async () => {
    const { ledger, query } = await open();
    await query(`INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, turn, created_at, expires_at, keep,
          webhooks, input)
        SELECT 'task_' || n, 'req_' || n, 'caller_' || n % 7, 'm', 'generate', n, '2026-01-01Z', '2026-01-02Z', '1 day', '{}', n
          FROM generate_series(1, 12000) AS n;
      INSERT INTO {schema}.holds (id, owner, expires_at, caller, amount, hold, task)
        SELECT request_id, gen_random_uuid(), 'infinity', caller, 1, '{}', id FROM {schema}.tasks;
      INSERT INTO {schema}.balances (caller, held) SELECT caller, count(*) FROM {schema}.tasks GROUP BY caller`);
    const first = await ledger.tasks.sweep(SWEEP);
    expect(first.inputs).toHaveLength(10_000);
    const second = await ledger.tasks.sweep(SWEEP);

    expect(new Set([...first.inputs, ...second.inputs]).size).toBe(12_000);
    expect((await query("SELECT FROM {schema}.holds")).rowCount).toBe(0);
    expect((await query("SELECT FROM {schema}.balances WHERE held <> 0")).rowCount).toBe(0);
  });

  it("ends tasks with the longest inputs a few at a time", async () => {
    const { ledger, advance } = await open();
    const input = "x".repeat(1024 * 1024);
    const names = Array.from({ length: 40 }, (_, at) => String(at));
    await Promise.all(
      names.map((name) => ledger.tasks.submit(...taskOf(name, { input: name + input.slice(5) }))),
    );
    advance(3_600_000);
    const { inputs } = await ledger.tasks.sweep(SWEEP);

    expect(inputs.map((text) => text.replaceAll("x", "")).toSorted()).toEqual(names.toSorted());
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("deletes tasks behind many whose messages still wait", async () => {
    const { ledger, query } = await open();
    await query(`INSERT INTO {schema}.tasks (id, request_id, caller, model, operation, status, turn, created_at, expires_at,
          ended_at, remove_at, keep, webhooks, input)
        SELECT 'task_' || n, 'req_' || n, 'me', 'm', 'generate', 'failed', n, '2026-01-01Z', '2026-01-01Z', '2026-01-01Z',
            timestamptz '2026-01-02Z' + n * interval '1 second', '1 day', '{}', ''
          FROM generate_series(1, 12000) AS n;
      INSERT INTO {schema}.webhook_messages (task, caller, endpoint, next_at)
        SELECT 'task_' || n, 'me', 'shop', '2026-01-01Z' FROM generate_series(1, 11000) AS n`);
    const count = async () => (await query("SELECT FROM {schema}.tasks")).rowCount;
    await ledger.tasks.sweep(SWEEP);
    expect(await count()).toBe(12_000);
    await ledger.tasks.sweep(SWEEP);
    expect(await count()).toBe(11_000);
    await ledger.outbox.setDisabled("me", "shop", true);
    await ledger.tasks.sweep(SWEEP);
    await ledger.tasks.sweep(SWEEP);

    expect(await count()).toBe(0);
    expect((await query("SELECT FROM {schema}.webhook_messages")).rowCount).toBe(0);
  });

  it("reports the lost tasks that cannot be ended, and ends the others", async () => {
    const { ledger, query } = await open();
    for (const name of ["1", "2", "3", "4"]) await ledger.tasks.submit(...taskOf(name));
    for (const name of await takeNames(ledger)) await ledger.tasks.markSent(`task_${name}`);
    await query(`UPDATE {schema}.holds SET hold = '{"time":7}' WHERE id = 'req_2'`);
    await ledger.release("req_3");
    const failures: EntryFailure[] = [];
    const options = { ...SWEEP, own: true };
    const { lost, inputs } = await ledger.tasks.sweep({
      ...options,
      onFailure: (failure) => void failures.push(failure),
    });

    expect(lost.map(({ id }) => id)).toEqual(["req_1", "req_4"]);
    expect(inputs.toSorted()).toEqual(["input of 1", "input of 3", "input of 4"]);
    expect(failures.map(({ id }) => id)).toEqual(["task_2"]);
    await expect(ledger.tasks.sweep(options)).rejects.toThrow("1 lost holds cannot be ended: task_2");
    expect(await ledger.tasks.find("me", "task_2")).toMatchObject({ status: "in_progress" });
    expect(await ledger.balance("me")).toEqual({ settled: "1", held: "0.5" });
  });
});
