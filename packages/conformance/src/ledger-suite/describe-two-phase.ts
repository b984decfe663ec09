import type { LostPolicy } from "@calotype/core/billing";
import type { Balance, MinimalLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "./entries.js";
import { type OpenLedger, useLedger } from "./open-ledger.js";
import { readRecords } from "./read-ledger.js";

/*
 * The cases of two-phase transfers that TigerBeetle documents (docs.tigerbeetle.com, "Two-Phase Transfers" and the results of
 * `create_transfers`), on this ledger: a pending transfer is a hold, to post is to settle, to void is to release, a timeout is a sweep
 * after the hold's time, and the limit `debits_must_not_exceed_credits` is a budget.
 *
 * The ledgers differ in what happens to a mistake. TigerBeetle refuses it. Here the money was spent at a provider already, so a
 * settlement is never refused: the first one counts, whatever came before it. Each case says where the two differ.
 */

const TTL_MS = 1_000;
type StepOutcome = "granted" | "refused" | "on time" | "late" | "";

/** A step of a case. Its outcome is what the ledger returns. */
interface TwoPhaseStep {
  readonly take: (bench: {
    readonly ledger: MinimalLedger;
    readonly advance: (ms: number) => void;
  }) => Promise<StepOutcome>;
}

interface HoldOptions {
  readonly id?: string;
  readonly budget?: string;
  readonly ttlMs?: number;
  readonly caller?: string;
}

const hold = (amount: string, { id = "a", ttlMs = TTL_MS, ...rest }: HoldOptions = {}): TwoPhaseStep => ({
  take: async ({ ledger }) =>
    (await ledger.hold(holdOf({ id, amount, ttlMs, ...rest }))).ok ? "granted" : "refused",
});
const settle = (charge: string, id = "a", caller = "me"): TwoPhaseStep => ({
  take: async ({ ledger }) =>
    (await ledger.settle(recordOf({ id, charge, caller })))?.isLate === true ? "late" : "on time",
});
const release = (id = "a"): TwoPhaseStep => ({
  take: async ({ ledger }) => {
    await ledger.release(id);
    return "";
  },
});
const sweepAfter = (ms: number, onLost: LostPolicy = "release"): TwoPhaseStep => ({
  take: async ({ ledger, advance }) => {
    advance(ms);
    await ledger.sweep({ onLost });
    return "";
  },
});
const wait = (ms: number): TwoPhaseStep => ({
  take: async ({ advance }) => {
    advance(ms);
    return "";
  },
});

interface TwoPhaseCase {
  readonly name: string;
  /** What TigerBeetle does instead, if it differs. */
  readonly differs?: string;
  readonly steps: readonly (readonly [TwoPhaseStep, StepOutcome?])[];
  /** Settled and held. */
  readonly ends: readonly [string, string];
  /** The states of the records, by id. */
  readonly records?: Readonly<Record<string, string>>;
}

const SETTLED = { a: "settled" };

const CASES: readonly TwoPhaseCase[] = [
  { name: "pending: reserves its amount", steps: [[hold("5"), "granted"]], ends: ["0", "5"] },
  {
    name: "post all: moves the amount",
    steps: [[hold("5")], [settle("5"), "on time"]],
    ends: ["5", "0"],
    records: SETTLED,
  },
  {
    name: "post less: the rest is free again",
    steps: [[hold("5", { budget: "5" })], [settle("2")], [hold("3", { id: "b", budget: "5" }), "granted"]],
    ends: ["2", "3"],
    records: SETTLED,
  },
  {
    name: "post nothing: all is free again, and there is a record",
    steps: [[hold("5")], [settle("0"), "on time"]],
    ends: ["0", "0"],
    records: SETTLED,
  },
  {
    name: "post more than is pending: the provider made more than was asked for",
    differs: "refused, exceeds_pending_transfer_amount",
    steps: [[hold("5", { budget: "5" })], [settle("7"), "on time"]],
    ends: ["7", "0"],
    records: SETTLED,
  },
  { name: "void: all is free again, without a record", steps: [[hold("5")], [release()]], ends: ["0", "0"] },
  {
    name: "post twice: the first one counts",
    differs: "the second one is refused, pending_transfer_already_posted",
    steps: [[hold("5")], [settle("2"), "on time"], [settle("5"), "on time"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "void twice: the second one changes nothing",
    differs: "the second one is refused, pending_transfer_already_voided",
    steps: [[hold("5")], [release()], [release()]],
    ends: ["0", "0"],
  },
  {
    name: "post after void: a provider was called after all, so it is charged",
    differs: "refused, pending_transfer_already_voided",
    steps: [[hold("5")], [release()], [settle("2"), "on time"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "void after post: changes nothing",
    differs: "refused, pending_transfer_already_posted",
    steps: [[hold("5")], [settle("2")], [release()]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "timeout: all is free again after the next sweep, and there is a record",
    differs: "at the timeout, without a sweep and without a record",
    steps: [[hold("5")], [sweepAfter(TTL_MS)]],
    ends: ["0", "0"],
    records: { a: "unresolved" },
  },
  {
    name: "timeout that charges what was reserved",
    differs: "a timeout never moves money",
    steps: [[hold("5")], [sweepAfter(TTL_MS, "charge")]],
    ends: ["5", "0"],
    records: { a: "unresolved" },
  },
  {
    name: "before the timeout: still reserved",
    steps: [[hold("5")], [sweepAfter(TTL_MS - 1)]],
    ends: ["0", "5"],
  },
  {
    name: "after the timeout, before the sweep: still reserved, and counts against the budget",
    differs: "free at the timeout",
    steps: [[hold("5", { budget: "5" })], [wait(TTL_MS)], [hold("1", { id: "b", budget: "5" }), "refused"]],
    ends: ["0", "5"],
  },
  {
    name: "post after the timeout, before the sweep: on time",
    differs: "refused, pending_transfer_expired",
    steps: [[hold("5")], [wait(TTL_MS)], [settle("2"), "on time"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "post after the sweep: charged late",
    differs: "refused, pending_transfer_expired",
    steps: [[hold("5")], [sweepAfter(TTL_MS)], [settle("2"), "late"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "post after a sweep that charged: the charge replaces it",
    differs: "refused, pending_transfer_expired",
    steps: [[hold("5")], [sweepAfter(TTL_MS, "charge")], [settle("2"), "late"], [settle("3"), "on time"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "post after the sweep, when the money is spent: charged over the budget",
    differs: "refused, pending_transfer_expired",
    steps: [
      [hold("5", { budget: "5" })],
      [sweepAfter(TTL_MS)],
      [hold("5", { id: "b", budget: "5" }), "granted"],
      [settle("5"), "late"],
    ],
    ends: ["5", "5"],
    records: SETTLED,
  },
  {
    name: "void after the sweep: costs nothing, also if the sweep charged it",
    differs: "refused, pending_transfer_expired",
    steps: [[hold("5")], [sweepAfter(TTL_MS, "charge")], [release()]],
    ends: ["0", "0"],
    records: { a: "released" },
  },
  {
    name: "a timeout of 0: over with the next sweep",
    differs: "never over",
    steps: [[hold("5", { ttlMs: 0 })], [sweepAfter(0)]],
    ends: ["0", "0"],
    records: { a: "unresolved" },
  },
  {
    name: "the limit counts what is pending",
    steps: [[hold("3", { budget: "5" })], [hold("3", { id: "b", budget: "5" }), "refused"]],
    ends: ["0", "3"],
  },
  {
    name: "the limit counts what is pending and what was posted, up to the limit itself",
    steps: [
      [hold("3", { budget: "5" })],
      [settle("3")],
      [hold("2", { id: "b", budget: "5" }), "granted"],
      [hold("0.1", { id: "c", budget: "5" }), "refused"],
    ],
    ends: ["3", "2"],
    records: SETTLED,
  },
  {
    name: "post does not check the limit again",
    steps: [[hold("5", { budget: "5" })], [hold("1", { id: "b", budget: "2" }), "refused"], [settle("5")]],
    ends: ["5", "0"],
    records: SETTLED,
  },
  {
    name: "void makes room below the limit",
    steps: [[hold("5", { budget: "5" })], [release()], [hold("5", { id: "b", budget: "5" }), "granted"]],
    ends: ["0", "5"],
  },
  {
    name: "nothing is pending below a limit of 0",
    steps: [
      [hold("0", { budget: "0" }), "granted"],
      [hold("0.1", { id: "b", budget: "0" }), "refused"],
    ],
    ends: ["0", "0"],
  },
  {
    name: "the same transfer again: nothing changes",
    steps: [
      [hold("5", { budget: "5" }), "granted"],
      [hold("5", { budget: "5" }), "granted"],
    ],
    ends: ["0", "5"],
  },
  {
    name: "the same id with another amount: the first one counts",
    differs: "refused, exists_with_different_amount",
    steps: [[hold("5")], [hold("9"), "granted"]],
    ends: ["0", "5"],
  },
  {
    name: "the same id after it was posted: nothing is reserved",
    steps: [[hold("5")], [settle("2")], [hold("5"), "granted"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "the same id after a sweep: nothing is reserved",
    steps: [[hold("5")], [sweepAfter(TTL_MS)], [hold("5"), "granted"]],
    ends: ["0", "0"],
    records: { a: "unresolved" },
  },
  {
    name: "the same id after it was voided: reserved again",
    differs: "the id exists, so nothing is reserved",
    steps: [[hold("5")], [release()], [hold("4"), "granted"]],
    ends: ["0", "4"],
  },
  {
    name: "the same id after it was refused: may be reserved now",
    differs: "refused for good, id_already_failed",
    steps: [
      [hold("3", { id: "b", budget: "5" })],
      [hold("3", { budget: "5" }), "refused"],
      [release("b")],
      [hold("3", { budget: "5" }), "granted"],
    ],
    ends: ["0", "3"],
  },
  {
    name: "post without anything pending: charged, because a charge is never lost",
    differs: "refused, pending_transfer_not_found",
    steps: [[settle("2"), "on time"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "void without anything pending: changes nothing",
    differs: "refused, pending_transfer_not_found",
    steps: [[release()]],
    ends: ["0", "0"],
  },
  {
    name: "post for another account: charged to the account of the post, and free in its own",
    differs: "refused, pending_transfer_has_different_debit_account_id",
    steps: [[hold("5", { caller: "other" })], [settle("2", "a", "me"), "on time"]],
    ends: ["2", "0"],
    records: SETTLED,
  },
  {
    name: "several are resolved one by one",
    steps: [
      [hold("1")],
      [hold("2", { id: "b" })],
      [hold("4", { id: "c" })],
      [release("b")],
      [settle("1")],
      [sweepAfter(TTL_MS - 1)],
    ],
    ends: ["1", "4"],
    records: SETTLED,
  },
];

/** The documented cases of another ledger's two-phase transfers. */
export function describeTwoPhase(name: string, open: OpenLedger): void {
  describe(`a two-phase transfer ${name}`, () => {
    const bench = useLedger(open);

    it.each(CASES)("$name", async ({ steps, ends: [settled, held], records = {} }) => {
      const { ledger, clock } = bench();
      const advance = (ms: number): void => clock.advance(ms);
      const seen: (StepOutcome | undefined)[] = [];
      for (const [step, outcome] of steps) {
        const taken = await step.take({ ledger, advance });
        seen.push(outcome === undefined ? outcome : taken);
      }
      expect(seen).toEqual(steps.map(([, outcome]) => outcome));
      expect(await ledger.balance("me")).toEqual({ settled, held } satisfies Balance);
      expect(await ledger.balance("other")).toEqual({ settled: "0", held: "0" });
      const states = (await readRecords(ledger)).map(({ id, state }) => [id, state]);
      expect(Object.fromEntries(states)).toEqual(records);
    });
  });
}
