import { describe, expect, it, onTestFinished } from "vitest";
import { type Lab, openLab } from "./lab.js";
import { SCENARIOS, type Scenario, type ScenarioName } from "./scenarios.js";

/** At most. Promises are counted in `fence`. */
interface Limits {
  /** The number of requests for a mean. */
  readonly requests: number;
  /** Bytes that are copied for each byte of the request and of the response from upstream. */
  readonly copied: number;
  /** Bytes that are decoded to strings. */
  readonly decoded: number;
  /** Bytes that are held in the middle of the response, besides the body of the request. */
  readonly held: number;
}

/** The events of a stream are decoded whole, and of a long item the first 8 KiB, twice. */
const LIMITS: Readonly<Record<ScenarioName, Limits>> = {
  small: { requests: 50, copied: 1.1, decoded: 950, held: 580_000 },
  "4 MB of base64 in a response": { requests: 2, copied: 1.1, decoded: 18_500, held: 880_000 },
  "100 events of 500 B": { requests: 2, copied: 1.1, decoded: 57_000, held: 630_000 },
  "10 events of 1 MB": { requests: 2, copied: 1.1, decoded: 95_000, held: 980_000 },
  // The files are sent as base64.
  "a form with 3 files of 10 MB": { requests: 1, copied: 1.1, decoded: 32_000_000, held: 2_000_000 },
  // Memory for a body is taken as it arrives and not as it is declared, so up to a third is moved once more.
  "JSON with 3 data URLs of 4 MB": { requests: 1, copied: 4 / 3, decoded: 1400, held: 1_000_000 },
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

describe("a request copies, decodes and holds no more than it needs", { timeout: TIMEOUT_MS }, () => {
  it.each(NAMES)("%s", async (name) => {
    const scenario = SCENARIOS[name];
    const { requests, copied, decoded, held } = LIMITS[name];
    const bytes = scenario.response.reduce((sum, piece) => sum + piece.length, scenario.body.length);
    const lab = await open();
    const work = await lab.countWork(scenario, requests);
    // That less than half is copied says that copies are no longer counted.
    expect(work.copiedBytes / bytes).toBeGreaterThan(0.5);
    expect(work.copiedBytes / bytes).toBeLessThan(copied);
    expect(work.decodedBytes).toBeLessThan(decoded);
    // One write for each chunk from upstream, and one that ends a stream.
    expect(work.moreWritesThanReads).toBeLessThanOrEqual(scenario.response.length > 1 ? 1 : 0);
    // None for each chunk. Some are of the connections.
    expect(work.timers).toBeLessThan(6);
    expect(work.handles).toBe(0);
    expect(await countHeld(lab, scenario)).toBeLessThan(scenario.body.length + held);
  });

  it("takes at most 115 kB of the heap for a small request", async () => {
    // So that the same work allocates the same bytes: no garbage collection while counting, and no optimized code,
    // which V8 compiles at a moment that depends on the machine.
    const lab = await open([
      "--min-semi-space-size=256",
      "--max-semi-space-size=256",
      "--no-opt",
      "--no-maglev",
    ]);
    const heapBytes = await lab.countAllocated(SCENARIOS.small, 300);
    expect(heapBytes).toBeGreaterThan(10_000);
    expect(heapBytes).toBeLessThan(115_000);
  });
});
