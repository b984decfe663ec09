import { describe, expect, it } from "vitest";
import { toExpectedOutcome } from "./expected-outcome.js";
import { observeCase } from "./observe-case.js";
import type { Row } from "./row.js";
import { GROUPS } from "./rows.js";
import type { Case } from "./start-case.js";

/** Plays the rows that are chosen, in each of their ways and at each price. */
export function describeCases(isChosen: (row: Row) => boolean): void {
  const groups = GROUPS.map(({ title, rows }) => ({
    title,
    cases: rows.filter(isChosen).flatMap(toCases),
  })).filter(({ cases }) => cases.length > 0);

  // At once: each is on sockets of its own, and most of its time is waiting.
  describe.concurrent.each(groups)("$title", ({ cases }) => {
    it.each(cases)("$row.happened $row.detail ($way, by $pricing)", async (played) => {
      expect(await observeCase(played)).toEqual(toExpectedOutcome(played));
    });
  });
}

/** Qwen-Image reports no tokens, and cannot be priced by them. */
export function toCases(row: Row): readonly Case[] {
  return row.ways.flatMap((way): Case[] => [
    { row, way, pricing: "image" },
    ...(way === "Qwen-Image" ? [] : [{ row, way, pricing: "token" } as const]),
  ]);
}
