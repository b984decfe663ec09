import type { BudgetPeriod } from "@calotype/core/billing";
import { type BudgetLedger, findPeriod, type HoldRecord, type OutboxLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { START } from "../ledger-suite/clock.js";
import { holdOf, recordOf } from "../ledger-suite/entries.js";
import { type OpenLedger, useLedger } from "../ledger-suite/open-ledger.js";
import { idsOf, readRecords } from "../ledger-suite/read-ledger.js";

const DAY: BudgetPeriod = { unit: "day", timeZone: "Asia/Kathmandu" };
const { to } = findPeriod(DAY, START);

/** A hold of 0.5 with a budget of 1 a day. */
const dailyHoldOf = (id: string, rest: Partial<HoldRecord> = {}): HoldRecord =>
  holdOf({ id, budget: "1", period: DAY, ...rest });

/** Alerts are written with the charges that reach a part of a budget. */
export function describeAlerts(open: OpenLedger<BudgetLedger & OutboxLedger>): void {
  describe("an alert", () => {
    const bench = useLedger(open);
    /** Charges without a change of the time. */
    async function charge(id: string, amount: string, rest: Partial<HoldRecord> = {}): Promise<void> {
      const { ledger } = bench();
      await ledger.hold(dailyHoldOf(id, { amount, budget: "10", ...rest }));
      await ledger.settle(recordOf({ id, charge: amount, caller: rest.caller ?? "me" }));
    }
    const take = async (): Promise<string[]> =>
      (await bench().ledger.outbox.lease("alert", { limit: 100, leaseMs: 0 })).map(
        ({ caller, period, threshold, settled }) =>
          `${caller} ${period?.unit ?? "total"} ${threshold} ${settled}`,
      );

    it("is written once for each caller, period and threshold", async () => {
      const { clock } = bench();
      await charge("req_1", "4.9");
      expect(await take()).toEqual([]);
      await charge("req_2", "0.1");
      await charge("req_3", "1");
      expect(await take()).toEqual(["me day 50 5"]);
      await charge("req_4", "4");
      await charge("req_5", "9.9", { caller: "other" });
      const first = ["me day 50 5", "me day 80 10", "me day 100 10", "other day 50 9.9", "other day 80 9.9"];
      expect(await take()).toEqual(first);
      clock.advance(to - START);
      await charge("req_6", "5");
      expect(await take()).toEqual([...first, "me day 50 5"]);
    });

    it("of a budget over all time names no period", async () => {
      const { ledger } = bench();
      await charge("req_1", "8", { period: undefined });
      const [alert] = await ledger.outbox.lease("alert", { limit: 1, leaseMs: 0 });
      const id = "total 50 me";
      expect(alert).toEqual({
        id,
        caller: "me",
        threshold: 50,
        budget: "10",
        settled: "8",
        time: alert?.time,
      });
      expect(await take()).toEqual(["me total 50 8", "me total 80 8"]);
    });

    it("is listed, the newest first, also after its delivery", async () => {
      const { ledger, clock } = bench();
      await charge("req_1", "5");
      await ledger.outbox.done("alert", await ledger.outbox.lease("alert", { limit: 9, leaseMs: 0 }));
      clock.advance(1);
      await charge("req_2", "3");
      const listed = (await ledger.outbox.listAlerts?.({}, 9)) ?? [];
      expect(listed.map(({ threshold, state }) => `${threshold} ${state}`)).toEqual([
        "80 waiting",
        "50 delivered",
      ]);
      expect(await ledger.outbox.listAlerts?.({}, 1)).toEqual(listed.slice(0, 1));
    });

    it("is not written again after a correction", async () => {
      const { ledger } = bench();
      await ledger.hold(dailyHoldOf("req_1", { amount: "6", budget: "10" }));
      await ledger.sweep({ onLost: "charge", own: true });
      await ledger.settle(recordOf({ id: "req_1", charge: "1" }));
      await charge("req_2", "5");
      expect(await take()).toEqual(["me day 50 6"]);
    });

    it("is forgotten after 30 days without delivery", async () => {
      const { ledger, clock } = bench();
      await charge("req_1", "8");
      clock.advance(30 * 86_400_000);
      await ledger.sweep({ onLost: "release" });
      expect(await take()).toHaveLength(2);
      clock.advance(1);
      await ledger.sweep({ onLost: "release" });
      expect(await take()).toEqual([]);
    });

    it("is told to the listeners of the process that wrote it", async () => {
      const { ledger } = bench();
      let told = 0;
      // A ledger that listens to other processes tells of messages when it begins to listen.
      const stop = ledger.outbox.watch((kind) => void (told += kind === "alert" ? 1 : 0));
      await charge("req_1", "4");
      expect(told).toBe(0);
      await charge("req_2", "1");
      expect(told).toBe(1);
      stop();
      await charge("req_3", "4");
      expect(told).toBe(1);
      expect(idsOf(await readRecords(ledger))).toHaveLength(3);
    });
  });
}
