import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  addDecimals,
  DURATION_LIMITS,
  findDuration,
  formatDecimal,
  negateDecimal,
  parseRecord,
  readDecimal,
  readFacts,
  toCostCounts,
  type UsageFacts,
  type UsageOutcome,
  type UsageRecord,
} from "@calotype/core/stores";
import { type Row, readNumber, readText, readTextOrNull } from "./read-column.js";

/** The columns of the histogram of durations. */
export const DURATION_COLUMNS: readonly string[] = Array.from(
  { length: DURATION_LIMITS.length + 1 },
  (_, at) => `duration_${at}`,
);

/** The totals of each hour, caller, model and channel. Everything here runs inside a transaction. */
export interface HourlyTotals {
  /** Counts a record; with the sign -1 it is taken back. */
  change(record: CountedRecord, facts: UsageFacts, sign: 1 | -1): void;
  /** Counts up to this number of records that an older version of this package stored. Returns whether there are more. */
  countOld(limit: number): boolean;
  /** Whether there are records that were not counted. Only reads. */
  hasOld(): boolean;
}

/** The columns of a record that are counted. */
export interface CountedRecord {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly caller: string;
  readonly model: string;
  readonly channel: string;
  readonly images: number;
  readonly charge: string | null;
  /** `null` if it is not known. */
  readonly cost: string | null;
}

const HOUR_MS = 3_600_000;

/** The totals in the database. */
export function createHourlyTotals(database: DatabaseSync): HourlyTotals {
  addDecimalFunctions(database);
  const upserts = new Map<string, StatementSync>();
  const selectOld = database.prepare(SELECT_OLD);
  const setFacts = database.prepare(
    "UPDATE records SET outcome = ?, duration_ms = ?, tokens = ? WHERE sequence = ?",
  );

  const addCost = database.prepare(
    `UPDATE hourly_totals SET costed = costed + ?, cost = add_decimals(cost, ?),
      costed_charge = add_decimals(costed_charge, ?) WHERE hour = ? AND caller = ? AND model = ? AND channel = ?`,
  );

  /** One statement for each column that counts requests, so that the others are not computed. */
  function upsertOf(column: string): StatementSync {
    const known = upserts.get(column);
    if (known !== undefined) return known;
    const upsert = database.prepare(
      `INSERT INTO hourly_totals
        (hour, caller, model, channel, requests, images, tokens, duration_ms, charge, ${column})
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (hour, caller, model, channel) DO UPDATE SET requests = requests + excluded.requests,
        images = images + excluded.images, tokens = tokens + excluded.tokens,
        duration_ms = duration_ms + excluded.duration_ms, charge = add_decimals(charge, excluded.charge),
        ${column} = ${column} + excluded.${column}`,
    );
    upserts.set(column, upsert);
    return upsert;
  }

  const totals: HourlyTotals = {
    change: (
      { time, caller, model, channel, images, charge, cost },
      { outcome, durationMs, tokens },
      sign,
    ) => {
      const hour = Math.floor(time / HOUR_MS) * HOUR_MS;
      const duration = outcome === "succeeded" ? (durationMs ?? 0) : 0;
      const column = outcome === "succeeded" ? (DURATION_COLUMNS[findDuration(duration)] ?? "") : outcome;
      const amount = readDecimal(charge);
      upsertOf(column).run(
        hour,
        caller,
        model,
        channel,
        sign,
        sign * images,
        sign * tokens,
        sign * duration,
        formatDecimal(sign === 1 ? amount : negateDecimal(amount)),
        sign,
      );
      const costs = toCostCounts({ charge, cost }, sign);
      if (costs === undefined) return;
      const sums = [costs.requests, formatDecimal(costs.cost), formatDecimal(costs.charge)];
      addCost.run(...sums, hour, caller, model, channel);
    },
    countOld: (limit) => {
      const rows = selectOld.all(limit);
      for (const row of rows) {
        const facts = readOldFacts(row);
        const record = {
          time: readNumber(row, "time"),
          caller: readText(row, "caller"),
          model: readText(row, "model"),
          channel: readText(row, "channel"),
          images: readNumber(row, "images"),
          charge: readTextOrNull(row, "charge"),
          cost: null,
        };
        totals.change(record, facts, 1);
        setFacts.run(facts.outcome, facts.durationMs, facts.tokens, readNumber(row, "sequence"));
      }
      return rows.length === limit;
    },
    hasOld: () => selectOld.get(1) !== undefined,
  };
  return totals;
}

/** Records that are not in the totals, the newest first. */
const SELECT_OLD = `SELECT sequence, state, time, caller, model, channel, images, charge, record FROM records
  WHERE outcome IS NULL ORDER BY sequence DESC LIMIT ?`;

/** A record that cannot be read counts as failed, without a duration. */
function readOldFacts(row: Row): UsageFacts {
  try {
    return readFacts(parseRecord(readText(row, "record")));
  } catch {
    // A damaged record must not keep the others from being counted. Readers of records report it.
    const state = readText(row, "state");
    return { outcome: isUnsettled(state) ? state : "failed", durationMs: null, tokens: 0 };
  }
}

function isUnsettled(state: string): state is UsageOutcome & UsageRecord["state"] {
  return state === "unresolved" || state === "released";
}

/** Adds `add_decimals` and the aggregate `sum_decimals` to a connection: SQLite has no exact decimals. */
export function addDecimalFunctions(database: DatabaseSync): void {
  database.function("add_decimals", { deterministic: true }, addStrings);
  database.aggregate("sum_decimals", {
    start: "0",
    step: (sum, value) => (value === "0" ? sum : addStrings(sum, value)),
  });
}

const addStrings = (one: unknown, other: unknown): string =>
  formatDecimal(addDecimals(readDecimal(String(one)), readDecimal(String(other))));
