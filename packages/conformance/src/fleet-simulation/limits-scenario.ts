import type { UsageRecord } from "@calotype/core";
import { createFleet, type FleetOptions, type SimulatedFleet } from "./create-fleet.ts";
import type { Random } from "./create-random.ts";
import { sendTraffic, type Traffic } from "./send-traffic.ts";

/** A fleet whose callers exceed their limits, and its ledger. */
export interface LimitsRun {
  readonly fleet: SimulatedFleet;
  readonly records: readonly UsageRecord[];
}

export const REQUESTS_PER_MINUTE = 60;
export const IMAGES_PER_MINUTE = 120;
export const CONCURRENT = 6;
/** The price of 200 images. */
export const BUDGET = "8";

/**
 * Callers that exceed their limits: 150 requests and 300 images per minute, twelve in parallel, twice the
 * budget.
 */
const CALLERS = [
  { id: "by-requests", limits: { requestsPerMinute: REQUESTS_PER_MINUTE } },
  { id: "by-images", limits: { imagesPerMinute: IMAGES_PER_MINUTE } },
  { id: "at-once", limits: { concurrent: CONCURRENT } },
  { id: "by-budget", budget: BUDGET },
  { id: "repeating" },
] as const satisfies FleetOptions["callers"];

const MINUTE = 60_000;
export const TRAFFIC_MS = 3 * MINUTE;
/** Longer than the leases of a dead gateway. */
const AFTERWARDS_MS = 100 * MINUTE;

const drawUpToFour = (random: Random): number => 1 + Math.floor(random() * 4);

const TRAFFIC: readonly Omit<Traffic, "seed" | "untilMs">[] = [
  { caller: "by-requests", perSecond: 2.5 },
  { caller: "by-images", perSecond: 2, drawImages: drawUpToFour },
  { caller: "at-once", perSecond: 1 },
  { caller: "by-budget", perSecond: 1, drawImages: drawUpToFour },
  // Repeats while the first request runs, and long after it has ended.
  { caller: "repeating", perSecond: 0.5, repeatAfterMs: [0, 40, 90_000] },
];

/** Runs five gateways for three minutes. Two channels fail for one minute, and a gateway is killed. */
export async function runLimits(seed: number, isShared = true): Promise<LimitsRun> {
  const trouble = { fromMs: 60_000, toMs: 120_000, failingShare: 0.7, status: 503 } as const;
  const channel = { medianLatencyMs: 12_000 };
  const fleet = createFleet({
    seed,
    gateways: 5,
    isShared,
    callers: CALLERS,
    channels: [
      { id: "one", ...channel },
      { id: "two", ...channel },
      { id: "three", ...channel, trouble },
      { id: "four", ...channel, trouble: { ...trouble, status: 500 } },
    ],
  });
  const sent = Promise.all(
    TRAFFIC.map((traffic) => sendTraffic(fleet, { ...traffic, seed, untilMs: TRAFFIC_MS })),
  );
  await fleet.clock.pass(100_000);
  fleet.kill(2);
  await fleet.clock.pass(TRAFFIC_MS + AFTERWARDS_MS);
  await sent;
  const records: UsageRecord[] = [];
  for await (const record of fleet.ledger.records()) records.push(record);
  return { fleet, records };
}
