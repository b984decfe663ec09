import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { expect, it, vi } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { startDelayingProxy } from "./testing/delaying-proxy.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";
import { expireCall, TIMEOUT_SECONDS } from "./testing/expire-call.js";
import { readAll } from "./testing/read-all.js";

/** A string that only the statement of a hold contains. */
const HOLD_STATEMENT = ".make_holds(";

await describeWithPostgres("a hold that the network delays", ({ url, pool, nameSchema }) => {
  const open = async () => {
    const schema = nameSchema();
    const proxy = await startDelayingProxy(url);
    const proxied = new Pool({ connectionString: proxy.url });
    const ledger = createPostgresLedger({ pool: proxied, schema, timeoutSeconds: TIMEOUT_SECONDS });
    await ledger.ready();
    return {
      proxy,
      ledger,
      count: async (table: string) => (await pool.query(`SELECT FROM "${schema}".${table}`)).rowCount,
      query: async (sql: string) => (await pool.query(sql.replaceAll("{schema}", `"${schema}"`))).rows,
      close: async () => {
        await ledger.close();
        await proxied.end();
        await proxy.close();
      },
    };
  };

  it("is not made after its release", async () => {
    const { proxy, ledger, count, close } = await open();
    await expireCall(proxy, HOLD_STATEMENT, () => ledger.hold(holdOf({ id: "req_1" })));
    await ledger.release("req_1");
    expect(proxy.delayed()).toBe(1);
    await proxy.deliver();

    expect(await count("holds")).toBe(0);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    expect(await ledger.sweep({ onLost: "charge", own: true })).toEqual([]);
    await close();
  });

  it("is not made after its release, if it was sent twice and the second statement made it", async () => {
    const { proxy, ledger, count, close } = await open();
    proxy.delay(HOLD_STATEMENT);
    const held = ledger.hold(holdOf({ id: "req_1" }));
    await vi.waitUntil(() => proxy.delayed() === 1);
    proxy.delay("no statement");
    proxy.cutOff();
    expect(await held).toEqual({ ok: true });
    await ledger.release("req_1");
    await proxy.deliver();

    expect(await count("holds")).toBe(0);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    await close();
  });

  it("is not made after its request was refused for its budget, even if the budget has room by then", async () => {
    const { proxy, ledger, count, close } = await open();
    await ledger.hold(holdOf({ id: "req_0", amount: "1" }));
    proxy.delay(HOLD_STATEMENT);
    const held = ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "1" }));
    await vi.waitUntil(() => proxy.delayed() === 1);
    proxy.delay("no statement");
    proxy.cutOff();
    expect(await held).toMatchObject({ ok: false });
    await ledger.release("req_0");
    await vi.waitUntil(async () => (await count("released_holds")) === 1);
    await proxy.deliver();

    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    await close();
  });

  it("is not made after it was sent again and settled", async () => {
    const { proxy, ledger, close } = await open();
    proxy.delay(HOLD_STATEMENT);
    const held = ledger.hold(holdOf({ id: "req_1" }));
    await vi.waitUntil(() => proxy.delayed() === 1);
    proxy.delay("no statement");
    proxy.cutOff();
    await held;
    await ledger.settle(recordOf({ id: "req_1" }));
    await proxy.deliver();

    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    expect(await readAll(ledger)).toHaveLength(1);
    await close();
  });

  it("fails alone if it is sent together with others", async () => {
    const { proxy, ledger, close } = await open();
    await expireCall(proxy, HOLD_STATEMENT, () => ledger.hold(holdOf({ id: "req_1" })));
    await ledger.release("req_1");
    await proxy.deliver();
    const results = await Promise.allSettled(
      ["req_0", "req_1", "req_2"].map((id) => ledger.hold(holdOf({ id, amount: "0.1" }))),
    );

    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { message: "The hold was released before it was made." } });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.2" });
    await close();
  });

  it("is released if it is made after its call was given up", async () => {
    const { proxy, ledger, count, close } = await open();
    const held: Promise<unknown>[] = [];
    proxy.delay(HOLD_STATEMENT);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldClearNativeTimers: true });
    try {
      // Two transactions run at a time. The third hold waits for one of them, and has less time left when it is sent.
      for (const [at, id] of ["req_0", "req_1", "req_2"].entries()) {
        held.push(ledger.hold(holdOf({ id, amount: "0.1" })).catch(String));
        while (proxy.delayed() < Math.min(at + 1, 2)) await sleep(1);
      }
      await vi.advanceTimersByTimeAsync(TIMEOUT_SECONDS * 600);
      void proxy.deliver();
      proxy.delay(HOLD_STATEMENT);
      expect(await Promise.all(held.slice(0, 2))).toEqual([{ ok: true }, { ok: true }]);
      while (proxy.delayed() === 0) await sleep(1);
      await vi.advanceTimersByTimeAsync(TIMEOUT_SECONDS * 600);
      expect(await held[2]).toContain("did not respond in time");
    } finally {
      vi.useRealTimers();
    }
    void proxy.deliver();
    await expect.poll(() => count("released_holds")).toBe(1);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.2" });
    await close();
  });

  it("leaves a marker for a day, and none if its outcome was known", async () => {
    const { proxy, ledger, count, query, close } = await open();
    await ledger.hold(holdOf({ id: "req_0" }));
    await ledger.release("req_0");
    expect(await count("released_holds")).toBe(0);
    await expireCall(proxy, HOLD_STATEMENT, () => ledger.hold(holdOf({ id: "req_1" })));
    await ledger.release("req_1");
    await proxy.deliver();
    await ledger.sweep({ onLost: "charge" });
    expect(await count("released_holds")).toBe(1);
    await query(`UPDATE {schema}.released_holds SET released_at = released_at - interval '25 hours'`);
    await ledger.sweep({ onLost: "charge" });
    expect(await count("released_holds")).toBe(0);
    await close();
  });
});
