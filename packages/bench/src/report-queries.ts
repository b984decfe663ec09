import { createRepricer, exportRecords } from "@calotype/core/billing";
import type { HistoryLedger } from "@calotype/core/stores";

/** A report, which reads what it returns completely. */
export type Report = (ledger: HistoryLedger) => Promise<unknown>;

const DAY_MS = 86_400_000;
const PRICES = {
  model_details: Object.fromEntries(
    Array.from(
      { length: 5 },
      (_, at) => [`model-${at}`, { pricing_mode: "per-request", model_price: "0.04" }] as const,
    ),
  ),
};

/**
 * What the page of an operator reads, and what an app may read, by title.
 *
 * @param end the end of the periods, in milliseconds since 1970
 * @param id the id of a record that exists
 */
export function createReports(end: number, id: string): Readonly<Record<string, Report>> {
  const days = (count: number): { readonly from: string; readonly to: string } => ({
    from: new Date(end - count * DAY_MS).toISOString(),
    to: new Date(end).toISOString(),
  });
  return {
    "100 days by day and caller": ({ history }) =>
      history.series({ ...days(100), bucket: "day", by: "caller" }),
    "100 days by caller, in one bucket": ({ history }) => history.series({ ...days(100), by: "caller" }),
    "100 days by day and model, in India": ({ history }) =>
      history.series({ ...days(100), bucket: "day", by: "model", timeZone: "Asia/Kolkata" }),
    "100 days of a caller by day": ({ history }) =>
      history.series({ ...days(100), bucket: "day", caller: "caller-3" }),
    "the last day by hour and channel": ({ history }) =>
      history.series({ ...days(1), bucket: "hour", by: "channel" }),
    "the last day by end user": ({ history }) => history.series({ ...days(1), by: "endUser" }),
    "30 days by end user": ({ history }) => history.series({ ...days(30), by: "endUser" }),
    "30 days by day and end user": ({ history }) =>
      history.series({ ...days(30), bucket: "day", by: "endUser" }),
    "30 days by tag": ({ history }) => history.series({ ...days(30), by: "tag:team" }),
    "30 days of one end user by day": ({ history }) =>
      history.series({ ...days(30), bucket: "day", endUser: "user-77" }),
    "30 days of an unknown end user": ({ history }) => history.series({ ...days(30), endUser: "nobody" }),
    "30 days of a tag by caller": ({ history }) =>
      history.series({ ...days(30), by: "caller", tag: { key: "team", value: "team-7" } }),
    "30 days of failures by day": ({ history }) =>
      history.series({ ...days(30), bucket: "day", outcomes: ["failed"] }),
    "30 days of successes by day": ({ history }) =>
      history.series({ ...days(30), bucket: "day", outcomes: ["succeeded"] }),
    "the newest 50 records": ({ history }) => history.page(),
    "the newest 50 failures of a caller": ({ history }) =>
      history.page({ caller: "caller-3", outcomes: ["failed"] }),
    "the newest 50 records of an end user": ({ history }) => history.page({ endUser: "user-77" }),
    "the newest 50 records of an unknown end user, 30 days": ({ history }) =>
      history.page({ ...days(30), endUser: "nobody" }),
    "the 50 highest charges of the last day": ({ history }) => history.page({ ...days(1), sort: "charge" }),
    "the 50 highest charges of 30 days": ({ history }) => history.page({ ...days(30), sort: "charge" }),
    "the 50 longest requests of a caller of 30 days": ({ history }) =>
      history.page({ ...days(30), caller: "caller-3", sort: "duration" }),
    "one record by its id": ({ history }) => history.find(id),
    "totals of 30 days by caller": (ledger) => ledger.totals("caller", days(30)),
    "totals of 30 days by end user": (ledger) => ledger.totals("endUser", days(30)),
    "totals of all records by day": (ledger) => ledger.totals("day"),
    "30 days of an end user, exported": (ledger) =>
      drain(exportRecords(ledger, { ...days(30), endUser: "user-77" })),
    "10 days, exported": (ledger) => drain(exportRecords(ledger, days(10))),
    "10 days, repriced": async (ledger) => {
      const repricer = createRepricer(PRICES);
      for await (const record of ledger.records(days(10))) repricer.add(record);
      return repricer.sum();
    },
  };
}

/** Reads everything. */
async function drain(lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) void line;
}
