import type { BudgetAlert } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "../ledger-suite/entries.js";
import { type LedgerStore, type OpenLedger, useLedger } from "../ledger-suite/open-ledger.js";
import type { TestedLedger } from "./tested-ledger.js";

const DAY_MS = 86_400_000;
const OPTIONS = { limit: 9, leaseMs: 1_000 };
const MESSAGES = [
  { id: `msg_${"a".repeat(32)}`, endpoint: "shop" },
  { id: `msg_${"b".repeat(32)}`, endpoint: "log" },
];

/** Messages about alerts are sent as those about tasks are, and kept for 30 days. */
export function describeAlertMessages(
  open: OpenLedger<TestedLedger>,
  { isDurable = false }: LedgerStore,
): void {
  describe("a message about an alert", () => {
    const bench = useLedger(open);

    async function writeMessages(): Promise<BudgetAlert> {
      const { ledger } = bench();
      const period = { unit: "month", timeZone: "Europe/London" } as const;
      await ledger.hold(holdOf({ id: "req_1", amount: "1", budget: "2", period }));
      await ledger.settle(recordOf({ id: "req_1", charge: "1" }));
      const [alert] = await ledger.outbox.lease("alert", OPTIONS);
      if (alert === undefined) throw new TypeError("There is no alert.");
      await ledger.outbox.addMessages(alert, MESSAGES);
      return alert;
    }

    it("is returned with its alert, and listed", async () => {
      const alert = await writeMessages();
      const { ledger } = bench();
      const entries = await (isDurable ? await bench().reopen() : ledger).outbox.lease("message", OPTIONS);
      expect(entries.map(({ id }) => id).toSorted()).toEqual(MESSAGES.map(({ id }) => id));
      for (const entry of entries) {
        expect(entry.alert).toEqual(alert);
        expect(entry.task).toBeUndefined();
        expect(entry.message).toMatchObject({ alert: alert.id, caller: "me", state: "waiting", attempts: 0 });
        expect(entry.message.task).toBeUndefined();
      }
    });

    it("is written once, and not again after it was delivered", async () => {
      const alert = await writeMessages();
      const { ledger, clock } = bench();
      await ledger.outbox.finish(MESSAGES[0]?.id ?? "", { kind: "delivered" });
      await ledger.outbox.addMessages(alert, MESSAGES);
      clock.advance(1);
      expect((await ledger.outbox.lease("message", OPTIONS)).map(({ message }) => message.endpoint)).toEqual([
        "log",
      ]);
      expect(await ledger.outbox.replay({ endpoint: "shop" })).toBe(1);
      expect(await ledger.outbox.list({ caller: "me", state: "waiting" }, 9)).toHaveLength(2);
      expect(await ledger.outbox.list({ task: "task_1" }, 9)).toEqual([]);
    });

    it("is the state of its alert, which is listed for 30 days", async () => {
      const alert = await writeMessages();
      const { ledger, clock } = bench();
      const { outbox } = ledger;
      const list = async (caller?: string) => (await outbox.listAlerts?.({ caller }, 9)) ?? [];
      const readState = async () => (await list()).map(({ state }) => state);
      expect(await list()).toEqual([{ ...alert, state: "waiting" }]);
      for (const { id } of MESSAGES) await outbox.finish(id, { kind: "delivered" });
      expect(await readState()).toEqual(["waiting"]);

      await outbox.done("alert", [alert]);
      expect(await readState()).toEqual(["delivered"]);
      clock.advance(2_000);
      expect(await outbox.lease("alert", OPTIONS)).toEqual([]);
      await outbox.replay({ endpoint: "shop" });
      expect(await readState()).toEqual(["waiting"]);
      await outbox.finish(MESSAGES[0]?.id ?? "", { kind: "given_up", error: "410" });
      expect(await readState()).toEqual(["given_up"]);
      expect(await list("me")).toHaveLength(1);
      expect(await list("you")).toEqual([]);

      clock.advance(30 * DAY_MS);
      await ledger.sweep({ onLost: "release" });
      expect(await list()).toEqual([]);
    });

    it("is forgotten 30 days after the alert, also if it waits", async () => {
      const alert = await writeMessages();
      const { ledger, clock } = bench();
      await ledger.outbox.done("alert", [alert]);
      clock.advance(30 * DAY_MS);
      await ledger.sweep({ onLost: "release" });
      expect(await ledger.outbox.list({}, 9)).toHaveLength(2);
      clock.advance(1);
      await ledger.sweep({ onLost: "release" });
      expect(await ledger.outbox.list({}, 9)).toEqual([]);
      expect(await ledger.outbox.lease("message", OPTIONS)).toEqual([]);
    });
  });
}
