import { describe, expect, it, onTestFinished } from "vitest";
import { type Lab, openLab } from "./lab.js";
import { compareCount, compareWork, PRESENT_HEAP_BYTES, PRESENT_WORK } from "./present-work.js";
import { SCENARIOS, type Scenario, type ScenarioName } from "./scenarios.js";

/** The number of requests for a mean. Small requests vary more than large ones. */
const REQUESTS: Readonly<Record<ScenarioName, number>> = {
  small: 50,
  "4 MB of base64 in a response": 2,
  "100 events of 500 B": 2,
  "10 events of 1 MB": 2,
  "a form with 3 files of 10 MB": 1,
  "JSON with 3 data URLs of 4 MB": 1,
};
const NAMES = Object.keys(SCENARIOS) as ScenarioName[];

/** Much longer than necessary, for a busy machine. */
const TIMEOUT_MS = 60_000;

async function open(flags?: readonly string[]): Promise<Lab> {
  const lab = await openLab(flags);
  onTestFinished(() => lab.close());
  return lab;
}

/** The median of three, because the runtime sometimes frees memory late. */
async function countHeld(lab: Lab, scenario: Scenario): Promise<number> {
  const counts = [];
  for (let time = 0; time < 3; time++) counts.push(await lab.countHeld(scenario));
  return counts.toSorted((a, b) => a - b)[1] ?? 0;
}

describe("a request costs no more work than before", { timeout: TIMEOUT_MS }, () => {
  it.each(NAMES)("%s", async (name) => {
    const lab = await open();
    const work = await lab.countWork(SCENARIOS[name], REQUESTS[name]);
    const heldBytes = await countHeld(lab, SCENARIOS[name]);
    expect(compareWork({ ...work, heldBytes }, PRESENT_WORK[name])).toEqual([]);
  });

  it("in bytes of the heap", async () => {
    // So that the same work allocates the same bytes: no garbage collection while counting, and no optimized code,
    // which V8 compiles at a moment that depends on the machine.
    const lab = await open([
      "--min-semi-space-size=256",
      "--max-semi-space-size=256",
      "--no-opt",
      "--no-maglev",
    ]);
    const heapBytes = await lab.countAllocated(SCENARIOS.small, 300);
    expect(compareCount("heapBytes", heapBytes, { present: PRESENT_HEAP_BYTES })).toEqual([]);
  });
});

describe("the comparison of work", () => {
  const present = PRESENT_WORK.small;

  it("allows small increases", () => {
    expect(compareWork({ ...present, promises: present.promises * 1.1 }, present)).toEqual([]);
  });

  it("reports large increases and large decreases", () => {
    const work = { ...present, jsonParses: 3, promises: 8 };
    expect(compareWork(work, present)).toEqual([
      "jsonParses rose from 2 to 3 for one request; at most 2 are allowed",
      `promises fell from ${present.promises} to 8: write that into present-work.ts`,
    ]);
  });
});
