import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFull } from "@calotype/runtimes/is-full";
import { describe, expect, it } from "vitest";
import type { FindingFile } from "./part.ts";
import { findPart, PARTS } from "./parts.ts";
import { replayFinding } from "./run-part.ts";
import { runTask } from "./run-task.ts";

/** For all parts together. */
const SECONDS = isFull() ? 600 : 15;
/** Another in every run; a failure names it. */
const FRESH_SEED = Math.floor(Math.random() * 2 ** 31);
/** `npm test` is to find the defects of a change, and not those that were there before. */
const SEEDS = [
  { kind: "a fixed seed", seed: 1 },
  ...(isFull() ? [{ kind: "a fresh seed", seed: FRESH_SEED }] : []),
];
const WEIGHTS = PARTS.reduce((sum, { weight = 1 }) => sum + weight, 0);

describe.each(SEEDS)("with $kind ($seed)", ({ seed }) => {
  it.each(PARTS)(
    "$name finds nothing",
    { timeout: SECONDS * 1000 + 120_000 },
    async ({ name, weight = 1 }) => {
      const seconds = (SECONDS * weight) / WEIGHTS / SEEDS.length;
      const result = await runTask({ part: name, seed, seconds, share: { index: 0, of: 1 } });

      const found = result.findings.map(
        (path) => `npm run harden -- --replay ${path}\n${readFileSync(path, "utf8")}`,
      );
      expect(found, `seed ${seed}`).toEqual([]);
      expect(Object.values(result.figures).some((value) => value > 0)).toBe(true);
    },
  );
});

const REPLAYS = join(import.meta.dirname, "../replays");
const files = globSync("*.json", { cwd: REPLAYS }).toSorted();

describe.runIf(files.length > 0)("findings of earlier runs", () => {
  it.each(files)("%s breaks no rule any more", async (name) => {
    const file: FindingFile = JSON.parse(readFileSync(join(REPLAYS, name), "utf8"));

    expect(await replayFinding(findPart(file.part), file)).toEqual([]);
  });
});
