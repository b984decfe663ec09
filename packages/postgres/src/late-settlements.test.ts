import type { Pool } from "pg";
import { expect, it } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import type { PostgresPool } from "./pool.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";

/** The pool. Of the statements with these words, the replies to the first ones are lost with their connections. */
function loseReplies(pool: Pool, words: string, losses: number): PostgresPool {
  let left = losses;
  const losing: Pick<PostgresPool, "connect"> = {
    connect: async () => {
      const client = await pool.connect();
      return {
        query: async (query) => {
          const result = await client.query(query);
          if (!query.text.includes(words) || left === 0) return result;
          left -= 1;
          throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
      };
    },
  };
  return Object.assign(Object.create(pool), losing);
}

await describeWithPostgres("a late settlement", ({ pool, nameSchema }) => {
  const schema = nameSchema();

  /** A ledger with a request whose hold another process has ended. */
  const open = async (losses: number, id: string) => {
    const ledger = createPostgresLedger({ pool: loseReplies(pool, "SELECT has_alert", losses), schema });
    const other = createPostgresLedger({ pool, schema, now: () => Date.now() + 3_600_000 });
    await ledger.hold(holdOf({ id, caller: id }));
    await other.sweep({ onLost: "release" });
    return { ledger, close: async () => void (await Promise.all([ledger.close(), other.close()])) };
  };

  it("says so although the reply to its statement is lost", async () => {
    const { ledger, close } = await open(1, "req_1");
    expect(await ledger.settle(recordOf({ id: "req_1" }))).toEqual({ isLate: true });
    await close();
  });

  it("says so when it is repeated, although its first call failed", async () => {
    // Each call sends its statement four times.
    const { ledger, close } = await open(4, "req_2");
    await expect(ledger.settle(recordOf({ id: "req_2", caller: "req_2" }))).rejects.toThrow("ECONNRESET");
    expect(await ledger.settle(recordOf({ id: "req_2", caller: "req_2" }))).toEqual({ isLate: true });
    expect(await ledger.balance("req_2")).toEqual({ settled: "0.3", held: "0" });
    await close();
  });

  it("does not say so of a settlement in time whose reply is lost", async () => {
    const { ledger, close } = await open(1, "req_3");
    await ledger.hold(holdOf({ id: "req_4" }));
    expect(await ledger.settle(recordOf({ id: "req_4" }))).toEqual({ isLate: false });
    await close();
  });
});
