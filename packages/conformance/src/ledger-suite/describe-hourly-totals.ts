import { Readable } from "node:stream";
import type { SeriesQuery, SettledRecord, UsageSeries, UsageSums } from "@calotype/core/billing";
import { createMemoryLedger } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { holdOf, recordOf } from "./entries.js";
import { historyOf, type OpenLedger, useLedger } from "./open-ledger.js";

const DAY = { from: "2026-03-10T00:00:00Z", to: "2026-03-11T00:00:00Z" };

/** The numbers of requests of each bucket. */
const requestsOf = ({ total }: UsageSeries): number[] => total.points.map(({ requests }) => requests);

/** Usage over time is read from totals that are written with each settlement. */
export function describeHourlyTotals(open: OpenLedger<Ledger>): void {
  const bench = useLedger(open);
  const series = async (query: SeriesQuery): Promise<UsageSeries> =>
    await historyOf(bench().ledger).series(query);
  let last = 0;

  async function settle(...records: readonly Partial<SettledRecord>[]): Promise<void> {
    for (const record of records) await bench().ledger.settle(recordOf({ id: `req_${last++}`, ...record }));
  }
  const countSelected = async (filter: Partial<SeriesQuery>): Promise<number> =>
    (await series({ ...DAY, ...filter })).total.sums.requests;
  const settleAt = async (...times: readonly string[]): Promise<void> =>
    await settle(...times.map((time) => ({ time })));

  describe("usage over time", () => {
    it("is empty in an empty ledger, and has a point for each bucket", async () => {
      const { buckets, total, lines, others } = await series({ ...DAY, bucket: "hour", by: "caller" });
      expect(buckets).toHaveLength(24);
      expect(buckets[1]).toEqual({ from: "2026-03-10T01:00:00.000Z", to: "2026-03-10T02:00:00.000Z" });
      expect(total.points).toHaveLength(24);
      expect(total.sums).toEqual({
        requests: 0,
        succeeded: 0,
        refused: 0,
        failed: 0,
        unresolved: 0,
        released: 0,
        images: 0,
        charge: "0",
        tokens: 0,
      } satisfies UsageSums);
      expect({ lines, others }).toEqual({ lines: [], others: undefined });
    });

    it("counts a request in the hour of its arrival, to the millisecond", async () => {
      await settleAt(
        "2026-03-10T08:59:59.999Z",
        "2026-03-10T09:00:00.000Z",
        "2026-03-10T09:59:59.999Z",
        "2026-03-10T10:00:00.000Z",
      );
      const hours = { from: "2026-03-10T08:00:00Z", to: "2026-03-10T11:00:00Z", bucket: "hour" } as const;
      expect(requestsOf(await series(hours))).toEqual([1, 2, 1]);
    });

    it("is exact for periods that begin and end within an hour", async () => {
      await settleAt("2026-03-10T08:29:59.999Z", "2026-03-10T08:30:00.000Z", "2026-03-10T09:10:00.000Z");
      await settleAt("2026-03-10T10:14:59.999Z", "2026-03-10T10:15:00.000Z");
      const period = { from: "2026-03-10T08:30:00Z", to: "2026-03-10T10:15:00Z" };
      expect(requestsOf(await series(period))).toEqual([3]);
      expect(requestsOf(await series({ ...period, bucket: "hour" }))).toEqual([1, 1, 1]);
      const minute = { from: "2026-03-10T08:29:00Z", to: "2026-03-10T08:30:00Z" };
      expect(requestsOf(await series(minute))).toEqual([1]);
    });

    it.each<[string, readonly string[], SeriesQuery, readonly number[]]>([
      [
        "days in Tokyo",
        ["2026-03-09T14:59:59Z", "2026-03-09T15:00:00Z", "2026-03-10T14:59:59Z", "2026-03-10T15:00:00Z"],
        { from: "2026-03-08T15:00:00Z", to: "2026-03-11T15:00:00Z", bucket: "day", timeZone: "Asia/Tokyo" },
        [1, 2, 1],
      ],
      [
        "days in India, which begin at half past",
        ["2026-03-09T18:29:59Z", "2026-03-09T18:30:00Z", "2026-03-10T18:29:59Z", "2026-03-10T18:30:00Z"],
        { from: "2026-03-08T18:30:00Z", to: "2026-03-11T18:30:00Z", bucket: "day", timeZone: "Asia/Kolkata" },
        [1, 2, 1],
      ],
      [
        "days in London when the clocks go forward",
        ["2026-03-28T23:59:59Z", "2026-03-29T00:00:00Z", "2026-03-29T22:59:59Z", "2026-03-29T23:00:00Z"],
        {
          from: "2026-03-28T00:00:00Z",
          to: "2026-03-30T23:00:00Z",
          bucket: "day",
          timeZone: "Europe/London",
        },
        [1, 2, 1],
      ],
      [
        "weeks, cut to the period",
        ["2026-03-04T00:00:00Z", "2026-03-08T23:59:59Z", "2026-03-09T00:00:00Z", "2026-03-20T00:00:00Z"],
        { from: "2026-03-03T00:00:00Z", to: "2026-03-18T00:00:00Z", bucket: "week" },
        [2, 1, 0],
      ],
      [
        "months",
        ["2026-01-31T23:59:59Z", "2026-02-01T00:00:00Z", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z"],
        { from: "2026-01-01T00:00:00Z", to: "2026-04-01T00:00:00Z", bucket: "month" },
        [1, 2, 1],
      ],
    ])("has %s", async (_title, times, query, requests) => {
      await settleAt(...times);
      expect(requestsOf(await series(query))).toEqual(requests);
    });

    it("has the sums of each outcome, and the times of successes", async () => {
      const time = "2026-03-10T10:00:00Z";
      await settle(
        { time, charge: "0.1", images: 2, durationMs: 4_000 },
        { time, charge: "0.000000000000000000001", durationMs: 8_000 },
        {
          time,
          charge: "0",
          images: 0,
          status: 400,
          errorCode: "content_policy_violation",
          durationMs: 99_000,
        },
        { time, charge: "0", images: 0, status: 502, errorCode: "upstream_error", durationMs: 99_000 },
        {
          time,
          charge: null,
          images: 1,
          status: 200,
          errorCode: "upstream_disconnected",
          durationMs: 99_000,
        },
      );
      expect((await series(DAY)).total.sums).toEqual({
        requests: 5,
        succeeded: 2,
        refused: 1,
        failed: 2,
        unresolved: 0,
        released: 0,
        images: 4,
        charge: "0.100000000000000000001",
        tokens: 5 * 16_384,
        meanMs: 6_000,
        medianMs: expect.any(Number),
        p95Ms: expect.any(Number),
      });
    });

    it("estimates the median and the 95th percentile", async () => {
      const time = "2026-03-10T10:00:00Z";
      await settle(...Array.from({ length: 100 }, (_, at) => ({ time, durationMs: (at + 1) * 1_000 })));
      await settle({ time: "2026-03-10T11:00:00Z", durationMs: 7_654 });
      await settle(
        { time: "2026-03-10T12:00:00Z", durationMs: 700_000 },
        { time: "2026-03-10T12:00:00Z", durationMs: 5 },
      );
      const { total } = await series({ ...DAY, bucket: "hour" });
      const [hundred, one, two] = total.points.slice(10);
      expect(hundred?.meanMs).toBe(50_500);
      expect(hundred?.medianMs).toBeGreaterThan(45_000);
      expect(hundred?.medianMs).toBeLessThan(55_000);
      expect(hundred?.p95Ms).toBeGreaterThan(85_000);
      expect(hundred?.p95Ms).toBeLessThan(105_000);
      expect(one).toMatchObject({ meanMs: 7_654, medianMs: 7_654, p95Ms: 7_654 });
      expect(two).toMatchObject({ p95Ms: 512_000 });
    });

    it("follows a request whose outcome becomes known later", async () => {
      const { ledger } = bench();
      const facts = { time: "2026-03-10T10:00:00Z", amount: "0.5" };
      for (const id of ["a", "b"]) await ledger.hold(holdOf({ id, ...facts }));
      expect(requestsOf(await series(DAY))).toEqual([0]);
      await ledger.sweep({ onLost: "charge", own: true });
      const lost = await series({ ...DAY, by: "channel" });
      expect(lost.lines).toMatchObject([{ key: "", sums: { requests: 2, unresolved: 2, charge: "1" } }]);
      await ledger.release("a");
      await ledger.settle(recordOf({ id: "b", time: facts.time, charge: "0.3" }));
      const known = await series({ ...DAY, by: "channel" });
      expect(known.total.sums).toMatchObject({
        requests: 2,
        unresolved: 0,
        released: 1,
        succeeded: 1,
        charge: "0.3",
      });
      expect(known.lines.map(({ key, sums }) => [key, sums.requests])).toEqual([
        ["ark-1", 1],
        ["", 1],
      ]);
    });

    it("counts a record once that is settled twice", async () => {
      const record = recordOf({ id: "a", time: "2026-03-10T10:00:00Z" });
      await Promise.all([bench().ledger.settle(record), bench().ledger.settle(record)]);
      await bench().ledger.settle(record);
      expect((await series(DAY)).total.sums).toMatchObject({ requests: 1, charge: "0.3" });
    });

    it.each(["caller", "model", "channel", "endUser", "tag:team"] as const)(
      "by %s has the highest charges first, and the sum of the others",
      async (by) => {
        const time = "2026-03-10T10:00:00Z";
        const named = (name: string) => ({
          time,
          caller: name,
          model: name,
          channel: name,
          endUser: name,
          tags: { team: name },
        });
        await settle(
          { ...named("cheap"), charge: "0.9" },
          { ...named("do\"ar'é"), charge: "10" },
          { ...named("free"), charge: null },
          { ...named("busy"), charge: "0" },
          { ...named("busy"), charge: null },
        );
        const { lines, others, total } = await series({ ...DAY, by, bucket: "day", limit: 2 });
        expect(lines.map(({ key, points }) => [key, points[0]?.charge])).toEqual([
          ["do\"ar'é", "10"],
          ["cheap", "0.9"],
        ]);
        expect(others).toMatchObject({ count: 2, sums: { requests: 3, charge: "0" } });
        expect(total.sums).toMatchObject({ requests: 5, charge: "10.9" });
        const all = await series({ ...DAY, by });
        expect(all.lines.map(({ key }) => key)).toEqual(["do\"ar'é", "cheap", "busy", "free"]);
      },
    );

    it.each<[string, Partial<SeriesQuery>]>([
      ["in one bucket", {}],
      ["by day in London, where the clocks go forward", { bucket: "day", timeZone: "Europe/London" }],
      ["by day in India, of a caller", { bucket: "day", timeZone: "Asia/Kolkata", caller: "caller-1" }],
      ["by hour and end user", { bucket: "hour", by: "endUser", limit: 3, from: "2026-03-28T12:30:00Z" }],
      ["by week and tag, of two models", { bucket: "week", by: "tag:team", limit: 2, model: "model-0" }],
      ["by day and channel, of failures", { bucket: "day", by: "channel", outcomes: ["failed", "refused"] }],
      ["by caller, of an end user", { by: "caller", endUser: "user-7" }],
      [
        "by month and model, without a tag",
        { bucket: "month", by: "model", tag: { key: "team", value: "" } },
      ],
    ])("of 600 requests is that of the ledger in memory: %s", async (_title, query) => {
      const reference = createMemoryLedger();
      const start = Date.parse("2026-03-20T00:00:00Z");
      await Promise.all(
        Array.from({ length: 600 }, async (_, at) => {
          const record = recordOf({
            id: `req_${at}`,
            // Ten days, every 24 minutes, not in the order of arrival.
            time: new Date(start + ((at * 7_919) % 600) * 1_440_000).toISOString(),
            caller: `caller-${at % 3}`,
            model: `model-${at % 2}`,
            channel: `channel-${at % 5}`,
            endUser: `user-${at % 40}`,
            ...(at % 4 > 0 && { tags: { team: `team-${at % 4}` } }),
            ...(at % 9 === 0 && { status: at % 2 === 0 ? 400 : 502 }),
            charge: `0.${at % 50}1`,
            durationMs: (at * 613) % 90_000,
          });
          await Promise.all([bench().ledger.settle(record), reference.settle(record)]);
        }),
      );
      const asked = { from: "2026-03-20T10:20:00Z", to: "2026-03-30T05:00:00Z", ...query };
      expect(await series(asked)).toEqual(await historyOf(reference).series(asked));
    });

    it("counts each request once while outcomes become known", async () => {
      const { ledger } = bench();
      const time = "2026-03-10T10:00:00Z";
      const ids = Array.from({ length: 800 }, (_, at) => `req_${at}`);
      await Promise.all(
        ids.map(async (id, at) => await ledger.hold(holdOf({ id, time, caller: `caller-${at % 400}` }))),
      );
      await ledger.sweep({ onLost: "charge", own: true });
      const settling = Promise.all(
        ids.map(
          async (id, at) =>
            await ledger.settle(recordOf({ id, time, caller: `caller-${at % 400}`, charge: "0.3" })),
        ),
      );
      for (let round = 0; round < 10; round++) {
        for (const query of [
          { by: "caller" },
          { by: "endUser" },
          { outcomes: ["unresolved", "succeeded"] },
        ] as const) {
          expect((await series({ ...DAY, ...query, limit: 1 })).total.sums.requests).toBe(ids.length);
        }
      }
      await settling;
      expect((await series(DAY)).total.sums).toMatchObject({ succeeded: ids.length, charge: "240" });
    });

    it.each<[string, (ledger: Ledger, signal: AbortSignal) => Promise<unknown>]>([
      ["a series", (ledger, signal) => historyOf(ledger).series(DAY, { signal })],
      [
        "a series from records",
        (ledger, signal) => historyOf(ledger).series({ ...DAY, by: "endUser" }, { signal }),
      ],
      ["a page", (ledger, signal) => historyOf(ledger).page({}, { signal })],
      ["totals", (ledger, signal) => ledger.totals("endUser", {}, { signal })],
      ["records", async (ledger, signal) => await Readable.from(ledger.records({}, { signal })).toArray()],
    ])("%s whose signal is aborted is stopped with an AbortError", async (_title, report) => {
      await settleAt("2026-03-10T10:00:00Z");
      const { ledger } = bench();
      await expect(report(ledger, AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
      await expect(report(ledger, new AbortController().signal)).resolves.toBeDefined();
    });

    it("can be filtered", async () => {
      const time = "2026-03-10T10:00:00Z";
      await settle(
        { time, caller: "a", model: "m", channel: "c", endUser: "ann", tags: { team: "x" } },
        { time, caller: "a", model: "n", channel: "c", tags: { team: "y" } },
        { time, caller: "b", model: "m", channel: "d", endUser: "ann" },
      );
      expect(await countSelected({ caller: "a" })).toBe(2);
      expect(await countSelected({ model: "m" })).toBe(2);
      expect(await countSelected({ channel: "c", model: "n" })).toBe(1);
      expect(await countSelected({ caller: "c" })).toBe(0);
      expect(await countSelected({ endUser: "ann" })).toBe(2);
      expect(await countSelected({ endUser: "ann", caller: "b" })).toBe(1);
      expect(await countSelected({ tag: { key: "team", value: "y" } })).toBe(1);
      expect(await countSelected({ endUser: "" })).toBe(1);
      expect(await countSelected({ tag: { key: "team", value: "" } })).toBe(1);
      expect(await countSelected({ tag: { key: "team", value: "" }, endUser: "" })).toBe(0);
    });

    it("can be filtered by outcome, and then has the sums of those requests only", async () => {
      const time = "2026-03-10T10:30:00Z";
      await settle(
        { time, charge: "0.5", images: 2, durationMs: 4_000 },
        { time, caller: "b", charge: "0.2", images: 1, status: 200, errorCode: "upstream_disconnected" },
        { time, caller: "b", charge: "0", images: 0, status: 400, errorCode: "content_policy_violation" },
      );
      const only = async (outcomes: SeriesQuery["outcomes"]): Promise<object> =>
        (await series({ ...DAY, outcomes })).total.sums;
      expect(await only(["succeeded"])).toMatchObject({
        requests: 1,
        images: 2,
        charge: "0.5",
        medianMs: 4_000,
      });
      expect(await only(["failed"])).toEqual(
        expect.objectContaining({ requests: 1, succeeded: 0, failed: 1, images: 1, charge: "0.2" }),
      );
      expect(await only(["refused", "succeeded", "refused"])).toMatchObject({ requests: 2, charge: "0.5" });
      expect(await only(["unresolved"])).toMatchObject({ requests: 0, charge: "0" });
      expect(await only([])).toMatchObject({ requests: 0 });
      const { lines, total } = await series({
        ...DAY,
        by: "caller",
        bucket: "hour",
        outcomes: ["failed", "refused"],
      });
      expect(lines.map(({ key, sums }) => [key, sums.requests])).toEqual([["b", 2]]);
      expect(total.points.map(({ requests }) => requests).indexOf(2)).toBe(10);
    });

    it.each<[string, object, string]>([
      ["an unknown outcome", { outcomes: ["lost"] }, "outcomes must be a list of"],
      ["a year of failures", { from: "2025-03-10T00:00:00Z", outcomes: ["failed"] }, "at most 92 days"],
      ["a date", { from: "2026-03-10" }, "from must be an ISO 8601 time"],
      ["an end before the beginning", { to: DAY.from }, "from must be before to"],
      ["an unknown time zone", { timeZone: "Mars/Phobos" }, "timeZone must be a time zone"],
      ["an unknown key", { by: "day" }, "by must be"],
      ["an unknown bucket", { bucket: "year" }, "bucket must be"],
      ["too many lines", { limit: 1_001 }, "limit must be a whole number from 1 to 1000"],
      [
        "too many points",
        { from: "2026-03-01T00:00:00Z", bucket: "hour", by: "caller", limit: 1_000 },
        "at most 50000 points",
      ],
      ["too many buckets", { from: "2026-01-01T00:00:00Z", bucket: "hour" }, "at most 1000 buckets"],
      [
        "all days of 8,000 years",
        { bucket: "day", from: "1970-01-01T00:00:00Z", to: "9999-01-01T00:00:00Z" },
        "at most 1000",
      ],
      [
        "days before 1970",
        { bucket: "day", from: "0001-01-01T00:00:00Z", to: "0003-01-01T00:00:00Z" },
        "before 1970",
      ],
      ["a year of end users", { from: "2025-03-10T00:00:00Z", by: "endUser" }, "at most 92 days"],
    ])("refuses %s", async (_title, query, message) => {
      await expect(series({ ...DAY, ...query })).rejects.toThrow(RangeError);
      await expect(series({ ...DAY, ...query })).rejects.toThrow(message);
    });
  });
}

/** The totals of a ledger survive its process. */
export function describeDurableTotals(open: OpenLedger<Ledger>): void {
  const bench = useLedger(open);

  it("usage over time stays when the ledger is opened again", async () => {
    const { ledger, reopen } = bench();
    await ledger.settle(recordOf({ id: "a", time: "2026-03-10T10:00:00Z" }));
    const opened = await reopen();
    await opened.settle(recordOf({ id: "b", time: "2026-03-10T10:30:00Z" }));
    expect((await historyOf(opened).series(DAY)).total.sums).toMatchObject({ requests: 2, charge: "0.6" });
  });
}

/** Processes that share a store add to the same totals. */
export function describeSharedTotals(open: OpenLedger<Ledger>): void {
  const bench = useLedger(open);

  it("usage over time counts the requests of all processes once", async () => {
    const { ledger, join } = bench();
    const ledgers = [ledger, await join(), await join()];
    const callers = ["a", "b", "c"];
    await Promise.all(
      Array.from({ length: 300 }, async (_, at) => {
        const record = recordOf({
          id: `req_${at}`,
          time: `2026-03-10T10:${String(at % 60).padStart(2, "0")}:00Z`,
          caller: callers[at % 3] ?? "",
          model: at % 2 === 0 ? "seedream" : "qwen",
          charge: "0.1",
        });
        // Two processes settle the same request.
        await Promise.all([ledgers[at % 3]?.settle(record), ledgers[(at + 1) % 3]?.settle(record)]);
      }),
    );
    for (const one of ledgers) {
      const { total, lines } = await historyOf(one).series({ ...DAY, by: "caller" });
      expect(total.sums).toMatchObject({ requests: 300, succeeded: 300, charge: "30" });
      expect(lines.map(({ key, sums }) => [key, sums.charge])).toEqual(
        callers.map((caller) => [caller, "10"]),
      );
    }
  });
}
