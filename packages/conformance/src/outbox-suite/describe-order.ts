import type { UsageRecord } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { recordOf } from "../ledger-suite/entries.js";
import { type OpenLedger, useLedger } from "../ledger-suite/open-ledger.js";
import type { TestedLedger } from "./tested-ledger.js";

const LEASE_MS = 10_000;

const namesOf = (records: readonly UsageRecord[]): string[] =>
  records.map(({ id }) => id.slice("req_".length));

/** The records of a caller are leased in their order, whatever happens to earlier leases. */
export function describeOrder(open: OpenLedger<TestedLedger>): void {
  describe("records that are leased in the order of each caller", () => {
    const bench = useLedger(open);

    /** The names of the records say whose they are: `a2` is the second one of `a`. */
    async function write(...names: readonly string[]): Promise<void> {
      for (const name of names) {
        await bench().ledger.settle(recordOf({ id: `req_${name}`, caller: name.slice(0, 1) }));
      }
    }

    const leaseRecords = async (limit = 100): Promise<readonly UsageRecord[]> =>
      await bench().ledger.outbox.leaseInOrder({ limit, leaseMs: LEASE_MS });
    const lease = async (limit?: number): Promise<string[]> => namesOf(await leaseRecords(limit));

    it("come in the order in which they were stored, up to the requested number", async () => {
      await write("a1", "b1", "a2", "b2");
      expect(await lease(3)).toEqual(["a1", "b1", "a2"]);
    });

    it("wait while an earlier record of their caller is leased; others do not", async () => {
      await write("a1", "a2", "b1");
      expect(await lease(1)).toEqual(["a1"]);
      expect(await lease()).toEqual(["b1"]);
      await write("a3", "b2", "c1");
      expect(await lease()).toEqual(["c1"]);
    });

    it("are returned when the delivery of the earlier ones has ended", async () => {
      const { ledger } = bench();
      await write("a1", "a2");
      await ledger.outbox.done("record", await leaseRecords(1));
      expect(await lease()).toEqual(["a2"]);
      expect(await lease()).toEqual([]);
    });

    it("are returned after the lease of earlier ones, and behind them", async () => {
      const { clock } = bench();
      await write("a1", "b1", "a2");
      expect(await lease(1)).toEqual(["a1"]);
      clock.advance(1);
      expect(await lease()).toEqual(["b1"]);
      await write("a3");
      clock.advance(LEASE_MS - 2);
      expect(await lease()).toEqual([]);
      clock.advance(1);
      expect(await lease()).toEqual(["a1", "a2", "a3"]);
      clock.advance(1);
      expect(await lease()).toEqual(["b1"]);
    });

    it("also after a part of the earlier ones was delivered", async () => {
      const { ledger, clock } = bench();
      await write("a1", "a2", "a3");
      const [first] = await leaseRecords(2);
      if (first !== undefined) await ledger.outbox.done("record", [first]);
      expect(await lease()).toEqual([]);
      clock.advance(LEASE_MS);
      expect(await lease()).toEqual(["a2", "a3"]);
    });

    it("are returned to one of several parallel calls, all of a caller to the same one", async () => {
      await write("a1", "b1", "c1", "d1", "a2", "b2", "c2", "d2");
      const taken = (await Promise.all(Array.from({ length: 6 }, () => lease(4)))).filter(
        (names) => names.length > 0,
      );
      // The second records wait for the first ones.
      expect(taken).toEqual([["a1", "b1", "c1", "d1"]]);
    });

    it("keep their order when leases of several sizes end in any way", async () => {
      const { ledger, clock } = bench();
      const callers = ["a", "b", "c"];
      const delivered = new Map<string, string[]>(callers.map((caller) => [caller, []]));
      for (let round = 1; round <= 12; round++) {
        await write(...callers.map((caller) => `${caller}${String(round).padStart(2, "0")}`));
        const records = await leaseRecords((round % 5) + 1);
        // Every third lease is lost.
        if (round % 3 !== 0) {
          for (const record of records) delivered.get(record.caller)?.push(record.id);
          await ledger.outbox.done("record", records);
        }
        clock.advance(round % 4 === 0 ? LEASE_MS : 1);
      }
      for (let left = await leaseRecords(); left.length > 0; left = await leaseRecords()) {
        for (const record of left) delivered.get(record.caller)?.push(record.id);
        await ledger.outbox.done("record", left);
        clock.advance(LEASE_MS);
      }
      for (const ids of delivered.values()) {
        expect(ids).toHaveLength(12);
        expect(ids).toEqual(ids.toSorted());
      }
    });

    it("are the same entries that takeUndelivered leases", async () => {
      const { ledger } = bench();
      await write("a1", "b1");
      expect(namesOf(await ledger.takeUndelivered(1, LEASE_MS))).toEqual(["a1"]);
      expect(await lease()).toEqual(["b1"]);
      expect(await ledger.takeUndelivered(9, LEASE_MS)).toEqual([]);
    });
  });
}
