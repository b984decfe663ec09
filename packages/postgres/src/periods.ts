import { type BudgetPeriod, findPeriodsAround } from "@calotype/core/stores";
import { codeOf } from "./postgres-error.js";

/**
 * The periods that are sent with holds. The database chooses among them by its own clock, in the step in which it checks the
 * budget. This process only has to send periods around that time.
 */
export interface Periods {
  /** Adds the periods of a hold to its JSON. */
  addTo(holdJson: string, period: BudgetPeriod | undefined): string;
  /**
   * Runs a statement with holds. If the clock of this process is wrong by more than a period, it is corrected by the clock
   * of the database, and the statement runs once more.
   */
  run<T>(statement: () => Promise<T>): Promise<T>;
}

/** The error code of `choose_period`. */
const WRONG_CLOCK = "CP001";

/** @param now milliseconds since 1970, or `null` for the clock of the database */
export function createPeriods(now: () => number | null): Periods {
  /** How much the clock of the database is ahead, in milliseconds, if it is known to differ. */
  let aheadMs = 0;
  return {
    addTo: (holdJson, period) => {
      if (period === undefined) return holdJson;
      const spans = findPeriodsAround(period, now() ?? Date.now() + aheadMs);
      const separator = holdJson === "{}" ? "" : ",";
      return `${holdJson.slice(0, -1)}${separator}"periods":${JSON.stringify(spans)}}`;
    },
    run: async (statement) => {
      try {
        return await statement();
      } catch (error) {
        const instant = readInstant(error);
        if (instant === undefined) throw error;
        aheadMs = instant - Date.now();
        return await statement();
      }
    },
  };
}

function readInstant(error: unknown): number | undefined {
  if (codeOf(error) !== WRONG_CLOCK) return undefined;
  const detail: unknown = error instanceof Error && "detail" in error ? error.detail : undefined;
  const instant = Number(detail);
  return Number.isFinite(instant) ? instant : undefined;
}
