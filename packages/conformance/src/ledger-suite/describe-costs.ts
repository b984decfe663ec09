import { repriceRecords } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "./entries.js";
import { historyOf, type OpenLedger, useLedger } from "./open-ledger.js";
import { readRecords } from "./read-ledger.js";

const time = "2026-03-10T09:30:00.000Z";
const HOURS = { from: "2026-03-10T09:00:00Z", to: "2026-03-10T10:00:00Z" };
/** Parts of hours are read from the records. */
const MINUTES = { from: "2026-03-10T09:15:00Z", to: "2026-03-10T09:45:00Z" };

/** What requests cost the operator, beside what they are charged. */
export function describeCosts(open: OpenLedger<Ledger>): void {
  describe("the costs of requests", () => {
    const bench = useLedger(open);

    it("are added up exactly, with the charges of the requests whose cost is known", async () => {
      const { ledger } = bench();
      const costLines = [{ channel: "ark-1", amount: "0.1" }];
      const first = recordOf({ id: "a", time, charge: "0.3", cost: "0.1", costLines });
      await ledger.settle(first);
      await ledger.settle(recordOf({ id: "b", time, charge: "0.3", cost: "0.400000000000000000001" }));
      await ledger.settle(recordOf({ id: "c", time, charge: null, cost: "0" }));
      await ledger.settle(
        recordOf({ id: "d", time, charge: "7", costLines: [{ unknownBecause: "no_costs" }] }),
      );
      const costs = {
        requests: 3,
        charge: "0.6",
        cost: "0.500000000000000000001",
        margin: "0.099999999999999999999",
      };
      for (const period of [HOURS, MINUTES]) {
        const { total } = await historyOf(ledger).series({ ...period, by: "channel" });
        expect(total.sums).toMatchObject({ requests: 4, charge: "7.6", costs });
      }
      expect(await ledger.totals("model")).toMatchObject([{ requests: 4, charge: "7.6", costs }]);
      expect(await ledger.totals("tag:team", { model: "none" })).toEqual([]);
      expect((await readRecords(ledger))[0]).toEqual(first);
    });

    it("are absent where none is known", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "a", time }));
      await ledger.settle(recordOf({ id: "b", time, caller: "other", cost: "1" }));
      expect(await ledger.totals("caller")).toMatchObject([
        expect.not.objectContaining({ costs: expect.anything() }),
        { key: "other", costs: { requests: 1, charge: "0.3", cost: "1", margin: "-0.7" } },
      ]);
      const { lines } = await historyOf(ledger).series({ ...HOURS, by: "caller" });
      expect(lines.map(({ key, sums }) => [key, sums.costs?.margin])).toEqual([
        ["me", undefined],
        ["other", "-0.7"],
      ]);
    });

    it("of a request that was unresolved count once its end is known", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "a", time }));
      await ledger.sweep({ onLost: "charge", own: true });
      const read = async () => (await historyOf(ledger).series(HOURS)).total.sums.costs;
      expect(await read()).toBeUndefined();
      const settled = recordOf({ id: "a", time, cost: "0.2" });
      await ledger.settle(settled);
      await ledger.settle(settled);
      expect(await read()).toEqual({ requests: 1, charge: "0.3", cost: "0.2", margin: "0.1" });
    });

    it.each([["\0", "\ud800", '"cost":"9"']])(
      "of a record with any strings are counted",
      async (...strings) => {
        const { ledger } = bench();
        for (const [at, text] of strings.entries()) {
          await ledger.settle(
            recordOf({ id: `a${at}`, time, cost: "1", errorCode: text, endUser: text, tags: { cost: "8" } }),
          );
          await ledger.settle(
            recordOf({ id: `b${at}`, time, errorCode: text, endUser: text, tags: { cost: "8" } }),
          );
        }
        expect(await ledger.totals("model")).toMatchObject([
          { requests: 6, costs: { requests: 3, cost: "3" } },
        ]);
      },
    );

    it("must be plain decimals", async () => {
      await expect(bench().ledger.settle(recordOf({ id: "a", cost: "-1" }))).rejects.toThrow(RangeError);
    });

    it("stay the same under other prices", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "a", time, cost: "0.2" }));
      await ledger.settle(recordOf({ id: "b", time }));
      const prices = { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } } as const;
      expect(await repriceRecords(ledger.records(), prices)).toMatchObject({
        charge: "0.6",
        newCharge: "0.2",
        costs: {
          requests: 1,
          charge: "0.3",
          cost: "0.2",
          margin: "0.1",
          newCharge: "0.1",
          newMargin: "-0.1",
        },
      });
    });
  });
}
