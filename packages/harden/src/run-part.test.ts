import { readFileSync, rmSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { Part } from "./part.ts";
import { replayFinding, runPart, type TaskResult } from "./run-part.ts";

/** Draws lists of digits; a list with a 7 in it breaks the rule. */
const noSevens: Part<readonly number[]> = {
  name: "no-sevens",
  guarantees: "",
  async run(context) {
    while (!context.isOver()) {
      const input = Array.from({ length: 8 }, () => Math.floor(context.random() * 10));
      context.count("lists");
      await noSevens.replay(input, context);
    }
  },
  async replay(input, context) {
    if (input.includes(7)) await context.report({ rule: "a list has no 7", input, seen: input.join() });
  },
  *shrink(input) {
    for (const index of input.keys()) yield input.toSpliced(index, 1);
  },
};

const TASK = { part: "test", seed: 5, seconds: 0.05, share: { index: 0, of: 1 } };
let results: TaskResult[] = [];

afterEach(() => {
  for (const path of results.flatMap(({ findings }) => findings)) rmSync(path);
  results = [];
});

async function run(part: Part, seed = 5): Promise<TaskResult> {
  const result = await runPart(part, { ...TASK, seed });
  results.push(result);
  return result;
}

/** The first numbers that a part draws. */
async function draw(seed: number): Promise<readonly number[]> {
  const drawn: number[] = [];
  await run({ ...noSevens, run: async ({ random }) => void drawn.push(random(), random()) }, seed);
  return drawn;
}

function readFinding({ findings }: TaskResult) {
  expect(findings).toHaveLength(1);
  return JSON.parse(readFileSync(findings[0] ?? "", "utf8"));
}

describe("a part that finds something", () => {
  it("leaves one file for each rule, with the smallest input that breaks it", async () => {
    const result = await run(noSevens);

    expect(result.figures["lists"]).toBeGreaterThan(0);
    const file = readFinding(result);
    expect(file).toMatchObject({
      part: "no-sevens",
      seed: 5,
      rule: "a list has no 7",
      input: [7],
      seen: "7",
    });
    expect(await replayFinding(noSevens, file)).toMatchObject([{ rule: "a list has no 7" }]);
    expect(await replayFinding(noSevens, { ...file, input: [1] })).toEqual([]);
  });

  it("draws the same inputs for the same seed, and others for another", async () => {
    expect(await draw(1)).toEqual(await draw(1));
    expect(await draw(1)).not.toEqual(await draw(2));
  });
});

it("a part whose time is over before it begins tries one input", async () => {
  let tries = 0;
  const part: Part = {
    ...noSevens,
    async run(context) {
      while (!context.isOver()) tries += 1;
    },
  };
  results.push(await runPart(part, { ...TASK, seconds: 0 }));

  expect(tries).toBe(1);
});

it("blames the input under way for an unhandled rejection", async () => {
  const result = await run({
    ...noSevens,
    async run(context) {
      context.begin([1, 2]);
      void Promise.reject(new Error("nobody handles this"));
    },
  });

  expect(readFinding(result)).toMatchObject({
    rule: "no unhandled rejection in the process",
    input: [1, 2],
    seen: expect.stringContaining("nobody handles this"),
  });
});
