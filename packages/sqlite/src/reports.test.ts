import type { TotalsKey } from "@calotype/core/billing";
import { describe, expect, it } from "vitest";
import { SELECT_UNDELIVERED } from "./holds-and-records.js";
import { openDatabase } from "./open-database.js";
import { type SqlQuery, toPageQuery, toTotalsQuery } from "./reports.js";

const FROM = "2026-01-01T00:00:00Z";
const TO = "2026-02-01T00:00:00Z";
const CURSOR = { time: Date.parse(FROM), id: "req_1" };

/** Returns SQLite's description of how it runs a query. */
function planOf({ sql, values }: SqlQuery): string {
  const database = openDatabase(":memory:");
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  database.close();
  return steps.map(({ detail }) => String(detail)).join("; ");
}

describe("a page of records is read from an index, in the order of the index", () => {
  it.each([
    [{}, "records_by_time ((time,id)>(?,?))"],
    [{ from: FROM, to: TO }, "records_by_time ((time,id)>(?,?) AND time<?)"],
    [{ caller: "me" }, "records_by_caller (caller=? AND (time,id)>(?,?))"],
    [{ caller: "me", from: FROM, to: TO }, "records_by_caller (caller=? AND (time,id)>(?,?) AND time<?)"],
    [{ model: "m", to: TO }, "records_by_model (model=? AND (time,id)>(?,?) AND time<?)"],
    [{ channel: "c", from: FROM }, "records_by_channel (channel=? AND (time,id)>(?,?))"],
  ])("%j", (filter, index) => {
    expect(planOf(toPageQuery(filter, 500, CURSOR))).toBe(`SEARCH records USING INDEX ${index}`);
  });
});

describe("totals read only the index", () => {
  it.each<TotalsKey>(["caller", "model", "channel", "day"])("by %s", (by) => {
    expect(planOf(toTotalsQuery(by, {}))).toMatch(/^SCAN records USING COVERING INDEX records_by_time;/);
    expect(planOf(toTotalsQuery(by, { from: FROM, to: TO }))).toMatch(
      /^SEARCH records USING COVERING INDEX records_by_time \(time>\? AND time<\?\);/,
    );
  });
});

describe("totals with a filter use an index", () => {
  it.each(["caller", "model", "channel"] as const)("by %s", (by) => {
    expect(planOf(toTotalsQuery("day", { [by]: "x", from: FROM, to: TO }))).toMatch(
      new RegExp(`^SEARCH records USING INDEX records_by_${by} \\(${by}=\\? AND time>\\? AND time<\\?\\);`),
    );
  });
});

it("undelivered records are found without reading delivered ones", () => {
  expect(planOf({ sql: SELECT_UNDELIVERED, values: [0, 0, 1] })).toMatch(
    /^SEARCH records USING INDEX records_undelivered \(sequence>\?/,
  );
});

it.each(["from", "to"] as const)("an invalid time is rejected by name: %s", (name) => {
  expect(() => toPageQuery({ [name]: "yesterday" }, 500)).toThrow(`${name} must be an ISO 8601 time`);
});
