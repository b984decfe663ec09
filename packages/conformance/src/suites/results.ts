import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type TestContext } from "vitest";

/** How many of what a suite has seen, such as `{ "requests": 12 }`. */
export type SuiteCounts = Readonly<Record<string, number>>;

/** The suites whose counts are stored. Those of the others are counted from their fixtures. */
export type StoredSuite =
  | "axe"
  | "ibm-ruleset"
  | "openai"
  | "prism"
  | "proxies"
  | "radosgw"
  | "reproducible-tarballs"
  | "slowhttptest"
  | "software-bills"
  | "structured-fields";

const pathOf = (suite: StoredSuite): string => join(import.meta.dirname, "results", `${suite}.json`);

/** Compares what a suite has seen with what is stored of it. `vitest --update` stores it, and `docs/suites.md` shows it. */
export async function expectCounts(suite: StoredSuite, counts: SuiteCounts): Promise<void> {
  await expect(`${JSON.stringify(counts, null, 2)}\n`).toMatchFileSnapshot(pathOf(suite));
}

/** What is stored of a suite. */
export function readCounts(suite: StoredSuite): SuiteCounts {
  const counts: SuiteCounts = JSON.parse(readFileSync(pathOf(suite), "utf8"));
  return counts;
}

/** How many tests of a file have passed so far. */
export function countPassed({ file }: TestContext["task"]): number {
  const count = (tasks: typeof file.tasks): number =>
    tasks.reduce((sum, task) => {
      if (task.type === "suite") return sum + count(task.tasks);
      return sum + (task.result?.state === "pass" ? 1 : 0);
    }, 0);
  return count(file.tasks);
}
