import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { holdOf, recordOf, releasedOf, unresolvedOf } from "./entries.js";
import { expectTotals, type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, peekUndelivered } from "./read-ledger.js";

const LEASE_MS = 10_000;

/** Every record reaches the operator's function at least once. What all entries of an outbox have in common is in `outbox-suite`. */
export function describeOutbox(open: OpenLedger): void {
  describe("records to be delivered", () => {
    const bench = useLedger(open);

    async function settleThree(): Promise<void> {
      for (const at of [1, 2, 3]) {
        await bench().ledger.settle(recordOf({ id: `req_${at}`, time: timeAfterStart(at) }));
      }
    }

    it("do not exist if nothing was settled", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.hold(holdOf({ id: "req_2" }));
      await ledger.release("req_2");

      expect(await ledger.takeUndelivered(10, LEASE_MS)).toEqual([]);
    });

    it("are the settled and the swept records, as they are stored", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.hold(holdOf({ id: "req_2", time: timeAfterStart(1) }));
      await ledger.sweep({ onLost: "charge", own: true });

      expect(await ledger.takeUndelivered(10, LEASE_MS)).toStrictEqual([
        recordOf({ id: "req_1" }),
        unresolvedOf({ id: "req_2", time: timeAfterStart(1), charge: "0.5" }),
      ]);
    });

    it("are ordered by the time at which they were stored, not by the time of their requests", async () => {
      const { ledger } = bench();
      for (const at of [2, 3, 1]) {
        await ledger.settle(recordOf({ id: `req_${at}`, time: timeAfterStart(at) }));
      }

      expect(idsOf(await ledger.takeUndelivered(10, LEASE_MS))).toEqual(["req_2", "req_3", "req_1"]);
    });

    it("come before newer ones when their lease has ended", async () => {
      const { ledger, clock } = bench();
      await ledger.settle(recordOf({ id: "req_1", time: timeAfterStart(1) }));
      await ledger.takeUndelivered(10, LEASE_MS);
      await ledger.settle(recordOf({ id: "req_2", time: timeAfterStart(2) }));
      clock.advance(LEASE_MS);

      expect(idsOf(await ledger.takeUndelivered(10, LEASE_MS))).toEqual(["req_1", "req_2"]);
    });

    it("have separate leases, which end in any order", async () => {
      await settleThree();
      const { ledger, clock } = bench();
      await ledger.takeUndelivered(1, 3_000);
      await ledger.takeUndelivered(1, 1_000);
      await ledger.takeUndelivered(1, 2_000);

      clock.advance(1_000);
      expect(idsOf(await peekUndelivered(ledger))).toEqual(["req_2"]);
      clock.advance(1_000);
      expect(idsOf(await peekUndelivered(ledger))).toEqual(["req_2", "req_3"]);
      clock.advance(1_000);
      expect(idsOf(await peekUndelivered(ledger))).toEqual(["req_1", "req_2", "req_3"]);
    });

    it("may be marked after their lease, twice, and through a copy", async () => {
      await settleThree();
      const { ledger, clock } = bench();
      const taken = await ledger.takeUndelivered(10, LEASE_MS);
      clock.advance(LEASE_MS);
      await ledger.markDelivered(JSON.parse(JSON.stringify(taken)));
      await ledger.markDelivered(taken);

      expect(await peekUndelivered(ledger)).toEqual([]);
    });

    it("may be marked without a lease", async () => {
      await settleThree();
      const { ledger, clock } = bench();
      await ledger.markDelivered([recordOf({ id: "req_2" })]);
      const taken = await ledger.takeUndelivered(10, LEASE_MS);
      clock.advance(LEASE_MS);
      await ledger.takeUndelivered(1, LEASE_MS);
      await ledger.markDelivered(taken);

      expect(idsOf(taken)).toEqual(["req_1", "req_3"]);
      expect(await peekUndelivered(ledger)).toEqual([]);
    });

    it("are not changed by marking nothing or unknown records", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.markDelivered([]);
      await ledger.markDelivered([recordOf({ id: "unknown" })]);

      expect(idsOf(await peekUndelivered(ledger))).toEqual(["req_1"]);
      await expectTotals(ledger, "caller", [{ key: "me", requests: 1 }]);
    });

    it("stay stored when they are delivered, and are not settled again", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.markDelivered(await ledger.takeUndelivered(10, LEASE_MS));
      await ledger.settle(recordOf({ id: "req_1" }));

      expect(await peekUndelivered(ledger)).toEqual([]);
      await expectTotals(ledger, "caller", [{ key: "me", requests: 1 }]);
    });
  });

  describe("a record that replaces an unresolved one", () => {
    const bench = useLedger(open);

    it.each<[string, "waits" | "is leased" | "was delivered"]>([
      ["while that one waits", "waits"],
      ["while that one is leased", "is leased"],
      ["after that one was delivered", "was delivered"],
    ])("is delivered again, at once, %s", async (_when, before) => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      const swept = await ledger.sweep({ onLost: "charge", own: true });
      if (before !== "waits") await ledger.takeUndelivered(10, LEASE_MS);
      if (before === "was delivered") await ledger.markDelivered(swept);
      await ledger.settle(recordOf({ id: "req_1" }));

      expect(await ledger.takeUndelivered(10, LEASE_MS)).toStrictEqual([
        recordOf({ id: "req_1", late: true }),
      ]);
      clock.advance(LEASE_MS);
      expect(await peekUndelivered(ledger)).toStrictEqual([recordOf({ id: "req_1", late: true })]);
    });

    it.each<[string, "waits" | "is leased" | "was delivered"]>([
      ["while the unresolved one waits", "waits"],
      ["while the unresolved one is leased", "is leased"],
      ["after the unresolved one was delivered", "was delivered"],
    ])("because of a late release is delivered again, at once, %s", async (_when, before) => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      const swept = await ledger.sweep({ onLost: "charge", own: true });
      if (before !== "waits") await ledger.takeUndelivered(10, LEASE_MS);
      if (before === "was delivered") await ledger.markDelivered(swept);
      await ledger.release("req_1");
      await ledger.markDelivered(swept);

      const released = releasedOf({ id: "req_1" });
      expect(await ledger.takeUndelivered(10, LEASE_MS)).toStrictEqual([released]);
      await ledger.release("req_1");
      expect(await ledger.takeUndelivered(10, LEASE_MS)).toEqual([]);
      await ledger.markDelivered([released]);
      clock.advance(LEASE_MS);
      expect(await peekUndelivered(ledger)).toEqual([]);
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.markDelivered([...swept, released]);
      expect(await peekUndelivered(ledger)).toStrictEqual([recordOf({ id: "req_1", late: true })]);
    });

    it("is not marked by marking its older version", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.sweep({ onLost: "charge", own: true });
      const older = await ledger.takeUndelivered(10, LEASE_MS);
      await ledger.settle(recordOf({ id: "req_1" }));
      await ledger.markDelivered(older);

      expect(idsOf(await ledger.takeUndelivered(10, LEASE_MS))).toEqual(["req_1"]);
      await ledger.markDelivered([recordOf({ id: "req_1" })]);
      clock.advance(LEASE_MS);
      expect(await peekUndelivered(ledger)).toEqual([]);
    });
  });
}
