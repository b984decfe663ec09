import { writeFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import { canUse, urlOf } from "../support/service.js";
import { BAD_DAYS } from "./days.js";
import { RESULTS, type StoredDays, toResults } from "./results.js";
import type { DayFigures } from "./spend-day.js";

/*
 * The ledger on PostgreSQL and the admission store on Redis on bad days. `npm run bad-days` runs this too, and writes what it saw to
 * `results.json`, from which the table of docs/postgres.md is written.
 */

const ran = new Map<string, DayFigures>();

for (const { id, title, needs, refuses, loses, cause, run } of BAD_DAYS) {
  const isPossible = (await Promise.all(needs.map((service) => canUse(service, urlOf(service))))).every(
    Boolean,
  );
  it.runIf(isPossible)(`${title} (${id})`, { timeout: 180_000 }, async () => {
    const { figures, problems, errors } = await run();
    const { lost, refused } = figures;
    const hasHappened = cause === undefined || errors.some((error) => cause.test(error));
    expect({ figures, problems, hasHappened }).toEqual({
      figures: {
        ...figures,
        refused: refuses ? Math.max(1, refused) : refused,
        withoutRetryAfter: 0,
        broken: 0,
        lost: loses ? Math.max(1, lost) : 0,
        doubled: 0,
        stuck: 0,
      },
      problems: [],
      hasHappened: true,
    });
    ran.set(id, figures);
  });
}

afterAll(async () => {
  if (process.env["BAD_DAYS"] !== "write") return;
  const results: StoredDays = await toResults(ran);
  writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
});
