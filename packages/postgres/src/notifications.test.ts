import type { TaskChange } from "@calotype/core/stores";
import { Pool } from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import type { PostgresPool } from "./pool.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { recordStatements } from "./testing/record-statements.js";
import { completionOf, SWEEP, takeNames, taskOf } from "./testing/tasks.js";

type Change = TaskChange | { readonly kind: "alert" | "message" };

const QUEUED: TaskChange = { kind: "queued" };

await describeWithPostgres("a listener of tasks and of the outbox", ({ url, pool, nameSchema }) => {
  /** Two ledgers of one schema, the first on a pool of its own, with all that its listener is told. */
  const open = async ({ max = 10, wrap = (own: Pool): PostgresPool => own } = {}) => {
    const schema = nameSchema();
    const name = `calotype-${schema.slice(-12)}`;
    const own = new Pool({ connectionString: url, application_name: name, max });
    const ledger = createPostgresLedger({ pool: wrap(own), schema });
    const other = createPostgresLedger({ pool, schema });
    onTestFinished(async () => {
      await ledger.close();
      await other.close();
      await own.end();
    });
    await ledger.ready();
    const countListening = async (): Promise<number> => {
      const { rowCount } = await pool.query(
        "SELECT FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN %'",
        [name],
      );
      return rowCount ?? 0;
    };
    const watch = () => {
      const changes: Change[] = [];
      const stops = [
        ledger.tasks.watch((change) => void changes.push(change)),
        ledger.outbox.watch((kind) => void changes.push({ kind })),
      ];
      const stop = (): void => {
        for (const end of stops) end();
      };
      return { changes, stop };
    };
    const untilListening = async (count = 1): Promise<void> => {
      await vi.waitUntil(async () => (await countListening()) === count);
    };
    return { ledger, other, own, name, schema, countListening, untilListening, watch };
  };

  it("is told what another process changes", async () => {
    const { ledger, other, untilListening, watch } = await open();
    const { changes } = watch();
    await untilListening();
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    const expectNext = async (expected: Change, change: () => Promise<unknown>): Promise<void> => {
      changes.length = 0;
      await change();
      await vi.waitFor(() => expect(changes).toContainEqual(expected));
    };
    const changed: TaskChange = { kind: "changed", id: "task_1" };

    await expectNext(QUEUED, () => other.tasks.submit(...taskOf("1", { webhooks: ["shop"] })));
    await takeNames(other);
    await expectNext(QUEUED, () => other.tasks.putBack(["task_1"]));
    await takeNames(other);
    await expectNext(changed, () => other.tasks.markSent("task_1"));
    await expectNext(changed, () => other.tasks.addImages("task_1", ["one"]));
    await expectNext({ kind: "message" }, () => other.tasks.end(completionOf("1")));
    expect(changes).toContainEqual(changed);
    await expectNext({ kind: "message" }, () => other.outbox.replay({}));
    await expectNext({ kind: "message" }, () => other.outbox.setDisabled("me", "shop", false));
    await other.tasks.submit(...taskOf("2", { ttlMs: 0 }));
    await expectNext({ kind: "changed", id: "task_2" }, () => other.tasks.sweep(SWEEP));
    expect(await ledger.tasks.find("me", "task_2")).toMatchObject({ status: "failed" });
  });

  it("is told each change of its own ledger once", async () => {
    const { ledger, other, untilListening, watch } = await open();
    const { changes } = watch();
    await untilListening();
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    changes.length = 0;
    await ledger.tasks.submit(...taskOf("1"));
    await ledger.tasks.cancel("me", "task_1");
    await other.tasks.submit(...taskOf("2"));

    await vi.waitFor(() => expect(changes).toHaveLength(3));
    expect(changes).toEqual([QUEUED, { kind: "changed", id: "task_1" }, QUEUED]);
  });

  it("is told the ends of many tasks with the longest ids, in notifications that PostgreSQL accepts", async () => {
    const { other, untilListening, watch } = await open();
    const ids = Array.from(
      { length: 100 },
      (_, at) => `${String(at).padStart(3, "0")}${'"\\\u0001'.repeat(169)}`,
    );
    const { changes } = watch();
    await untilListening();
    await Promise.all(ids.map((id, at) => other.tasks.submit(...taskOf(String(at), { id, ttlMs: 0 }))));
    await other.tasks.sweep(SWEEP);

    await vi.waitFor(() => {
      const told = changes.flatMap((change) => (change.kind === "changed" ? [change.id] : []));
      expect(told.toSorted()).toEqual(ids);
    });
  });

  it("uses one connection, and only while there are listeners", async () => {
    const { ledger, countListening, untilListening, watch } = await open();
    await ledger.tasks.submit(...taskOf("1"));
    expect(await countListening()).toBe(0);
    const [first, second] = [watch(), watch()];
    await untilListening();
    first.stop();
    first.stop();
    expect(await countListening()).toBe(1);
    second.stop();
    await untilListening(0);
    watch();
    await untilListening();
    await ledger.close();
    await untilListening(0);
  });

  it("is told changes again after its connection was lost, first that it may have missed some", async () => {
    const { other, name, countListening, untilListening, watch } = await open();
    const { changes } = watch();
    await untilListening();
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    changes.length = 0;
    const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    await pool.query(end, [name]);
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    expect(await countListening()).toBe(1);
    changes.length = 0;
    await other.tasks.submit(...taskOf("1"));

    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
  });

  it("of a pool with one connection leaves it to the calls, and is told to look twice a second", async () => {
    const { ledger, other, countListening, watch } = await open({ max: 1 });
    const { changes } = watch();
    await ledger.tasks.submit(...taskOf("1"));
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    expect(await takeNames(ledger)).toEqual(["1"]);
    changes.length = 0;
    await other.tasks.submit(...taskOf("2"));

    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    expect(changes).toContainEqual({ kind: "message" });
    expect(await takeNames(ledger)).toEqual(["2"]);
    expect(await countListening()).toBe(0);
  });

  it("behind a pool whose connections receive no notifications is told to look, and the changes of its own ledger", async () => {
    const { ledger, other, watch } = await open({
      wrap: (own) => {
        const bare: PostgresPool = {
          connect: async () => {
            const client = await own.connect();
            return {
              query: (query) => client.query(query),
              release: (destroy) => client.release(destroy),
              on: () => undefined,
            };
          },
          on: () => undefined,
          removeListener: () => undefined,
        };
        return bare;
      },
    });
    const { changes } = watch();
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    // The first was told when the connection was opened.
    for (const id of ["1", "2"]) {
      changes.length = 0;
      await other.tasks.submit(...taskOf(id));
      await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
      expect(await takeNames(ledger)).toEqual([id]);
    }
    await ledger.tasks.markSent("task_1");

    await vi.waitFor(() => expect(changes).toContainEqual({ kind: "changed", id: "task_1" }));
  });

  it("of many changes costs a statement in 50 ms at most, outside of the transactions", async () => {
    const { schema } = await open();
    const statements: { readonly sql: string; readonly at: number }[] = [];
    const ledger = createPostgresLedger({
      pool: recordStatements(pool, (sql) => void statements.push({ sql, at: performance.now() })),
      schema,
    });
    await ledger.ready();
    const changes: Change[] = [];
    const listening = createPostgresLedger({ pool, schema });
    const stop = listening.tasks.watch((change) => void changes.push(change));
    await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
    const ids = Array.from({ length: 40 }, (_, at) => String(at));
    for (const id of ids) {
      await ledger.tasks.submit(...taskOf(id));
      await ledger.tasks.cancel("me", `task_${id}`);
    }
    await ledger.close();

    const told = statements.filter(({ sql }) => sql.includes("pg_notify"));
    // The last one is sent by close.
    const waits = told.slice(1, -1).map(({ at }, index) => at - (told[index]?.at ?? 0));
    expect(Math.min(...waits)).toBeGreaterThan(45);
    expect(told.length).toBeGreaterThan(1);
    await vi.waitFor(() =>
      expect(changes.flatMap((change) => (change.kind === "changed" ? [change.id] : [])).toSorted()).toEqual(
        ids.map((id) => `task_${id}`).toSorted(),
      ),
    );
    const { rows } = await pool.query(`SELECT pg_get_functiondef(oid) AS text FROM pg_proc
      WHERE pronamespace = '"${schema}"'::regnamespace AND prosrc LIKE '%pg_notify%'`);
    expect(rows).toEqual([]);
    stop();
    await listening.close();
  });
});
