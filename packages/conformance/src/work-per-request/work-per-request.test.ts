import { describe, expect, it, onTestFinished } from "vitest";
import { type Lab, openLab } from "./lab.js";
import { compareCount, compareWork, PRESENT_HEAP_BYTES, PRESENT_WORK } from "./present-work.js";
import { SCENARIOS, type Scenario, type ScenarioName } from "./scenarios.js";

/** As many as make a mean of small requests; of large ones each is like the other. */
const REQUESTS: Readonly<Record<ScenarioName, number>> = {
  small: 50,
  "4 MB of base64 in an answer": 2,
  "100 events of 500 B": 2,
  "10 events of 1 MB": 2,
  "a form with 3 files of 10 MB": 1,
  "JSON with 3 data URLs of 4 MB": 1,
};
const NAMES = Object.keys(SCENARIOS) as ScenarioName[];

/** Far more than it takes; the machine may be busy. */
const TIMEOUT_MS = 60_000;

async function open(flags?: readonly string[]): Promise<Lab> {
  const lab = await openLab(flags);
  onTestFinished(() => lab.close());
  return lab;
}

/** The middle of three: the runtime keeps things for itself now and then, and gives them back late. */
async function countHeld(lab: Lab, scenario: Scenario): Promise<number> {
  const counts = [];
  for (let time = 0; time < 3; time++) counts.push(await lab.countHeld(scenario));
  return counts.toSorted((a, b) => a - b)[1] ?? 0;
}

describe("a request costs no more than it did", { timeout: TIMEOUT_MS }, () => {
  it.each(NAMES)("%s", async (name) => {
    const lab = await open();
    const work = await lab.countWork(SCENARIOS[name], REQUESTS[name]);
    const heldBytes = await countHeld(lab, SCENARIOS[name]);
    expect(compareWork({ ...work, heldBytes }, PRESENT_WORK[name])).toEqual([]);
  });

  it("in bytes of the heap", async () => {
    // So that the same work takes the same bytes: nothing is collected while they are counted, and code is not
    // compiled anew, with fewer objects, at a moment that depends on the machine.
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

describe("what a request costs", () => {
  const present = PRESENT_WORK.small;

  it("may rise by little", () => {
    expect(compareWork({ ...present, promises: present.promises * 1.1 }, present)).toEqual([]);
  });

  it("is told where it rose by more, and where it fell by much", () => {
    const work = { ...present, jsonParses: 3, promises: 8 };
    expect(compareWork(work, present)).toEqual([
      "jsonParses rose from 2 to 3 for one request; at most 2 are allowed",
      "promises fell from 80 to 8: write that into present-work.ts",
    ]);
  });
});
