import { describe, expect, it } from "vitest";
import { isFull } from "../support/test-run.js";
import { repeatCall } from "./clients.js";
import { type NamedCase, toCases } from "./describe-cases.js";
import { playCase } from "./observe-case.js";
import { type Row, repeatOf } from "./row.js";
import { GROUPS } from "./rows.js";
import { startCase } from "./start-case.js";
import { isNative } from "./ways.js";

const KEY = { "idempotency-key": "one" };

/** Two ways of each row, others for the next row. `npm run test:full` has all ways, also those of `/api/v3`. */
function chooseCases(row: Row, index: number): readonly NamedCase[] {
  const cases = toCases(row).filter(
    ({ pricing, way }) => pricing === "image" && (isFull() || !isNative(way)),
  );
  const count = cases.length;
  const chosen = new Set([index % count, (index + Math.ceil(count / 2)) % count]);
  return isFull() ? cases : cases.filter((_, at) => chosen.has(at));
}

const isRepeated = (row: Row): boolean => row.closed === undefined && (isFull() || !row.isLarge);

/** Without the rows that close the gateway, because a closed gateway accepts no repeat. */
const groups = GROUPS.map(({ title, rows }) => ({
  title,
  cases: rows.filter(isRepeated).flatMap(chooseCases),
})).filter(({ cases }) => cases.length > 0);

describe.concurrent.each(groups)("a repeat with the same idempotency key. $title", ({ cases }) => {
  it.each(cases)("$name ($way)", async (played) => {
    const started = await startCase(played);
    try {
      const call = await playCase(played, started, KEY);
      expect(await repeatCall(started.url, call)).toBe(repeatOf(played.row));
    } finally {
      await started.close();
    }
  });
});
