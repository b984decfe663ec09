import type { Usage } from "@calotype/core";
import { describe, expect, it } from "vitest";
import { isFull } from "../support/test-run.js";
import { usageOf } from "./making.js";
import { type Outcome, observeCase } from "./observe-case.js";
import { type RecordFacts, type Row, recordOf, UNPRICED } from "./row.js";
import { GROUPS } from "./rows.js";
import type { Case } from "./start-case.js";
import { isNative, isQwenImage } from "./ways.js";

/** A case, and what happens in it: the title of its test. */
export interface NamedCase extends Case {
  readonly name: string;
}

/** Runs the chosen rows, in each of their ways and with each price. */
export function describeCases(isChosen: (row: Row) => boolean): void {
  const groups = GROUPS.map(({ title, rows }) => ({
    title,
    cases: rows.filter(isChosen).flatMap(toCases),
  })).filter(({ cases }) => cases.length > 0);

  // In parallel: each case has its own sockets and mostly waits.
  describe.concurrent.each(groups)("$title", ({ cases }) => {
    it.each(cases)("$name ($way, by $pricing)", async (played) => {
      expect(await observeCase(played)).toEqual(toExpectedOutcome(played));
    });
  });
}

/**
 * Qwen-Image reports no tokens, so it has no price by token. The price does not depend on the way, so one way of each row has
 * a price by token. `npm run test:full` has both prices for all ways.
 */
export function toCases(row: Row): readonly NamedCase[] {
  const withTokens = row.ways.filter((way) => !isQwenImage(way));
  const some = row.isLarge ? [] : withTokens.filter((way) => !isNative(way)).slice(0, 1);
  const byToken = isFull() ? withTokens : some;
  const name = [row.happened, row.detail].filter((part) => part !== undefined).join(": ");
  return row.ways.flatMap((way): NamedCase[] => [
    { name, row, way, pricing: "image" },
    ...(byToken.includes(way) ? [{ name, row, way, pricing: "token" } as const] : []),
  ]);
}

/** The outcome that the row expects. */
function toExpectedOutcome(played: Case): Outcome {
  const { row } = played;
  const record = toRecord(played);
  return {
    sees: row.sees,
    records: record === undefined ? [] : [record],
    balance: { settled: record?.charge ?? "0", held: "0" },
    calls: row.provider.length,
    next: { status: row.next ?? 200, held: "0" },
  };
}

function toRecord({ row, way, pricing }: Case): RecordFacts | undefined {
  const facts = recordOf(row);
  if (facts === "none") return undefined;
  const { state = "settled", images, status, errorCode, channel = "channel 1", usage, reportedUsage } = facts;
  const isUnpriced = row.charges[pricing] === UNPRICED;
  const charge = isUnpriced ? "0" : row.charges[pricing];
  if (state === "unresolved") return { state, images, charge };
  const reported = usage ?? (images > 0 ? usageOf(images) : "none");
  return {
    state,
    images,
    charge,
    status,
    channel,
    usage: reported === "none" ? undefined : asReportedBy(way, reported),
    reportedUsage: reportedUsage && asReportedBy(way, reportedUsage),
    errorCode,
    unpriced: isUnpriced || undefined,
  };
}

/** Qwen-Image reports the number of images only. */
function asReportedBy(way: Case["way"], usage: Usage): Usage | undefined {
  if (!isQwenImage(way)) return usage;
  const { generated_images } = usage;
  return generated_images === undefined ? undefined : { generated_images };
}
