import type { OutboxKind } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "../ledger-suite/entries.js";
import { type OpenLedger, useLedger } from "../ledger-suite/open-ledger.js";
import { submit } from "../task-suite/tasks.js";
import type { TestedLedger } from "./tested-ledger.js";

const LEASE_MS = 10_000;
const COUNT = 12;

/** Ends the delivery of entries. Returns their ids. */
type End = (ledger: TestedLedger, limit: number) => Promise<string[]>;

const KINDS: readonly (readonly [
  OutboxKind,
  (ledger: TestedLedger, name: string) => Promise<unknown>,
  End,
])[] = [
  [
    "record",
    (ledger, name) => ledger.settle(recordOf({ id: `req_${name}` })),
    async ({ outbox }, limit) => {
      const entries = await outbox.lease("record", { limit, leaseMs: LEASE_MS });
      await outbox.done("record", entries);
      return entries.map(({ id }) => id);
    },
  ],
  [
    "alert",
    async (ledger, name) => {
      await ledger.hold(holdOf({ id: `req_${name}`, caller: name, amount: "1", budget: "2" }));
      await ledger.settle(recordOf({ id: `req_${name}`, caller: name, charge: "1" }));
    },
    async ({ outbox }, limit) => {
      const entries = await outbox.lease("alert", { limit, leaseMs: LEASE_MS });
      await outbox.done("alert", entries);
      return entries.map(({ id }) => id);
    },
  ],
  [
    "message",
    async (ledger, name) => {
      await submit(ledger, name, { webhooks: ["shop"] });
      await ledger.tasks.cancel("me", `task_${name}`);
    },
    async ({ outbox }, limit) => {
      const entries = await outbox.lease("message", { limit, leaseMs: LEASE_MS });
      for (const { id } of entries) await outbox.finish(id, { kind: "delivered" });
      return entries.map(({ id }) => id);
    },
  ],
];

/** Every kind of entry is leased, and delivered at least once. */
export function describeLeases(open: OpenLedger<TestedLedger>): void {
  describe.each(KINDS)("an entry of the kind %s", (kind, write, end) => {
    const bench = useLedger(open);

    const lease = async (limit = 100): Promise<string[]> =>
      (await bench().ledger.outbox.lease(kind, { limit, leaseMs: LEASE_MS })).map(({ id }) => id);

    /** The time passes in between, so that the order of messages is known too. */
    async function writeMany(): Promise<void> {
      const { ledger, clock } = bench();
      for (let at = 0; at < COUNT; at++) {
        await write(ledger, String(at).padStart(2, "0"));
        clock.advance(1);
      }
    }

    it("is returned in the order of writing, up to the requested number", async () => {
      await writeMany();
      const [first, second, rest] = [await lease(3), await lease(3), await lease()];
      expect([first.length, second.length, rest.length]).toEqual([3, 3, COUNT - 6]);
      expect(new Set([...first, ...second, ...rest]).size).toBe(COUNT);
      bench().clock.advance(LEASE_MS);
      expect(await lease()).toEqual([...first, ...second, ...rest]);
    });

    it("is leased to the one who takes it, and returned again after the lease", async () => {
      const { ledger, clock } = bench();
      await write(ledger, "a");
      const leased = await lease();
      expect(leased).toHaveLength(1);
      expect(await lease()).toEqual([]);
      clock.advance(LEASE_MS - 1);
      expect(await lease()).toEqual([]);
      clock.advance(1);
      expect(await lease()).toEqual(leased);
    });

    it("is returned to one of several parallel calls", async () => {
      await writeMany();
      const taken = await Promise.all(Array.from({ length: 9 }, () => lease(2)));
      expect(new Set(taken.flat()).size).toBe(COUNT);
      expect(taken.flat()).toHaveLength(COUNT);
    });

    it("is not returned again after its delivery, which delays no other entry", async () => {
      const { ledger, clock } = bench();
      await writeMany();
      const delivered = await end(ledger, 5);
      expect(delivered).toHaveLength(5);
      expect(await lease()).toHaveLength(COUNT - 5);
      clock.advance(LEASE_MS);
      const left = await lease();
      expect(left).toHaveLength(COUNT - 5);
      expect(left.filter((id) => delivered.includes(id))).toEqual([]);
    });

    it("is not one of another kind", async () => {
      const { ledger } = bench();
      await write(ledger, "a");
      const others = KINDS.map(([other]) => other).filter((other) => other !== kind);
      // A charge that reaches a threshold writes a record too.
      for (const other of kind === "alert" ? (["message"] as const) : others) {
        expect(await ledger.outbox.lease(other, { limit: 9, leaseMs: 0 })).toEqual([]);
      }
    });
  });
}
