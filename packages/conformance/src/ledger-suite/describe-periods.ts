import type { BudgetPeriod } from "@calotype/core/billing";
import { type BudgetLedger, findPeriod, type HoldRecord, type OutboxLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { START } from "./clock.js";
import { holdOf, recordOf, releasedOf, unresolvedOf } from "./entries.js";
import { type LedgerStore, type OpenLedger, useLedger } from "./open-ledger.js";
import { readRecords } from "./read-ledger.js";

const DAY: BudgetPeriod = { unit: "day", timeZone: "Asia/Kathmandu" };
const MONTH: BudgetPeriod = { unit: "month", timeZone: "Europe/London" };

const { key: TODAY, from, to } = findPeriod(DAY, START);
const { key: TOMORROW } = findPeriod(DAY, to);

/** A hold of 0.5 with a budget of 1 a day. */
const dailyHoldOf = (id: string, rest: Partial<HoldRecord> = {}): HoldRecord =>
  holdOf({ id, budget: "1", period: DAY, ...rest });

/** A hold counts in the period in which it was made, whatever happens to it later. */
export function describePeriods(
  open: OpenLedger<BudgetLedger & OutboxLedger>,
  { isDurable = false, isShared = false }: LedgerStore,
): void {
  describe("a budget with a period", () => {
    const bench = useLedger(open);

    it("is exact at the edge of a period, and refuses with the balance of the period", async () => {
      const { ledger, clock } = bench();
      for (const id of ["req_1", "req_2"]) expect(await ledger.hold(dailyHoldOf(id))).toEqual({ ok: true });
      const refused = { ok: false, balance: { settled: "0", held: "1" } };
      expect(await ledger.hold(dailyHoldOf("req_3"))).toEqual(refused);
      clock.advance(to - START - 1);
      expect(await ledger.hold(dailyHoldOf("req_3"))).toEqual(refused);
      clock.advance(1);
      expect(await ledger.hold(dailyHoldOf("req_3"))).toEqual({ ok: true });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "1.5" });
    });

    it("is read for many callers at once as for each of them, in their order", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(dailyHoldOf("req_1"));
      clock.advance(to - START);
      await ledger.hold(dailyHoldOf("req_2", { amount: "0.3" }));
      await ledger.hold(dailyHoldOf("req_3", { caller: "you", amount: "0.7" }));
      await ledger.settle(recordOf({ id: "req_3", caller: "you", charge: "0.6" }));
      const callers = ["you", "none", "me", "__proto__", "you", "a\u0000b"];

      expect(await ledger.budgets.balances?.(callers, DAY)).toEqual(
        [
          { settled: "0.6", held: "0" },
          { settled: "0", held: "0" },
          { settled: "0", held: "0.3" },
          { settled: "0", held: "0" },
          { settled: "0.6", held: "0" },
          { settled: "0", held: "0" },
        ].map((balance) => ({ ...balance, from: to, to: to + 86_400_000 })),
      );
      expect(await ledger.budgets.balances?.(["me", "none", "you"], undefined)).toEqual([
        { settled: "0", held: "0.8" },
        { settled: "0", held: "0" },
        { settled: "0.6", held: "0" },
      ]);
      expect(await ledger.budgets.balances?.([], undefined)).toEqual([]);
    });

    it("is corrected in the period of the hold by a settlement after its end", async () => {
      const { ledger, clock } = bench();
      for (const id of ["req_1", "req_2", "req_3"]) await ledger.hold(dailyHoldOf(id, { amount: "0.3" }));
      clock.advance(to - START);
      await ledger.hold(dailyHoldOf("req_4"));
      await ledger.settle(recordOf({ id: "req_1", charge: "0.2" }));
      await ledger.release("req_2");

      expect(await ledger.budgets.list({ caller: "me" })).toEqual([
        { caller: "me", key: TOMORROW, from: to, to: to + 86_400_000, settled: "0", held: "0.5" },
        { caller: "me", key: TODAY, from, to, settled: "0.2", held: "0.3" },
      ]);
      expect(await readRecords(ledger)).toEqual([recordOf({ id: "req_1", charge: "0.2", period: TODAY })]);
    });

    it.each(["charge", "release"] as const)(
      "is corrected in the period of the hold by a sweep, a late release and a late settlement (%s)",
      async (onLost) => {
        const { ledger, clock } = bench();
        await ledger.hold(dailyHoldOf("req_1", { ttlMs: 1 }));
        await ledger.hold(dailyHoldOf("req_2", { ttlMs: 1 }));
        clock.advance(to - START);
        const charge = onLost === "charge" ? "0.5" : "0";
        const records = ["req_1", "req_2"].map((id) => unresolvedOf({ id, charge, period: TODAY }));
        expect(await ledger.sweep({ onLost })).toEqual(records);
        expect(await readRecords(ledger)).toEqual(records);
        expect(await ledger.budgets.list()).toMatchObject([
          { key: TODAY, settled: onLost === "charge" ? "1" : "0", held: "0" },
        ]);

        await ledger.release("req_1");
        await ledger.settle(recordOf({ id: "req_2", charge: "0.1" }));
        const released = releasedOf({ id: "req_1", period: TODAY });
        expect(await readRecords(ledger)).toEqual([
          released,
          recordOf({ id: "req_2", charge: "0.1", period: TODAY, late: true }),
        ]);
        await ledger.settle(recordOf({ id: "req_1", charge: "0.4" }));
        expect(await ledger.budgets.list()).toMatchObject([{ key: TODAY, settled: "0.5", held: "0" }]);
        expect(await ledger.totals("period")).toMatchObject([{ key: TODAY, requests: 2, charge: "0.5" }]);
      },
    );

    it("reads the present period, and zeros for a caller without one", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(dailyHoldOf("req_1"));
      expect(await ledger.budgets.balance("me", DAY)).toEqual({
        caller: "me",
        key: TODAY,
        from,
        to,
        settled: "0",
        held: "0.5",
      });
      expect(await ledger.budgets.balance("other", DAY)).toMatchObject({
        key: TODAY,
        settled: "0",
        held: "0",
      });
      expect(await ledger.budgets.balance("me", MONTH)).toMatchObject({
        key: "2026-01-01 month Europe/London",
        held: "0",
      });
      clock.advance(to - START);
      expect(await ledger.budgets.balance("me", DAY)).toMatchObject({ key: TOMORROW, held: "0" });
    });

    it("lists the accounts of a prefix with the budgets of their last holds, in pages", async () => {
      const { ledger, clock } = bench();
      const holds = [
        dailyHoldOf("req_1", { caller: "user:ann" }),
        holdOf({ id: "req_2", caller: "user:bob", budget: "3" }),
        holdOf({ id: "req_3", caller: "user:\u{1F98A}" }),
        holdOf({ id: "req_4", caller: "users" }),
        dailyHoldOf("req_5", { caller: "user:bob" }),
      ];
      for (const hold of holds) expect(await ledger.hold(hold)).toEqual({ ok: true });
      clock.advance(to - START);
      await ledger.hold(dailyHoldOf("req_6", { caller: "user:ann" }));

      const list = async (after: string, limit: number) =>
        await ledger.budgets.accounts?.({ prefix: "user:", after, limit });
      const { budget } = dailyHoldOf("");
      const daily = (caller: string, key: string, held: string) => ({
        caller,
        settled: "0",
        held,
        budget: null,
        newest: { key, settled: "0", held: "0.5", budget },
      });
      const ann = daily("user:ann", TOMORROW, "1");
      const bob = daily("user:bob", TODAY, "1");
      const fox = { caller: "user:\u{1F98A}", settled: "0", held: holds[2]?.amount, budget: null };
      expect(await list("user:", 10)).toEqual([ann, bob, fox]);
      expect(await list("user:", 2)).toEqual([ann, bob]);
      expect(await list("user:bob", 2)).toEqual([fox]);
      await ledger.hold(holdOf({ id: "req_7", caller: "user:bob", budget: "5" }));
      expect(await list("user:ann", 1)).toMatchObject([{ caller: "user:bob", budget: "5" }]);
    });

    it("is counted apart for each unit and time zone, and lists them with a filter", async () => {
      const { ledger } = bench();
      await ledger.hold(dailyHoldOf("req_1"));
      await ledger.hold(dailyHoldOf("req_2", { caller: "other" }));
      expect(await ledger.hold(dailyHoldOf("req_3", { period: MONTH, amount: "1" }))).toEqual({ ok: true });

      const keys = async (filter: object): Promise<string[]> =>
        (await ledger.budgets.list(filter)).map(({ caller, key }) => `${caller} ${key}`);
      const month = "me 2026-01-01 month Europe/London";
      expect(await keys({})).toEqual([`me ${TODAY}`, `other ${TODAY}`, month]);
      expect(await keys({ unit: "month" })).toEqual([month]);
      expect(await keys({ caller: "other" })).toEqual([`other ${TODAY}`]);
      expect(await keys({ limit: 1 })).toEqual([`me ${TODAY}`]);
      await expect(ledger.budgets.list({ limit: 0 })).rejects.toThrow("limit must be a whole number");
    });

    it.each<[BudgetPeriod]>([
      // @ts-expect-error There is no such unit.
      [{ unit: "year", timeZone: "UTC" }],
      [{ unit: "day", timeZone: "Mars/Olympus" }],
      [{ unit: "day", timeZone: "x".repeat(65) }],
    ])("is refused if it is unknown: %j", async (period) => {
      const { ledger } = bench();
      const hold = dailyHoldOf("req_1", { period });
      await expect(ledger.hold(hold)).rejects.toThrow(RangeError);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("is shared by parallel holds, and never overdrawn", async () => {
      const { ledger, join } = bench();
      const ledgers = [ledger, isShared ? await join() : ledger];
      const results = await Promise.all(
        Array.from(
          { length: 60 },
          async (_, at) => await ledgers[at % 2]?.hold(dailyHoldOf(`req_${at}`, { amount: "0.07" })),
        ),
      );
      expect(results.filter((result) => result?.ok)).toHaveLength(14);
      expect(await ledger.budgets.balance("me", DAY)).toMatchObject({ held: "0.98" });
    });

    it("keeps its balances and alerts if its process is restarted", async () => {
      const { ledger, reopen } = bench();
      if (!isDurable) return;
      await ledger.hold(dailyHoldOf("req_1"));
      await ledger.hold(dailyHoldOf("req_2", { amount: "0.1" }));
      await ledger.settle(recordOf({ id: "req_1", charge: "0.5" }));
      const again = await reopen();
      expect(await again.budgets.list()).toMatchObject([{ key: TODAY, settled: "0.5", held: "0.1" }]);
      expect(await again.outbox.lease("alert", { limit: 9, leaseMs: 0 })).toMatchObject([
        { threshold: 50, settled: "0.5" },
      ]);
    });
  });
}
