import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { expect, it } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "./create-postgres-ledger.js";
import { migratePostgresLedger } from "./migrate.js";
import { prunePostgresLedger } from "./prune-postgres-ledger.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { readAll } from "./testing/read-all.js";

await describeWithPostgres("a ledger", ({ url, pool, nameSchema }) => {
  const open = (options: Partial<Parameters<typeof createPostgresLedger>[0]> = {}): PostgresLedger =>
    createPostgresLedger({ pool, schema: nameSchema(), ...options });

  it.each(["id", "caller", "group", "model"] as const)(
    "rejects only the call whose %s has a NUL or an unpaired surrogate, if several calls are sent together",
    async (name) => {
      const ledger = open();
      const results = await Promise.allSettled([
        ledger.settle(recordOf({ id: "req_1", charge: "0.1" })),
        ledger.settle(recordOf({ id: "req_2", [name]: "a\0b" })),
        ledger.hold(holdOf({ id: "req_3", [name]: "\ud800" })),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
      expect(results[1]).toMatchObject({
        reason: { message: expect.stringContaining(`${name} must`) as string },
      });
      expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
      await ledger.close();
    },
  );

  it("keeps a NUL and an unpaired surrogate in the other fields of a record", async () => {
    const ledger = open();
    const record = recordOf({ id: "req_1", upstreamRequestId: "a\0b\ud800", errorCode: "\udfff" });
    await ledger.settle(record);
    expect(await readAll(ledger)).toStrictEqual([record]);
    expect(await ledger.takeUndelivered(1, 0)).toStrictEqual([record]);
    await ledger.close();
  });

  it.each(["-1", "1e3", "", "NaN", " 1", "9".repeat(1001)])(
    "rejects money that is not a plain decimal, and stores nothing of the call: %j",
    async (bad) => {
      const ledger = open();
      const results = await Promise.allSettled([
        ledger.hold(holdOf({ id: "req_1", amount: bad })),
        ledger.hold(holdOf({ id: "req_1", budget: bad })),
        ledger.settle(recordOf({ id: "req_2", charge: bad })),
        ledger.settle(recordOf({ id: "req_3", charge: "0.1" })),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected", "fulfilled"]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
      await ledger.close();
    },
  );

  it.each(["a\0b", "\ud800"])("rejects a report for a name that cannot be stored: %j", async (name) => {
    const ledger = open();
    for (const asked of [
      ledger.balance(name),
      ledger.totals("day", { model: name }),
      readAll(ledger, { channel: name }),
    ]) {
      await expect(asked).rejects.toThrow("must not contain NUL or an unpaired surrogate");
    }
    await ledger.close();
  });

  it("reads columns as strings, whatever parsers the app's pool has", async () => {
    const odd = new Pool({
      connectionString: url,
      types: { getTypeParser: () => () => Number.NaN },
    });
    const ledger = open({ pool: odd });
    await ledger.settle(recordOf({ id: "req_1", charge: "0.1" }));
    expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
    expect(await ledger.totals("day")).toMatchObject([{ key: "2026-01-31", requests: 1 }]);
    await ledger.close();
    await odd.end();
  });

  it("checks budgets in the order of the holds, also within one transaction", async () => {
    const ledger = open();
    const ask = (id: string, amount: string, budget?: string, caller = "me") =>
      ledger.hold(holdOf({ id, amount, budget, caller }));
    const results = await Promise.all([
      ask("a", "0.6", "1"),
      ask("b", "0.6", "1"),
      ask("c", "1", "1", "other"),
      ask("d", "0.4", "1"),
      ask("e", "0.1", "1"),
      ask("f", "5"),
      ask("g", "0.1", "7"),
    ]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true, true, false, true, true]);
    expect(results[1]).toEqual({ ok: false, balance: { settled: "0", held: "0.6" } });
    expect(results[4]).toEqual({ ok: false, balance: { settled: "0", held: "1" } });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "6.1" });
    await ledger.close();
  });

  it("survives deadlocks between settlements whose holds and records name different callers", async () => {
    const schema = nameSchema();
    const first = open({ schema });
    const ledgers = [first, open({ schema }), open({ schema })];
    const callers = ["a", "b", "c", "d"];
    const ids = Array.from({ length: 60 }, (_, at) => `req_${at}`);
    const callerOf = (at: number): string => callers[at % callers.length] ?? "";
    await Promise.all(
      ids.map((id, at) =>
        (ledgers[at % 3] ?? first).hold(holdOf({ id, caller: callerOf(at), amount: "0.5" })),
      ),
    );
    await Promise.all(
      ledgers.flatMap((ledger, turn) =>
        ids.map((id, at) => ledger.settle(recordOf({ id, caller: callerOf(at + turn), charge: "0.1" }))),
      ),
    );
    const balances = await Promise.all(callers.map((caller) => first.balance(caller)));
    expect(balances.map((balance) => balance.held)).toEqual(["0", "0", "0", "0"]);
    expect(balances.reduce((sum, balance) => sum + Number(balance.settled) * 10, 0)).toBeCloseTo(60);
    expect((await readAll(first)).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    await Promise.all(ledgers.map((ledger) => ledger.close()));
  });

  it("sweeps the holds of a process whose lease has expired, and of one that closed its ledger", async () => {
    const schema = nameSchema();
    let now = START;
    const options = { schema, now: () => now, leaseSeconds: 10 };
    const [dead, living, closed] = [open(options), open(options), open(options)];
    await dead.hold(holdOf({ id: "of the dead process" }));
    await closed.hold(holdOf({ id: "of the closed ledger" }));
    await closed.close();
    now += 6000;
    await living.hold(holdOf({ id: "of the running process" }));
    const swept = await living.sweep({ onLost: "charge" });
    expect(swept.map(({ id }) => id)).toEqual(["of the closed ledger"]);
    now += 4000;
    expect((await living.sweep({ onLost: "charge" })).map(({ id }) => id)).toEqual(["of the dead process"]);
    // The process was only paused: its next hold renews its lease.
    await dead.hold(holdOf({ id: "after the pause" }));
    expect(await living.sweep({ onLost: "charge" })).toEqual([]);
    expect(await living.balance("me")).toEqual({ settled: "1", held: "1" });
    await Promise.all([dead.close(), living.close()]);
  });

  it("does not sweep a hold that was ended or made again after it was found", async () => {
    const schema = nameSchema();
    const ledger = open({ schema });
    const hold = holdOf({ id: "req_1" });
    const endLost = async (): Promise<unknown> =>
      (
        await pool.query(`SELECT * FROM "${schema}".end_lost($1, $2, $3, $4, $5, $6, $7)`, [
          [hold.id],
          [JSON.stringify(hold)],
          [START],
          [hold.caller],
          [hold.model],
          ["0.5"],
          ["{}"],
        ])
      ).rowCount;
    await ledger.ready();
    expect(await endLost()).toBe(0);
    await ledger.hold({ ...hold, amount: "0.7" });
    expect(await endLost()).toBe(0);
    expect(await readAll(ledger)).toEqual([]);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.7" });
    await ledger.release("req_1");
    await ledger.hold(hold);
    expect(await endLost()).toBe(1);
    expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "0" });
    await ledger.close();
  });

  it("renews its lease automatically, by the clock of the database", async () => {
    const schema = nameSchema();
    const [one, other] = [open({ schema, leaseSeconds: 0.6 }), open({ schema, leaseSeconds: 0.6 })];
    await one.hold(holdOf({ id: "req_1" }));
    await sleep(1500);
    expect(await other.sweep({ onLost: "charge" })).toEqual([]);
    await one.close();
    expect(await other.sweep({ onLost: "charge" })).toHaveLength(1);
    await other.close();
  });

  it("rejects at the timeout if another transaction locks the balance, and works afterwards", async () => {
    const schema = nameSchema();
    await migratePostgresLedger({ pool, schema });
    const ledger = open({ schema, timeoutSeconds: 0.4 });
    await ledger.settle(recordOf({ id: "req_1", charge: "0.1" }));
    const client = await pool.connect();
    await client.query(`BEGIN; SELECT FROM "${schema}".balances FOR UPDATE`);
    const start = performance.now();
    await expect(ledger.settle(recordOf({ id: "req_2" }))).rejects.toThrow("did not respond in time");
    expect(performance.now() - start).toBeLessThan(10_000);
    await client.query("COMMIT");
    client.release();
    // Core does the same: it repeats a settlement whose outcome is unknown.
    await ledger.settle(recordOf({ id: "req_2", charge: "0.1" }));
    expect(await ledger.balance("me")).toMatchObject({ held: "0" });
    expect(await readAll(ledger)).toHaveLength(2);
    await ledger.close();
  });

  it("makes no hold after the timeout, when its caller has given up", async () => {
    const schema = nameSchema();
    await migratePostgresLedger({ pool, schema });
    const ledger = open({ schema, timeoutSeconds: 0.3 });
    await ledger.settle(recordOf({ id: "req_1", charge: "0.1" }));
    const client = await pool.connect();
    await client.query(`BEGIN; SELECT FROM "${schema}".balances FOR UPDATE`);
    await expect(ledger.hold(holdOf({ id: "req_2" }))).rejects.toThrow("did not respond in time");
    // Core does the same. It is not known yet whether the hold will be made.
    await expect(ledger.release("req_2")).rejects.toThrow("did not respond in time");
    await client.query("COMMIT");
    client.release();
    await ledger.release("req_2");
    await sleep(200);
    expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
    await ledger.close();
  });

  it("rejects at the timeout if all connections of the pool are in use", async () => {
    const small = new Pool({ connectionString: url, max: 1 });
    const schema = nameSchema();
    await migratePostgresLedger({ pool, schema });
    const ledger = open({ pool: small, schema, timeoutSeconds: 0.5 });
    await ledger.ready();
    const client = await small.connect();
    await expect(ledger.balance("me")).rejects.toThrow("did not respond in time");
    client.release();
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    await ledger.close();
    await small.end();
  });

  const endAll = async (): Promise<unknown> =>
    await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'calotype-test-victim'",
    );

  it("works after its connections were ended, idle or in use", async () => {
    const own = new Pool({ connectionString: url, application_name: "calotype-test-victim", max: 4 });
    const ledger = open({ pool: own });
    const settle = (from: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          ledger.settle(recordOf({ id: `req_${from + at}`, charge: "0.1" })),
        ),
      );
    await settle(0);
    await endAll();
    await settle(20);
    await Promise.all([settle(40), endAll(), settle(60), endAll()]);
    expect(await ledger.balance("me")).toEqual({ settled: "8", held: "0" });
    await ledger.close();
    await own.end();
  });

  it("closes when everything is written, leaves the pool open, and rejects afterwards", async () => {
    const schema = nameSchema();
    const ledger = open({ schema });
    // The tables do not exist yet.
    const pending = ledger.settle(recordOf({ id: "req_1", charge: "0.1" }));
    await Promise.all([ledger.close(), ledger.close(), pending]);
    await expect(ledger.balance("me")).rejects.toThrow("The ledger is closed.");
    await expect(ledger.hold(holdOf({ id: "req_2" }))).rejects.toThrow("The ledger is closed.");
    const anew = open({ schema });
    expect(await anew.balance("me")).toEqual({ settled: "0.1", held: "0" });
    await anew.close();
    expect(pool.listenerCount("error")).toBe(0);
  });

  it("loses old delivered records to a prune, but no balance and no undelivered record", async () => {
    const schema = nameSchema();
    const ledger = open({ schema });
    const times = ["2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00.000Z"];
    for (const [at, time] of [...times, ...times].entries()) {
      await ledger.settle(recordOf({ id: `req_${at}`, time, charge: "0.1" }));
      if (at === 1) await ledger.markDelivered(await ledger.takeUndelivered(2, 0));
    }
    const before = "2026-01-01T00:00:00Z";
    const idsLeft = async (): Promise<string> => (await readAll(ledger)).map(({ id }) => id.at(-1)).join("");

    expect(await prunePostgresLedger({ pool, schema, before })).toBe(1);
    expect(await idsLeft()).toBe("213");
    expect(await prunePostgresLedger({ pool, schema, before, undelivered: true })).toBe(1);
    expect(await idsLeft()).toBe("13");
    expect(await ledger.balance("me")).toEqual({ settled: "0.4", held: "0" });
    expect((await ledger.takeUndelivered(9, 0)).map(({ id }) => id)).toEqual(["req_3"]);
    await ledger.close();
  });
});

