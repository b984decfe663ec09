import { Readable } from "node:stream";
import { exportRecords, type RecordFilter, type TotalsKey, type UsageTotal } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { timeAfterStart } from "./clock.js";
import { holdOf, recordOf } from "./entries.js";
import { type OpenLedger, useLedger } from "./open-ledger.js";
import { idsOf, readRecords } from "./read-ledger.js";

const LAST_OF_30TH = "2026-01-30T23:59:59.999Z";
const FIRST_OF_31ST = "2026-01-31T00:00:00.000Z";
const FIRST_OF_FEBRUARY = "2026-02-01T00:00:00.000Z";

const line = (
  key: string,
  requests: number,
  images: number,
  charge: string,
  unresolved: number,
): UsageTotal => ({ key, requests, images, charge, unresolved });

/** Records and totals can be filtered by caller, model, channel and time. */
export function describeRecords(open: OpenLedger<Ledger>): void {
  const bench = useLedger(open);

  /** Four requests, named in the order of their time and stored in another order. */
  async function enterFour(): Promise<void> {
    const { ledger } = bench();
    const qwen = { model: "qwen", channel: "dashscope" };
    await ledger.settle(
      recordOf({ id: "b", time: FIRST_OF_31ST, channel: "ark-2", images: 2, charge: "0.2" }),
    );
    await ledger.hold(holdOf({ id: "d", time: FIRST_OF_FEBRUARY, model: "qwen", amount: "0.7" }));
    await ledger.sweep({ onLost: "charge", own: true });
    await ledger.settle(recordOf({ ...qwen, id: "c", caller: "other", images: 4, charge: null }));
    await ledger.settle(recordOf({ id: "a", time: LAST_OF_30TH, charge: "0.1" }));
    await ledger.hold(holdOf({ id: "open", time: FIRST_OF_31ST }));
  }

  describe("the end user and the tags of a request", () => {
    const tags = { team: "design", 'a"b.c': "x" };

    it("are in its record, also if its outcome is unknown, and select and group records", async () => {
      const { ledger } = bench();
      const one = recordOf({ id: "a", endUser: "ann", tags, charge: "0.2" });
      await ledger.settle(one);
      await ledger.settle(recordOf({ id: "b", endUser: "bob", tags: { team: "sales" }, charge: "0.1" }));
      await ledger.settle(recordOf({ id: "c", charge: "0.4", errorCode: "\u0000" }));
      await ledger.hold(holdOf({ id: "d", endUser: "ann", tags }));
      const [lost] = await ledger.sweep({ onLost: "release", own: true });
      expect(lost).toMatchObject({ id: "d", endUser: "ann", tags });
      expect((await readRecords(ledger))[0]).toEqual(one);

      const ids = async (filter: RecordFilter): Promise<string[]> => idsOf(await readRecords(ledger, filter));
      expect(await ids({ endUser: "ann" })).toEqual(["a", "d"]);
      expect(await ids({ tag: { key: "team", value: "sales" } })).toEqual(["b"]);
      expect(await ids({ tag: { key: 'a"b.c', value: "x" }, caller: "me" })).toEqual(["a", "d"]);
      expect(await ids({ tag: { key: "team", value: "x" } })).toEqual([]);
      expect(await ids({ endUser: "" })).toEqual(["c"]);
      expect(await ids({ tag: { key: "team", value: "" } })).toEqual(["c"]);
      expect(await ledger.totals("endUser")).toEqual([
        line("", 1, 1, "0.4", 0),
        line("ann", 2, 1, "0.2", 1),
        line("bob", 1, 1, "0.1", 0),
      ]);
      expect(await ledger.totals("tag:team", { caller: "me" })).toEqual([
        line("", 1, 1, "0.4", 0),
        line("design", 2, 1, "0.2", 1),
        line("sales", 1, 1, "0.1", 0),
      ]);
      expect(await ledger.totals('tag:a"b.c', { endUser: "bob" })).toEqual([line("", 1, 1, "0.1", 0)]);
    });
  });

  describe("records", () => {
    it("do not exist in an empty ledger", async () => {
      expect(await readRecords(bench().ledger)).toEqual([]);
    });

    it.each<[RecordFilter, string]>([
      [{}, "abcd"],
      [{ caller: undefined, from: undefined }, "abcd"],
      [{ caller: "me" }, "abd"],
      [{ caller: "nobody" }, ""],
      [{ model: "qwen" }, "cd"],
      [{ channel: "ark-1" }, "a"],
      [{ channel: "" }, "d"],
      [{ from: FIRST_OF_31ST }, "bcd"],
      [{ to: FIRST_OF_31ST }, "a"],
      [{ from: FIRST_OF_31ST, to: FIRST_OF_FEBRUARY }, "bc"],
      [{ from: FIRST_OF_31ST, to: FIRST_OF_31ST }, ""],
      [{ from: FIRST_OF_FEBRUARY, to: FIRST_OF_31ST }, ""],
      [{ from: "2026-01-31T00:00:00Z" }, "bcd"],
      [{ to: "2026-01-31T00:00:00Z" }, "a"],
      [{ from: "2026-01-31T00:00Z", to: "2026-02-01T00:00Z" }, "bc"],
      [{ from: "2026-01-31T08:00:00+08:00", to: "2026-01-31T19:00:00-05:00" }, "bc"],
      [{ caller: "me", model: "qwen", from: FIRST_OF_FEBRUARY }, "d"],
      [{ caller: "other", model: "qwen", channel: "dashscope", to: FIRST_OF_FEBRUARY }, "c"],
      [{ caller: "other", channel: "ark-1" }, ""],
    ])("that match %j are in the order of their time: %s", async (filter, ids) => {
      await enterFour();

      expect(idsOf(await readRecords(bench().ledger, filter)).join("")).toBe(ids);
    });

    it.each([
      "yesterday",
      "",
      "1",
      "Jan 5",
      "2026-01-31",
      "2026-01-31T00:00:00",
      "2026-02-30T00:00Z",
      "2026-01-31T00:00:00+24:00",
    ])("from or to %j are refused with an error that names the valid format", async (time) => {
      await enterFour();
      for (const name of ["from", "to"] as const) {
        const message = `${name} must be an ISO 8601 time with a zone, such as "2026-01-31T00:00:00Z"`;
        await expect(readRecords(bench().ledger, { [name]: time })).rejects.toThrow(message);
        await expect(bench().ledger.totals("caller", { [name]: time })).rejects.toThrow(message);
        const lines = Readable.from(exportRecords(bench().ledger, { [name]: time }));
        await expect(lines.toArray()).rejects.toThrow(message);
      }
    });

    it("with the same time are in the order of their ids", async () => {
      const { ledger } = bench();
      const ids = ["a", "B", "b", "10", "9", "é", "z"];
      for (const id of ids) await ledger.settle(recordOf({ id }));

      expect(idsOf(await readRecords(ledger))).toEqual(["10", "9", "B", "a", "b", "z", "é"]);
    });

    it("are all read if there are thousands, most with the same time", async () => {
      const { ledger } = bench();
      const ids = Array.from({ length: 2_500 }, (_, at) => `req_${String(at).padStart(4, "0")}`);
      await Promise.all(
        ids.map(
          async (id, at) =>
            await ledger.settle(recordOf({ id, time: timeAfterStart(Math.floor(at / 2_000)) })),
        ),
      );

      expect(idsOf(await readRecords(ledger))).toEqual(ids);
    });

    it("are each read once while others are stored", async () => {
      const { ledger } = bench();
      for (const id of ["b", "c", "d"]) await ledger.settle(recordOf({ id }));
      await ledger.hold(holdOf({ id: "e" }));

      const read: string[] = [];
      for await (const { id } of ledger.records()) {
        if (read.length === 0) {
          await ledger.settle(recordOf({ id: "a" }));
          await ledger.sweep({ onLost: "charge", own: true });
        }
        read.push(id);
      }

      expect(read.filter((id) => id !== "a" && id !== "e")).toEqual(["b", "c", "d"]);
      expect(new Set(read).size).toBe(read.length);
    });

    it("need not be read to the end, and can be read by two readers in parallel", async () => {
      const { ledger } = bench();
      for (const id of ["a", "b", "c"]) await ledger.settle(recordOf({ id }));
      for await (const { id } of ledger.records()) {
        expect(id).toBe("a");
        break;
      }
      await ledger.settle(recordOf({ id: "d" }));

      const both = await Promise.all([readRecords(ledger), readRecords(ledger)]);
      expect(both.map(idsOf)).toEqual([
        ["a", "b", "c", "d"],
        ["a", "b", "c", "d"],
      ]);
    });
  });

  describe("totals", () => {
    it("have no line for an empty ledger", async () => {
      expect(await bench().ledger.totals("day")).toEqual([]);
    });

    it.each<[TotalsKey, RecordFilter, UsageTotal[]]>([
      ["caller", {}, [line("me", 3, 3, "1", 1), line("other", 1, 4, "0", 0)]],
      ["model", {}, [line("qwen", 2, 4, "0.7", 1), line("seedream", 2, 3, "0.3", 0)]],
      [
        "channel",
        {},
        [
          line("", 1, 0, "0.7", 1),
          line("ark-1", 1, 1, "0.1", 0),
          line("ark-2", 1, 2, "0.2", 0),
          line("dashscope", 1, 4, "0", 0),
        ],
      ],
      [
        "day",
        {},
        [
          line("2026-01-30", 1, 1, "0.1", 0),
          line("2026-01-31", 2, 6, "0.2", 0),
          line("2026-02-01", 1, 0, "0.7", 1),
        ],
      ],
      ["model", { caller: "me" }, [line("qwen", 1, 0, "0.7", 1), line("seedream", 2, 3, "0.3", 0)]],
      [
        "caller",
        { from: FIRST_OF_31ST, to: FIRST_OF_FEBRUARY },
        [line("me", 1, 2, "0.2", 0), line("other", 1, 4, "0", 0)],
      ],
      ["day", { channel: "ark-2" }, [line("2026-01-31", 1, 2, "0.2", 0)]],
      ["caller", { model: "none" }, []],
    ])("by %s of %j are exact", async (by, filter, lines) => {
      await enterFour();

      expect(await bench().ledger.totals(by, filter)).toStrictEqual(lines);
    });

    it("of hundreds of charges are exact", async () => {
      const { ledger } = bench();
      await Promise.all(
        Array.from(
          { length: 300 },
          async (_, at) =>
            await ledger.settle(
              recordOf({ id: `req_${at}`, charge: at % 3 === 0 ? "0.1" : `0.${"0".repeat(24)}1` }),
            ),
        ),
      );

      expect(await ledger.totals("caller")).toMatchObject([{ charge: `10.${"0".repeat(22)}2` }]);
      expect(await ledger.balance("me")).toMatchObject({ settled: `10.${"0".repeat(22)}2` });
    });
  });
}
