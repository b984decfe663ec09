import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { RecordQuery, SeriesQuery, TotalsKey } from "@calotype/core/billing";
import type { RecordFilter } from "@calotype/core/stores";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createSqliteLedger, type SqliteLedger } from "./create-sqlite-ledger.js";
import { openDatabase } from "./open-database.js";
import { SELECT_RECORDS } from "./outbox-table.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { readAll } from "./testing/read-all.js";

const FROM = "2026-01-01T00:00:00Z";
const TO = "2026-02-01T00:00:00Z";
const PERIOD = { from: FROM, to: TO };

afterEach(() => void vi.restoreAllMocks());

/** How SQLite runs the statements of a report that read records or totals. */
async function plansOf(report: (ledger: SqliteLedger) => Promise<unknown>): Promise<string[]> {
  const ledger = createSqliteLedger({ path: ":memory:", now: () => START });
  onTestFinished(() => ledger.close());
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  await report(ledger);
  const statements = prepare.mock.calls.map(([sql]) => sql).filter((sql) => !sql.includes("outcome IS NULL"));
  prepare.mockRestore();
  const database = openDatabase(":memory:");
  const plans = statements.map((sql) => {
    // The ledger adds a function of its own.
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll("sum_decimals", "max")}`).all();
    return steps.map(({ detail }) => String(detail)).join("; ");
  });
  database.close();
  expect(plans.length).toBeGreaterThan(0);
  return plans;
}

const RECORDS =
  /^SEARCH records USING (?:COVERING )?INDEX (\w+) \((?:\w+=\? AND )?\(time,id\)>\(\?,\?\) AND \(time,id\)<\(\?,\?\)\)/;
const HOURS =
  /^SEARCH hourly_totals USING PRIMARY KEY \(\(hour,caller\)>\(\?,\?\) AND \(hour,caller\)<\(\?,\?\)\)/;

/** A statement that adds costs up reads only the records that have one. */
const COSTS =
  /^SEARCH records USING INDEX records_with_cost \(\(time,id\)>\(\?,\?\) AND \(time,id\)<\(\?,\?\)\)/;

describe("each statement of a report reads one part of an index, from one place to another", () => {
  const cases: readonly [RecordFilter & Pick<SeriesQuery, "outcomes">, string][] = [
    [{}, "records_by_time"],
    [{ endUser: "ann", tag: { key: "team", value: "x" } }, "records_by_time"],
    [{ caller: "me", model: "m", channel: "c" }, "records_by_caller"],
    [{ model: "m" }, "records_by_model"],
    [{ model: "m", channel: "c" }, "records_by_channel"],
    [{ outcomes: ["succeeded", "failed"] }, "records_by_time"],
    [{ caller: "me", outcomes: ["failed"] }, "records_without_success"],
  ];

  it.each(cases)("%j: %s", async (filter, index) => {
    const { outcomes, ...ofTotals } = filter;
    const pages: readonly RecordQuery[] = (["time", "charge", "duration"] as const).flatMap((sort) =>
      (["ascending", "descending"] as const).flatMap((order) => [
        { ...filter, ...PERIOD, sort, order },
        { ...filter, ...PERIOD, sort, order, cursor: JSON.stringify([sort, "1", START, "a"]) },
      ]),
    );
    const plans = await plansOf(async (ledger) => {
      for (const by of ["endUser", "tag:team"] as const)
        await ledger.history.series({ ...filter, ...PERIOD, by });
      for (const page of pages) await ledger.history.page(page);
      if (outcomes !== undefined) return;
      await readAll(ledger, ofTotals);
      const keys: readonly TotalsKey[] = ["caller", "model", "channel", "day", "period", "endUser", "tag:a"];
      for (const by of keys) await ledger.totals(by, { ...ofTotals, from: FROM });
    });
    const others = plans.filter((plan) => !COSTS.test(plan));
    expect(others.map((plan) => RECORDS.exec(plan)?.[1] ?? plan)).toEqual(others.map(() => index));
  });

  it("totals of hours", async () => {
    const plans = await plansOf(async ({ history }) => {
      for (const by of [undefined, "caller", "model", "channel"] as const) {
        await history.series({ ...PERIOD, by, model: "m" });
      }
    });
    expect(plans.filter((plan) => !HOURS.test(plan) && !COSTS.test(plan))).toEqual([]);
  });
});

it("totals by caller, model, channel and day read only the index", async () => {
  const plans = await plansOf(async (ledger) => {
    for (const by of ["caller", "model", "channel", "day"] as const) await ledger.totals(by, PERIOD);
  });
  const others = plans.filter((plan) => !COSTS.test(plan));
  expect(others.filter((plan) => !plan.includes("COVERING INDEX records_by_time"))).toEqual([]);
});

it("undelivered records are found without reading delivered ones", () => {
  const database = openDatabase(":memory:");
  const [step] = database.prepare(`EXPLAIN QUERY PLAN ${SELECT_RECORDS}`).all(0, 0, 1);
  database.close();
  expect(step?.["detail"]).toMatch(/^SEARCH e USING INDEX outbox_in_order \(kind=\? AND sequence>\?/);
});

const COUNT = 100_000;
const USERS = 30_000;
const DAY_MS = 86_400_000;
const WHOLE = { from: new Date(START).toISOString(), to: new Date(START + 10 * DAY_MS).toISOString() };

/** A ledger with records of ten days and many end users, and as many totals. */
function openFull(): { readonly ledger: SqliteLedger; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "calotype-sqlite-"));
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ path, now: () => START });
  const database = new DatabaseSync(path);
  database.exec(`
    WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ${COUNT - 1})
    INSERT INTO records (id, state, time, caller, model, channel, images, charge, record, outcome, duration_ms, tokens)
      SELECT 'req_' || n, 'settled', ${START} + n * ${(10 * DAY_MS) / COUNT}, 'me', 'm', 'c', 1, '0.25',
        json_set('${JSON.stringify(recordOf({ id: "x" }))}', '$.id', 'req_' || n, '$.endUser', 'user-' || (n % ${USERS})),
        'succeeded', n % 60000, 10 FROM n;
    WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ${COUNT - 1})
    INSERT INTO hourly_totals (hour, caller, model, channel, requests, images, charge, tokens, duration_ms, duration_5)
      SELECT ${START} + n / ${Math.ceil(COUNT / 240)} * 3600000, 'caller-' || (n % 1000), 'm', 'c', 1, 1, '0.25', 10, 900, 1 FROM n;`);
  database.close();
  return { ledger, remove: () => rmSync(folder, { recursive: true }) };
}

const readCpu = (): number => process.threadCpuUsage().user / 1000;

/** The most that the process used of the CPU between two turns of the event loop, in milliseconds. */
async function measureLongestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isRunning = true;
  let began = readCpu();
  const watch = (): void => {
    longest = Math.max(longest, readCpu() - began);
    began = readCpu();
    if (isRunning) setImmediate(watch);
  };
  setImmediate(watch);
  await work();
  await nextTurn();
  isRunning = false;
  return longest;
}

async function drain(records: AsyncIterable<unknown>): Promise<void> {
  for await (const record of records) void record;
}

describe(`with ${COUNT} records`, { timeout: 120_000 }, () => {
  let full: SqliteLedger | undefined;
  const ledger = (): SqliteLedger => {
    if (full === undefined) throw new Error("The ledger is not open.");
    return full;
  };
  let remove: (() => void) | undefined;
  beforeAll(() => {
    ({ ledger: full, remove } = openFull());
  });
  afterAll(async () => {
    await full?.close();
    remove?.();
  });

  it.each<[string, (ledger: SqliteLedger) => Promise<unknown>]>([
    ["a series of an end user", ({ history }) => history.series({ ...WHOLE, endUser: "nobody" })],
    ["a series by end user", ({ history }) => history.series({ ...WHOLE, by: "endUser" })],
    ["a series of all callers", ({ history }) => history.series({ ...WHOLE, by: "caller" })],
    ["a series of one caller", ({ history }) => history.series({ ...WHOLE, caller: "caller-7" })],
    ["a page of an end user", ({ history }) => history.page({ endUser: "nobody" })],
    ["a page by duration", ({ history }) => history.page({ ...WHOLE, sort: "duration" })],
    ["a list by duration", ({ history }) => drain(history.list({ ...WHOLE, sort: "duration" }))],
    ["totals", (opened) => opened.totals("caller", { endUser: "nobody" })],
    ["records", (opened) => drain(opened.records({ endUser: "nobody" }))],
  ])("%s does not block the process", async (_title, report) => {
    // In one statement each of them would take several times as long.
    expect(await measureLongestTurn(() => report(ledger()))).toBeLessThan(60);
  });

  it("a list is sorted once, however many records are read", async () => {
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
    await drain(ledger().history.list({ ...WHOLE, sort: "charge" }));
    const [slices, reads] = [Math.ceil(COUNT / 500) + 1, Math.ceil(COUNT / 200)];
    expect(prepare.mock.calls.length).toBeLessThanOrEqual(2 * slices + reads);
    prepare.mockRestore();
  });

  it("several reports at the same time do not block the process", async () => {
    const reports = Array.from({ length: 4 }, () => ledger().history);
    const work = (): Promise<unknown> =>
      Promise.all(reports.map((history) => history.series({ ...WHOLE, endUser: "nobody" })));
    expect(await measureLongestTurn(work)).toBeLessThan(60);
  });

  it("requests go on during a report", async () => {
    const ended: string[] = [];
    const report = ledger()
      .history.series({ ...WHOLE, endUser: "nobody" })
      .then(() => ended.push("report"));
    await nextTurn();
    await ledger().hold(holdOf({ id: "other" }));
    await ledger().release("other");
    ended.push("request");
    await report;
    expect(ended).toEqual(["request", "report"]);
  });

  it.each<[string, (ledger: SqliteLedger, signal: AbortSignal) => Promise<unknown>]>([
    ["a series", ({ history }, signal) => history.series({ ...WHOLE, endUser: "nobody" }, { signal })],
    ["a page", ({ history }, signal) => history.page({ endUser: "nobody" }, { signal })],
    ["a sorted list", ({ history }, signal) => drain(history.list({ ...WHOLE, sort: "charge" }, { signal }))],
    ["totals", (opened, signal) => opened.totals("caller", { endUser: "nobody" }, { signal })],
    ["records", (opened, signal) => drain(opened.records({ endUser: "nobody" }, { signal }))],
  ])("%s that is stopped reads no more", async (_title, report) => {
    const stopping = new AbortController();
    const stopped = Promise.allSettled([report(ledger(), stopping.signal)]);
    await nextTurn();
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
    stopping.abort();
    expect(await stopped).toMatchObject([{ status: "rejected", reason: { name: "AbortError" } }]);
    // One slice may have begun.
    expect(prepare.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it("a series that would have too many points is read in two steps, and is the same", async () => {
    const { buckets, total, lines, others } = await ledger().history.series({
      ...WHOLE,
      by: "endUser",
      bucket: "day",
      limit: 3,
    });
    expect(buckets).toHaveLength(11);
    expect(total.sums).toMatchObject({ requests: COUNT, charge: "25000", images: COUNT });
    expect(total.points.reduce((sum, { requests }) => sum + requests, 0)).toBe(COUNT);
    // The first 10,000 end users have four requests, the others three.
    expect(lines.map(({ key, sums }) => [key, sums.requests, sums.charge])).toEqual([
      ["user-0", 4, "1"],
      ["user-1", 4, "1"],
      ["user-10", 4, "1"],
    ]);
    expect(lines[0]?.points.map(({ requests }) => requests)).toEqual([1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0]);
    expect(others).toMatchObject({ count: USERS - 3, sums: { requests: COUNT - 12, charge: "24997" } });
    expect(others?.points.map(({ requests }) => requests)).toEqual(
      total.points.map(({ requests }, at) =>
        lines.reduce((rest, { points }) => rest - (points[at]?.requests ?? 0), requests),
      ),
    );
  });
});