it.each(["then", "1", "Jan 5", "2026-01-01", "2026-01-01T00:00:00", "2026-02-30T00:00Z"])(
  "a prune before %j is rejected without a query",
  async (before) => {
    const pool = new Pool({ connectionString: "postgres://nobody@127.0.0.1:1/nothing" });
    await expect(prunePostgresLedger({ pool, before })).rejects.toThrow(
      "before must be an ISO 8601 time with a zone, such as",
    );
    expect(pool.totalCount).toBe(0);
    await pool.end();
  },
);

it("if no server listens, a call rejects soon, and the next call tries again", async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const pool = new Pool({ connectionString: `postgres://nobody@127.0.0.1:${port}/nothing` });
  const ledger = createPostgresLedger({ pool });
  const start = performance.now();
  for (const end of ["broken", "refused"]) {
    await expect(ledger.hold(holdOf({ id: end }))).rejects.toThrow(
      /^The ledger's schema "calotype" cannot be used: /,
    );
    if (server.listening) server.close();
  }
  expect(performance.now() - start).toBeLessThan(5000);
  await ledger.close();
  await pool.end();
});

it("if the server does not respond, a call rejects at the timeout", async () => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const pool = new Pool({ connectionString: `postgres://nobody@127.0.0.1:${port}/nothing` });
  const ledger = createPostgresLedger({ pool, timeoutSeconds: 0.2 });
  await expect(ledger.balance("me")).rejects.toThrow("did not respond in time");
  server.close();
});

it.each([0, -1, Number.NaN, Infinity])("%d seconds are rejected", (seconds) => {
  const pool = new Pool();
  expect(() => createPostgresLedger({ pool, leaseSeconds: seconds })).toThrow("leaseSeconds must be");
  expect(() => createPostgresLedger({ pool, timeoutSeconds: seconds })).toThrow("timeoutSeconds must be");
  expect(() => createPostgresLedger({ pool, schema: "" })).toThrow("schema must be");
  expect(pool.listenerCount("error")).toBe(0);
});
