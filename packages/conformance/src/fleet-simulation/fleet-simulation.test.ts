import { describe, expect, it } from "vitest";
import { DOWN, LIMITED, runCooldowns } from "./cooldown-scenario.ts";
import type { SimulatedFleet } from "./create-fleet.ts";
import { digestRun } from "./digest-run.ts";
import {
  CONCURRENT,
  IMAGES_PER_MINUTE,
  type LimitsRun,
  REQUESTS_PER_MINUTE,
  runLimits,
} from "./limits-scenario.ts";
import { countAtOnce, countWindows, measureBudget, measureKeys, measureLedger } from "./measure-limits.ts";
import { measureRecoveryMs, measureSpan } from "./measure-outage.ts";
import { type Outage, RUN_MS, runOutage, TROUBLE_FROM_MS, TROUBLE_TO_MS } from "./outage-scenario.ts";

const RUNS: { readonly seed: number; readonly run: LimitsRun }[] = [];
for (const seed of [1, 2, 3, 4]) RUNS.push({ seed, run: await runLimits(seed) });

/** The simulations only compute, but take seconds on a busy machine. */
const PATIENCE = { timeout: 60_000 };

const callsPerRequest = (fleet: SimulatedFleet): number =>
  measureSpan(fleet, TROUBLE_FROM_MS, TROUBLE_TO_MS).attemptsPerRequest;

const countFailed = ({ calls }: SimulatedFleet, channel: string): number =>
  calls.filter((call) => call.channel === channel && call.status !== 200).length;

it(
  "a simulation with the same seed gives the same run, and with another seed a different run",
  PATIENCE,
  async () => {
    const [first, second] = RUNS.map(({ run }) => digestRun(run.fleet));
    expect(digestRun((await runLimits(1)).fleet)).toBe(first);
    expect(second).not.toBe(first);
  },
);

describe.each(RUNS)("five gateways, one of which is killed, with seed $seed", ({ run }) => {
  it("admit exactly as many requests and images as the limit allows in every window", () => {
    expect(countWindows(run, "requests")).toEqual([REQUESTS_PER_MINUTE, REQUESTS_PER_MINUTE]);
    expect(countWindows(run, "images")).toEqual([IMAGES_PER_MINUTE, IMAGES_PER_MINUTE]);
  });

  it("run exactly as many requests in parallel as the limit allows", () => {
    expect(countAtOnce(run, "at-once")).toBe(CONCURRENT);
  });

  it("run a request once, however often its idempotency key is repeated", () => {
    const { keys, mostRuns, mostBodies } = measureKeys(run);
    expect(keys).toBeGreaterThan(50);
    expect({ mostRuns, mostBodies }).toEqual({ mostRuns: 1, mostBodies: 1 });
  });

  it("use a budget up and never exceed it", () => {
    const { budget, highest } = measureBudget(run, "by-budget");
    expect(highest).toBe(budget);
  });

  it("charge the delivered images, and hold nothing at the end", async () => {
    const totals = await measureLedger(run);
    expect(totals.made - totals.madeForLost).toBe(totals.delivered);
    expect(totals.charged).toBe(totals.priceOfImages);
    expect(totals.settledBalances).toBe(totals.charged);
    // A charge may be settled although the client did not get the response.
    expect(totals.chargedImages).toBeGreaterThanOrEqual(totals.delivered);
    expect(totals.chargedImages).toBeLessThanOrEqual(totals.made);
    expect(totals.held).toBe(0);
    expect(totals.unresolved).toBeGreaterThan(0);
  });
});

it("gateways with separate stores admit a multiple of the limits", PATIENCE, async () => {
  const run = await runLimits(1, false);
  expect(countWindows(run, "requests")[0]).toBeGreaterThan(2 * REQUESTS_PER_MINUTE);
  expect(countAtOnce(run, "at-once")).toBeGreaterThan(2 * CONCURRENT);
  expect(measureKeys(run).mostRuns).toBeGreaterThan(1);
});

describe("the retry budget", PATIENCE, () => {
  // A fifth of the requests, plus at least three retries of each gateway.
  it.each<Outage>(["six of six down", "brown-out of all"])(
    "limits the attempts in an outage: %s",
    async (outage) => {
      const calls = callsPerRequest(await runOutage(outage, 1, true));
      expect(calls).toBeGreaterThan(1.15);
      expect(calls).toBeLessThan(1.25);
    },
  );

  it("lets a provider recover at once that would not recover without the budget", async () => {
    const withBudget = await runOutage("weak backend", 2, true);
    expect(callsPerRequest(withBudget)).toBeLessThan(1.25);
    expect(measureRecoveryMs(withBudget, TROUBLE_TO_MS, RUN_MS)).toBeLessThanOrEqual(2_000);
    const without = await runOutage("weak backend", 2, false);
    expect(callsPerRequest(without)).toBeGreaterThan(5);
    expect(measureRecoveryMs(without, TROUBLE_TO_MS, RUN_MS)).toBeNaN();
  });

  it("makes few requests fail if other channels work", async () => {
    const fleet = await runOutage("two of six down", 1, true);
    const { succeeded, requests } = measureSpan(fleet, TROUBLE_FROM_MS, TROUBLE_TO_MS);
    expect(callsPerRequest(fleet)).toBeLessThan(1.2);
    expect(succeeded / requests).toBeGreaterThan(0.93);
  });
});

it("a shared cooldown saves failed attempts of all gateways except one", PATIENCE, async () => {
  const shared = await runCooldowns(1, true);
  const apart = await runCooldowns(1, false);
  expect(countFailed(apart, DOWN)).toBeGreaterThan(3 * countFailed(shared, DOWN));
  expect(countFailed(apart, LIMITED)).toBeGreaterThan(3 * countFailed(shared, LIMITED));
});
