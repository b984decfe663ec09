import type { SettledRecord } from "@calotype/core/billing";
import type { HoldRecord, Ledger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { holdOf, recordOf, unresolvedOf } from "./entries.js";
import { HOSTILE_STRINGS, noise } from "./hostile-strings.js";
import { type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, peekUndelivered, readRecords } from "./read-ledger.js";

const TEXTS = Object.values(HOSTILE_STRINGS);

const inOrderOfBytes = (texts: readonly string[]): string[] =>
  texts.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

/** Ids and names are opaque: no string has a special meaning. */
export function describeHostileStrings(open: OpenLedger<Ledger>): void {
  describe("an id or a name", () => {
    const bench = useLedger(open);

    it.each(Object.entries(HOSTILE_STRINGS))("may be %s", async (_what, text) => {
      const { ledger } = bench();
      const names = { caller: text, group: text, model: text };
      const record = recordOf({ ...names, id: text, channel: text, upstreamModel: text, errorCode: text });
      const marked = { ...record, late: true };
      await ledger.hold(holdOf({ ...names, id: text, budget: "1" }));
      expect(await ledger.balance(text)).toEqual({ settled: "0", held: "0.5" });
      expect(await ledger.sweep({ onLost: "release", own: true })).toEqual([
        unresolvedOf({ ...names, id: text }),
      ]);
      await ledger.settle(record);

      expect(await readRecords(ledger, { caller: text, model: text, channel: text })).toStrictEqual([marked]);
      expect(await ledger.balance(text)).toEqual({ settled: "0.3", held: "0" });
      for (const key of ["caller", "model", "channel"] as const) {
        expect(await ledger.totals(key)).toMatchObject([{ key: text, charge: "0.3" }]);
      }
      const taken = await ledger.takeUndelivered(1, 0);
      expect(taken).toStrictEqual([marked]);
      await ledger.markDelivered(taken);
      expect(await peekUndelivered(ledger)).toEqual([]);
    });

    it("is different from similar ones", async () => {
      const { ledger } = bench();
      for (const text of TEXTS) await ledger.hold(holdOf({ id: text, caller: text }));
      for (const text of TEXTS) {
        expect(await ledger.balance(text)).toEqual({ settled: "0", held: "0.5" });
        await ledger.release(text);
        expect(await ledger.balance(text)).toEqual({ settled: "0", held: "0" });
      }
    });

    it("is sorted by code points, in records and in totals", async () => {
      const { ledger } = bench();
      for (const text of TEXTS) await ledger.settle(recordOf({ id: text, caller: text }));

      const ordered = inOrderOfBytes(TEXTS);
      expect((await readRecords(ledger)).map(({ id }) => id)).toEqual(ordered);
      expect((await ledger.totals("caller")).map(({ key }) => key)).toEqual(ordered);
    });

    it.each<[string, string]>([
      ["513 bytes", "x".repeat(513)],
      ["513 bytes of 171 characters", "图".repeat(171)],
      ["2,630 bytes, as authenticate once gave", noise(2_630)],
      ["ten kilobytes", "x".repeat(10_240)],
      ["a NUL", "a\0b"],
      ["half a surrogate pair", "\ud800"],
    ])("of %s is refused by hold and settle, which store nothing", async (_what, name) => {
      const { ledger } = bench();
      await ledger.hold(holdOf({ id: "req_1", amount: "0.1" }));
      const hold = async (rest: Partial<HoldRecord>) => await ledger.hold(holdOf({ id: "req_2", ...rest }));
      const settle = async (rest: Partial<SettledRecord>) =>
        await ledger.settle(recordOf({ id: "req_2", ...rest }));

      for (const field of ["id", "caller", "group", "model"] as const) {
        await expect(hold({ [field]: name })).rejects.toThrow(
          `${field} must be a string of at most 512 bytes`,
        );
        await expect(settle({ [field]: name })).rejects.toThrow(RangeError);
      }
      await expect(settle({ channel: name })).rejects.toThrow(
        "channel must be a string of at most 512 bytes",
      );
      await ledger.release(name);

      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.1" });
      expect(idsOf(await ledger.sweep({ onLost: "charge", own: true }))).toEqual(["req_1"]);
      expect(idsOf(await readRecords(ledger))).toEqual(["req_1"]);
    });

    it("of 512 bytes fits into every field at the same time, next to the longest charge", async () => {
      const { ledger } = bench();
      const name = noise(512);
      const names = { id: name, caller: name, group: name, model: name };
      const amount = `${"7".repeat(500)}.${"3".repeat(500)}`;
      await ledger.hold(holdOf({ ...names, amount, budget: amount }));
      expect(await ledger.sweep({ onLost: "charge", own: true })).toHaveLength(1);
      await ledger.settle(recordOf({ ...names, channel: name, charge: amount }));

      expect(await ledger.balance(name)).toEqual({ settled: amount, held: "0" });
      expect(await ledger.totals("channel", { channel: name })).toMatchObject([{ charge: amount }]);
    });

    it("may be in the other fields of a record", async () => {
      const { ledger } = bench();
      const records = TEXTS.map((text, at) =>
        recordOf({ id: `req_${at}`, time: timeAfterStart(at), errorCode: text, upstreamRequestId: text }),
      );
      for (const record of records) await ledger.settle(record);

      expect(await readRecords(ledger)).toStrictEqual(records);
    });
  });
}
