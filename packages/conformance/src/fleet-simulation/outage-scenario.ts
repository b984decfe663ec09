import { createFleet, type FleetOptions, type SimulatedFleet } from "./create-fleet.ts";
import { sendTraffic } from "./send-traffic.ts";
import type { SharedBackend, Trouble } from "./simulated-channel.ts";

/** The outages, from {@link TROUBLE_FROM_MS} to {@link TROUBLE_TO_MS}. */
export type Outage = "two of six down" | "six of six down" | "brown-out of all" | "weak backend";

export const OUTAGES: readonly Outage[] = [
  "two of six down",
  "six of six down",
  "brown-out of all",
  "weak backend",
];

export const TROUBLE_FROM_MS = 30_000;
export const TROUBLE_TO_MS = 90_000;
export const RUN_MS = 150_000;

/** Twenty requests per second. */
const PER_SECOND = 20;
const CHANNELS = ["one", "two", "three", "four", "five", "six"];

/** A retry budget that is never used up. */
const NO_BUDGET = { windowMs: 10_000, ratio: 1_000, minimum: 1_000_000 };

/**
 * All six channels belong to one provider. In the outage a third of its machines is left. A refusal costs
 * three tenths of the work for an image.
 */
const WEAK_BACKEND: SharedBackend = {
  perSecond: 26,
  weakPerSecond: 9,
  weakFromMs: TROUBLE_FROM_MS,
  weakToMs: TROUBLE_TO_MS,
  refusalCost: 0.3,
};

/**
 * Runs four gateways with six channels: half a minute before an outage, the minute of the outage, and a
 * minute after it.
 */
export async function runOutage(outage: Outage, seed: number, hasBudget: boolean): Promise<SimulatedFleet> {
  const fleet = createFleet({
    seed,
    gateways: 4,
    callers: [{ id: "shop" }],
    channels: CHANNELS.map((id, index) => ({ id, medianLatencyMs: 12_000, ...troubleOf(outage, index) })),
    ...(outage === "weak backend" && { backend: WEAK_BACKEND }),
    retryBudget: hasBudget ? undefined : NO_BUDGET,
  });
  const sent = sendTraffic(fleet, { seed, caller: "shop", perSecond: PER_SECOND, untilMs: RUN_MS });
  await fleet.clock.pass(2 * RUN_MS);
  await sent;
  return fleet;
}

function troubleOf(outage: Outage, channel: number): Pick<FleetOptions["channels"][number], "trouble"> {
  const time = { fromMs: TROUBLE_FROM_MS, toMs: TROUBLE_TO_MS, status: 503 } as const;
  const down: Trouble = { ...time, failingShare: 1 };
  switch (outage) {
    case "two of six down":
      return channel < 2 ? { trouble: down } : {};
    case "six of six down":
      return { trouble: down };
    case "brown-out of all":
      return { trouble: { ...time, failingShare: 0.4, slowness: 2 } };
    case "weak backend":
      return {};
  }
}
