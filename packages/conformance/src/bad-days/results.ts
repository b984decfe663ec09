import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { POSTGRES, urlOf } from "../support/service.js";
import { BAD_DAYS } from "./days.js";
import type { DayFigures } from "./spend-day.js";

/** The results of the last run of `npm run bad-days`. */
export const RESULTS = join(import.meta.dirname, "results.json");

/** The content of `results.json`. */
export interface StoredDays {
  /** The day of the run, in ISO 8601. */
  readonly date: string;
  readonly node: string;
  readonly postgres: string;
  /** By the id of the day. */
  readonly days: Readonly<Record<string, DayFigures>>;
}

export function readResults(): StoredDays {
  return JSON.parse(readFileSync(RESULTS, "utf8"));
}

/** Days that were not run keep their result. */
export async function toResults(ran: ReadonlyMap<string, DayFigures>): Promise<StoredDays> {
  const earlier = existsSync(RESULTS) ? readResults().days : {};
  const days = BAD_DAYS.flatMap(({ id }) => {
    const figures = ran.get(id) ?? earlier[id];
    return figures === undefined ? [] : [[id, figures] as const];
  });
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    postgres: await readVersion(),
    days: Object.fromEntries(days),
  };
}

async function readVersion(): Promise<string> {
  const client = new Client({ connectionString: urlOf(POSTGRES) });
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
    return rows[0]?.server_version.split(" ")[0] ?? "";
  } finally {
    await client.end();
  }
}

/** The head of the table, and a row for each day. */
export function toTable({ days }: StoredDays): {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
} {
  return {
    head: [
      "Bad day",
      "Requests",
      "Served",
      "Refused with 503",
      "Charges lost",
      "Charged twice",
      "Holds stuck",
      "Served again after",
    ],
    rows: BAD_DAYS.map(({ id, title }) => {
      const day = days[id];
      if (day === undefined) throw new Error(`There is no result of ${id}: npm run bad-days`);
      const { requests, served, refused, lost, doubled, stuck, recoverySeconds } = day;
      const figures = [requests, served, refused, lost, doubled, stuck].map(String);
      return [title, ...figures, `${recoverySeconds.toFixed(1)} s`];
    }),
  };
}
