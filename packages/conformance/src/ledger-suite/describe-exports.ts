import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { exportRecords } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { holdOf, plainRecordOf, recordOf } from "./entries.js";
import { HOSTILE_STRINGS } from "./hostile-strings.js";
import { type OpenLedger, useLedger } from "./open-ledger.js";
import { readRecords } from "./read-ledger.js";

/** An export contains all records as lines of JSON. */
export function describeExports(open: OpenLedger<Ledger>): void {
  describe("an export", () => {
    const bench = useLedger(open);

    it("of an empty ledger is empty", async () => {
      expect(await Readable.from(exportRecords(bench().ledger)).toArray()).toEqual([]);
    });

    it("contains each record unchanged on its own line", async () => {
      const { ledger } = bench();
      for (const [at, text] of Object.values(HOSTILE_STRINGS).entries()) {
        await ledger.settle(recordOf({ id: text, caller: text, model: text, time: timeAfterStart(at) }));
      }
      await ledger.settle(plainRecordOf({ id: "plain", charge: null }));
      await ledger.hold(holdOf({ id: "lost" }));
      await ledger.sweep({ onLost: "charge", own: true });

      const parts = await Readable.from(exportRecords(ledger)).toArray();
      expect(parts.filter((part) => !/^[^\n]+\n$/.test(String(part)))).toEqual([]);
      const lines = createInterface({ input: Readable.from(exportRecords(ledger)), crlfDelay: Infinity });
      const parsed: unknown[] = [];
      for await (const line of lines) parsed.push(JSON.parse(line));

      expect(parsed).toStrictEqual(await readRecords(ledger));
    });

    it("contains the records that match its filter", async () => {
      const { ledger } = bench();
      await ledger.settle(recordOf({ id: "req_1", caller: "me" }));
      await ledger.settle(recordOf({ id: "req_2", caller: "other" }));

      const lines = await Readable.from(exportRecords(ledger, { caller: "other" })).toArray();
      expect(lines).toEqual([`${JSON.stringify(recordOf({ id: "req_2", caller: "other" }))}\n`]);
    });
  });
}
