import type { RecordPage, RecordQuery, UsageRecord } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { holdOf, recordOf } from "./entries.js";
import { historyOf, type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf } from "./read-ledger.js";

/** Records are read in pages, in several orders. */
export function describeRecordPages(open: OpenLedger<Ledger>): void {
  const bench = useLedger(open);
  const page = async (query?: RecordQuery): Promise<RecordPage> =>
    await historyOf(bench().ledger).page(query);

  async function list(query: RecordQuery): Promise<UsageRecord[]> {
    const records: UsageRecord[] = [];
    for await (const record of historyOf(bench().ledger).list(query)) records.push(record);
    return records;
  }

  /** The ids of all pages, each in one string. */
  async function readPages(query: RecordQuery): Promise<string[]> {
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const { records, next } = await page({ ...query, cursor });
      pages.push(idsOf(records).join(""));
      cursor = next;
    } while (cursor !== undefined);
    return pages;
  }

  /** Six requests, the first letters before the last. */
  async function enterSix(): Promise<void> {
    const { ledger } = bench();
    await ledger.settle(
      recordOf({ id: "c", time: timeAfterStart(2), charge: "10", durationMs: 500, channel: "ark-2" }),
    );
    await ledger.settle(
      recordOf({ id: "a", time: timeAfterStart(0), charge: "9", durationMs: 100, endUser: "ann" }),
    );
    await ledger.settle(
      recordOf({
        id: "b",
        time: timeAfterStart(0),
        charge: "9.00",
        durationMs: 1_000,
        status: 502,
        errorCode: "x",
      }),
    );
    await ledger.settle(
      recordOf({
        id: "d",
        time: timeAfterStart(3),
        charge: null,
        durationMs: 500,
        status: 400,
        tags: { team: "x" },
      }),
    );
    await ledger.hold(holdOf({ id: "e", time: timeAfterStart(4), caller: "other", amount: "0.5" }));
    await ledger.hold(holdOf({ id: "f", time: timeAfterStart(5), amount: "0.000000000000000001" }));
    await ledger.sweep({ onLost: "charge", own: true });
    await ledger.release("e");
  }

  describe("pages of records", () => {
    it("do not exist in an empty ledger", async () => {
      expect(await page()).toEqual({ records: [] });
    });

    it.each<[RecordQuery, readonly string[]]>([
      [{}, ["fedcba"]],
      [{ limit: 4 }, ["fedc", "ba"]],
      [{ limit: 3 }, ["fed", "cba"]],
      [{ limit: 1, order: "ascending" }, ["a", "b", "c", "d", "e", "f"]],
      [{ limit: 2, sort: "charge" }, ["cb", "af", "ed"]],
      [{ limit: 2, sort: "charge", order: "ascending" }, ["de", "fa", "bc"]],
      [{ limit: 1, sort: "duration", caller: "me" }, ["b", "d", "c", "a", "f"]],
      [{ limit: 4, sort: "duration", order: "ascending" }, ["efac", "db"]],
      [{ outcomes: ["succeeded"] }, ["ca"]],
      [{ outcomes: ["refused", "failed"], limit: 1 }, ["d", "b"]],
      [{ outcomes: ["unresolved", "succeeded"] }, ["fca"]],
      [{ outcomes: ["released"] }, ["e"]],
      [{ outcomes: [] }, [""]],
      [{ caller: "other" }, ["e"]],
      [{ channel: "ark-2" }, ["c"]],
      [{ model: "none" }, [""]],
      [{ endUser: "ann" }, ["a"]],
      [{ endUser: "" }, ["fedcb"]],
      [{ tag: { key: "team", value: "" } }, ["fecba"]],
      [{ channel: "" }, ["fe"]],
      [{ sort: "charge", outcomes: ["refused"], endUser: "" }, ["d"]],
      [{ tag: { key: "team", value: "x" } }, ["d"]],
      [{ from: timeAfterStart(2), to: timeAfterStart(4), limit: 1 }, ["d", "c"]],
      [{ from: timeAfterStart(2), to: timeAfterStart(4), limit: 1, order: "ascending" }, ["c", "d"]],
      [
        {
          from: timeAfterStart(0),
          sort: "charge",
          caller: "me",
          outcomes: ["succeeded", "failed"],
          limit: 2,
        },
        ["cb", "a"],
      ],
    ])("of %j are %j, and a list has the same order", async (query, pages) => {
      await enterSix();
      expect(await readPages(query)).toEqual(pages);
      expect(idsOf(await list({ ...query, limit: undefined })).join("")).toBe(pages.join(""));
      expect(idsOf(await list(query)).join("")).toBe(pages[0]);
    });

    it.each(["time", "charge", "duration"] as const)(
      "a list of 1,100 records by %s has each of them once, also with a record that changes meanwhile",
      async (sort) => {
        const { ledger } = bench();
        const ids = Array.from({ length: 1_100 }, (_, at) => `r${String(at).padStart(4, "0")}`);
        await ledger.hold(holdOf({ id: "r1099", amount: "0" }));
        await ledger.sweep({ onLost: "charge", own: true });
        await Promise.all(
          ids
            .slice(0, -1)
            .map((id, at) => ledger.settle(recordOf({ id, charge: String(at % 7), durationMs: at % 11 }))),
        );
        const read: string[] = [];
        for await (const { id } of historyOf(ledger).list({ sort, order: "ascending" })) {
          if (read.push(id) === 700)
            await ledger.settle(recordOf({ id: "r1099", charge: "99", durationMs: 99 }));
        }
        expect(read.toSorted()).toEqual(ids);
      },
    );

    it("show each record once while others are stored", async () => {
      await enterSix();
      const first = await page({ limit: 3 });
      await bench().ledger.settle(recordOf({ id: "g", time: timeAfterStart(6) }));
      const second = await page({ limit: 3, cursor: first.next });
      expect([...idsOf(first.records), ...idsOf(second.records)].join("")).toBe("fedcba");
    });

    it("hold the whole records, also if their strings are hostile", async () => {
      const record = recordOf({
        id: `a"'\\%_é\u{1f600}`,
        endUser: "a\u0000b",
        errorCode: "\u0000",
        tags: { "a\u0000": "b" },
      });
      await bench().ledger.settle(record);
      expect(await page()).toEqual({ records: [record] });
      expect(await historyOf(bench().ledger).find(record.id)).toEqual(record);
      expect(await page({ endUser: "a", tag: { key: "a", value: "b" } })).toEqual({ records: [] });
    });

    it.each<[string, object, string]>([
      ["a size of 0", { limit: 0 }, "limit must be a whole number from 1 to 500"],
      ["a size of 501", { limit: 501 }, "limit must be a whole number from 1 to 500"],
      ["an unknown order", { order: "up" }, "order must be"],
      ["an unknown sort", { sort: "model" }, "sort must be"],
      ["an unknown outcome", { outcomes: ["lost"] }, "outcomes must be"],
      ["a date", { from: "2026-01-01" }, "from must be an ISO 8601 time"],
      ["a cursor that is not one", { cursor: "x" }, "cursor must be"],
      ["a cursor of another sort", { cursor: '["charge","1",0,"a"]' }, "cursor must be"],
      ["a cursor with SQL", { sort: "charge", cursor: '["charge","1;",0,"a"]' }, "cursor must be"],
    ])("refuse %s", async (_title, query, message) => {
      await expect(page({ ...query })).rejects.toThrow(RangeError);
      await expect(page({ ...query })).rejects.toThrow(message);
    });

    it.each([0, 100_001, 1.5])("a list of at most %d records is refused", async (limit) => {
      await expect(list({ limit })).rejects.toThrow("limit must be a whole number from 1 to 100000");
    });
  });

  describe("a record", () => {
    it("is found by its id, in its newest state", async () => {
      const { ledger } = bench();
      const history = historyOf(ledger);
      await ledger.hold(holdOf({ id: "a" }));
      expect(await history.find("a")).toBeUndefined();
      await ledger.sweep({ onLost: "charge", own: true });
      expect(await history.find("a")).toMatchObject({ state: "unresolved", charge: "0.5" });
      await ledger.settle(recordOf({ id: "a" }));
      expect(await history.find("a")).toEqual(recordOf({ id: "a", late: true }));
      for (const id of ["b", "", "a\u0000"]) expect(await history.find(id)).toBeUndefined();
    });
  });
}
