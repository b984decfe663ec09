import type { UsageRecord } from "@calotype/core";
import { createFleet, type Fleet, type FleetOptions } from "./create-fleet.ts";
import type { Random } from "./create-random.ts";
import { sendTraffic, type Traffic } from "./send-traffic.ts";

/** A fleet whose callers want more than they may, and what is left of it in the books. */
export interface LimitsRun {
  readonly fleet: Fleet;
  readonly records: readonly UsageRecord[];
}

export const REQUESTS_PER_MINUTE = 60;
export const IMAGES_PER_MINUTE = 120;
export const CONCURRENT = 6;
/** 200 pictures. */
export const BUDGET = "8";

/** Each is above its limit: 150 requests, 300 images a minute, twelve at once, twice its budget. */
const CALLERS = [
  { id: "by-requests", limits: { requestsPerMinute: REQUESTS_PER_MINUTE } },
  { id: "by-images", limits: { imagesPerMinute: IMAGES_PER_MINUTE } },
  { id: "at-once", limits: { concurrent: CONCURRENT } },
  { id: "by-budget", budget: BUDGET },
  { id: "repeating" },
] as const satisfies FleetOptions["callers"];

const MINUTE = 60_000;
export const TRAFFIC_MS = 3 * MINUTE;
/** Past the leases of what a dead gateway held. */
const AFTERWARDS_MS = 100 * MINUTE;

const drawUpToFour = (random: Random): number => 1 + Math.floor(random() * 4);

const TRAFFIC: readonly Omit<Traffic, "seed" | "untilMs">[] = [
  { caller: "by-requests", perSecond: 2.5 },
  { caller: "by-images", perSecond: 2, drawImages: drawUpToFour },
  { caller: "at-once", perSecond: 1 },
  { caller: "by-budget", perSecond: 1, drawImages: drawUpToFour },
  // While the first one runs, and when it has long ended.
  { caller: "repeating", perSecond: 0.5, repeatAfterMs: [0, 40, 90_000] },
];

/** Five gateways for three minutes. Two channels fail for one of them, and a gateway is killed. */
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
