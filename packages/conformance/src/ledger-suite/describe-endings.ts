import type { HoldRecord } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { holdOf, itemizedRecordOf, plainRecordOf, recordOf } from "./entries.js";
import { expectTotals, type OpenLedger, useLedger } from "./open-ledger.js";
import { readRecords } from "./read-ledger.js";

const STEPS = ["hold", "settle", "release"] as const;
type EndingStep = (typeof STEPS)[number];

/** Every sequence of one, two and three steps without a settlement, and its result. */
const UNSETTLED: Readonly<Record<string, "held" | "nothing">> = {
  hold: "held",
  release: "nothing",
  "hold hold": "held",
  "hold release": "nothing",
  "release hold": "held",
  "release release": "nothing",
  "hold hold hold": "held",
  "hold hold release": "nothing",
  "hold release hold": "held",
  "hold release release": "nothing",
  "release hold hold": "held",
  "release hold release": "nothing",
  "release release hold": "held",
  "release release release": "nothing",
};

const followedByEach = (sequences: readonly EndingStep[][]): EndingStep[][] =>
  sequences.flatMap((sequence) => STEPS.map((step) => [...sequence, step]));

const ONE = followedByEach([[]]);
const TWO = followedByEach(ONE);
const SEQUENCES = [...ONE, ...TWO, ...followedByEach(TWO)].map((sequence) => {
  const name = sequence.join(" ");
  return { sequence, name, end: UNSETTLED[name] ?? ("settled" as const) };
});

const BALANCES = {
  held: { settled: "0", held: "0.5" },
  nothing: { settled: "0", held: "0" },
  settled: { settled: "0.3", held: "0" },
};

/** A hold always ends once, and a settled record is never lost. */
export function describeEndings(open: OpenLedger): void {
  describe("a request that is held, settled and released", () => {
    const bench = useLedger(open);

    it.each(SEQUENCES)("$name: ends as $end", async ({ sequence, end }) => {
      const { ledger } = bench();
      const take: Record<EndingStep, () => Promise<unknown>> = {
        hold: async () => expect(await ledger.hold(holdOf({ id: "req_1" }))).toEqual({ ok: true }),
        settle: async () => await ledger.settle(recordOf({ id: "req_1" })),
        release: async () => await ledger.release("req_1"),
      };

      for (const step of sequence) await take[step]();

      expect(await ledger.balance("me")).toEqual(BALANCES[end]);
      expect(await readRecords(ledger)).toEqual(end === "settled" ? [recordOf({ id: "req_1" })] : []);
    });

    it("keeps the first of two records", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1", charge: "0.1" }));
      await ledger.settle(recordOf({ id: "req_1", charge: "0.2", caller: "other" }));

      expect(await readRecords(ledger)).toEqual([recordOf({ id: "req_1", charge: "0.1" })]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
      expect(await ledger.balance("other")).toEqual({ settled: "0", held: "0" });
    });

    it.each<[string, Partial<HoldRecord>]>([
      ["a time without a zone", { time: "2026-01-31T12:00:00" }],
      ["no time", { time: "then" }],
      ["an amount below 0", { amount: "-1" }],
      ["an amount that is no plain decimal", { amount: "1e3" }],
      ["an amount of 501 digits", { amount: "9".repeat(501) }],
      ["a budget that is no decimal", { budget: "much" }],
      ["an end before its beginning", { ttlMs: -1 }],
      ["an end that is no number", { ttlMs: Number.NaN }],
      ["no end", { ttlMs: Number.POSITIVE_INFINITY }],
    ])("is refused with %s, and leaves nothing behind", async (_what, rest) => {
      const { ledger } = bench();
      const hold = async () => await ledger.hold(holdOf({ id: "req_1", ...rest }));
      await expect(hold()).rejects.toThrow(RangeError);

      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
      expect(await ledger.sweep({ onLost: "charge", own: true })).toEqual([]);
    });

    it("keeps the first of two holds", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "0.1" }));
      await ledger.hold(holdOf({ id: "req_1", amount: "0.2", caller: "other" }));

      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.1" });
      expect(await ledger.balance("other")).toEqual({ settled: "0", held: "0" });
    });

    it("is known: a second hold is ok with any budget, while the first is open or settled", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      expect(await ledger.hold(holdOf({ id: "req_1", budget: "0" }))).toEqual({ ok: true });

      await ledger.settle(recordOf({ id: "req_1" }));
      expect(await ledger.hold(holdOf({ id: "req_1", budget: "0" }))).toEqual({ ok: true });
      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("is settled once if it is settled many times in parallel", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await Promise.all(
        Array.from({ length: 50 }, async () => await ledger.settle(recordOf({ id: "req_1" }))),
      );

      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
      expect(await readRecords(ledger)).toHaveLength(1);
    });

    it("ends in one way if it is settled and released in parallel", async () => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      await Promise.all([ledger.release("req_1"), ledger.settle(recordOf({ id: "req_1" }))]);

      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("stores a record with the fewest fields unchanged", async () => {
      const { ledger } = bench();
      const record = plainRecordOf({ id: "req_1", charge: null });
      await ledger.settle(record);

      expect(await readRecords(ledger)).toStrictEqual([record]);
    });

    it("stores a record with every field unchanged", async () => {
      const { ledger } = bench();
      const record = recordOf({
        id: "req_1",
        errorCode: "upstream_error",
        unpriced: true,
        reportedUsage: { generated_images: 9, output_tokens: 9, total_tokens: 9 },
        attempts: [
          { call: 0, channel: "ark-1", key: 0, code: "upstream_unreachable", durationMs: 3 },
          { call: 1, channel: "ark-1", key: 1, status: 200, durationMs: 900 },
        ],
        upstreamRequestIds: ["0217", "0218"],
      });
      await ledger.settle(record);

      expect(await readRecords(ledger)).toStrictEqual([record]);
    });

    it("keeps every line of a charge by dimension, also for its delivery", async () => {
      const { ledger } = bench();
      const record = itemizedRecordOf({ id: "req_1" });
      await ledger.hold(holdOf({ id: "req_1" }));
      await ledger.settle(record);

      expect(await readRecords(ledger)).toStrictEqual([record]);
      expect(await ledger.takeUndelivered(1, 0)).toStrictEqual([record]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.06", held: "0" });
      await expectTotals(ledger, "model", [{ requests: 1, images: 1, charge: "0.06" }]);
    });

    it("is stored as it was settled, even if the object changes afterwards", async () => {
      const { ledger } = bench();
      const usage = { generated_images: 1 };
      const reportedUsage = { generated_images: 1 };
      const upstreamRequestIds = ["0217"];
      const record = recordOf({ id: "req_1", usage, reportedUsage, upstreamRequestIds });
      await ledger.settle(record);
      usage.generated_images = 2;
      reportedUsage.generated_images = 2;
      upstreamRequestIds.push("0218");
      const [read] = await readRecords(ledger);
      Object.assign(read ?? {}, { charge: "9" });

      expect(await readRecords(ledger)).toEqual([
        recordOf({
          id: "req_1",
          usage: { generated_images: 1 },
          reportedUsage: { generated_images: 1 },
          upstreamRequestIds: ["0217"],
        }),
      ]);
    });
  });
}
