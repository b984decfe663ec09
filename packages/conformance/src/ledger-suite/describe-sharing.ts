import type { MinimalLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { HOLD_MS, holdOf, recordOf, releasedOf } from "./entries.js";
import { type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, readRecords } from "./read-ledger.js";

/** Processes that share a store see the same holds, records and balances. */
export function describeSharing(open: OpenLedger): void {
  describe("a ledger that processes share", () => {
    const bench = useLedger(open);

    async function openTwo(): Promise<readonly [MinimalLedger, MinimalLedger]> {
      const { ledger, join } = bench();
      return [ledger, await join()];
    }

    it("shows each process the changes of the other", async () => {
      const [one, other] = await openTwo();
      await one.settle(recordOf({ id: "req_1" }));
      await other.hold(holdOf({ id: "req_2" }));

      for (const ledger of [one, other]) {
        expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0.5" });
        expect(await readRecords(ledger)).toEqual([recordOf({ id: "req_1" })]);
      }
    });

    it("is never overdrawn by parallel holds of both", async () => {
      const both = await openTwo();
      const results = await Promise.all(
        both.flatMap((ledger, process) =>
          Array.from(
            { length: 100 },
            async (_, at) =>
              await ledger.hold(holdOf({ id: `req_${process}_${at}`, amount: "0.07", budget: "1" })),
          ),
        ),
      );

      expect(results.filter(({ ok }) => ok)).toHaveLength(14);
      expect(await both[0].balance("me")).toEqual({ settled: "0", held: "0.98" });
    });

    it("holds and settles an id once, in either process", async () => {
      const [one, other] = await openTwo();
      await Promise.all([one.hold(holdOf({ id: "req_1" })), other.hold(holdOf({ id: "req_1" }))]);
      expect(await one.balance("me")).toEqual({ settled: "0", held: "0.5" });
      await Promise.all([one.settle(recordOf({ id: "req_1" })), other.settle(recordOf({ id: "req_1" }))]);

      expect(await other.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("sweeps its own holds with `own`, and leaves the holds of the other until they expire", async () => {
      const [one, other] = await openTwo();
      await one.hold(holdOf({ id: "req_1" }));
      await other.hold(holdOf({ id: "req_2" }));

      expect(idsOf(await one.sweep({ onLost: "release", own: true }))).toEqual(["req_1"]);
      bench().clock.advance(HOLD_MS);
      expect(idsOf(await one.sweep({ onLost: "release" }))).toEqual(["req_2"]);
      await other.settle(recordOf({ id: "req_2" }));
      expect(await one.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("leaves expired holds of a process that is alive to that process", async () => {
      const [one, other] = await openTwo();
      await one.hold(holdOf({ id: "req_1", ttlMs: 1_000 }));
      bench().clock.advance(1_000);

      expect(await other.sweep({ onLost: "release" })).toEqual([]);
      expect(idsOf(await one.sweep({ onLost: "release" }))).toEqual(["req_1"]);
    });

    it("corrects a record that another process swept and delivered, if its request reached no provider", async () => {
      const [one, other] = await openTwo();
      await one.hold(holdOf({ id: "req_1", amount: "1", budget: "1" }));
      bench().clock.advance(HOLD_MS);
      await other.markDelivered(await other.sweep({ onLost: "charge" }));
      await one.release("req_1");

      expect(await other.balance("me")).toEqual({ settled: "0", held: "0" });
      expect(await other.takeUndelivered(9, 0)).toEqual([releasedOf({ id: "req_1", held: "1" })]);
      expect(await other.hold(holdOf({ id: "req_2", amount: "1", budget: "1" }))).toEqual({ ok: true });
    });

    it("is swept once if both sweep in parallel", async () => {
      const [one, other] = await openTwo();
      const ids = Array.from({ length: 20 }, (_, at) => `req_${at}`);
      for (const id of ids) await one.hold(holdOf({ id, amount: "0.1" }));
      bench().clock.advance(HOLD_MS);
      const swept = await Promise.all([one.sweep({ onLost: "charge" }), other.sweep({ onLost: "charge" })]);

      expect(idsOf(swept.flat()).toSorted()).toEqual(ids.toSorted());
      expect(await one.balance("me")).toEqual({ settled: "2", held: "0" });
    });

    it("returns a record to one process, and to the other after the lease", async () => {
      const both = await openTwo();
      const ids = Array.from({ length: 40 }, (_, at) => `req_${at}`);
      for (const id of ids) await both[0].settle(recordOf({ id }));
      const takers = [...both, ...both, ...both, ...both];
      const taken = await Promise.all(takers.map(async (ledger) => await ledger.takeUndelivered(5, 1_000)));

      expect(idsOf(taken.flat()).toSorted()).toEqual(ids.toSorted());
      bench().clock.advance(1_000);
      expect(await both[1].takeUndelivered(40, 1_000)).toHaveLength(40);
    });
  });
}
