import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFull, SEED } from "@calotype/conformance/support/test-run";
import { describe, expect, it } from "vitest";
import type { FindingFile } from "./part.ts";
import { findPart, PARTS } from "./parts.ts";
import { replayFinding } from "./run-part.ts";
import { runTask } from "./run-task.ts";

/** For all parts together. */
const SECONDS = isFull() ? 600 : 5;
/** Only in the full run: their processes are slow to start, and tests in `conformance/src` also kill processes. */
const ONLY_FULL = new Set(["kills", "tasks", "pollers", "histories"]);
const TESTED = PARTS.filter(({ name }) => isFull() || !ONLY_FULL.has(name));
const WEIGHTS = TESTED.reduce((sum, { weight = 1 }) => sum + weight, 0);

it.each(TESTED)(
  "$name finds nothing",
  { timeout: SECONDS * 1000 + 120_000 },
  async ({ name, weight = 1 }) => {
    const seconds = (SECONDS * weight) / WEIGHTS;
    const result = await runTask({ part: name, seed: SEED, seconds, share: { index: 0, of: 1 } });

    const found = result.findings.map(
      (path) => `npm run harden -- --replay ${path}\n${readFileSync(path, "utf8")}`,
    );
    expect(found, `seed ${SEED}`).toEqual([]);
    expect(Object.values(result.figures).some((value) => value > 0)).toBe(true);
  },
);

const REPLAYS = join(import.meta.dirname, "../replays");
const files = globSync("*.json", { cwd: REPLAYS }).toSorted();

describe.runIf(files.length > 0)("findings of earlier runs", () => {
  it.each(files)("%s breaks no rule any more", async (name) => {
    const file: FindingFile = JSON.parse(readFileSync(join(REPLAYS, name), "utf8"));

    expect(await replayFinding(findPart(file.part), file)).toEqual([]);
  });
});
