import { createFleet, type SimulatedFleet } from "./create-fleet.ts";
import { sendTraffic } from "./send-traffic.ts";

export const GATEWAYS = 8;
export const OUTAGE_MS = 300_000;
/** The channels that fail. */
export const DOWN = "down";
export const LIMITED = "limited";

const PER_SECOND = 20;

/**
 * Runs eight gateways with four channels, with one shared store or separate stores. One channel responds to every
 * call with a 500 for five minutes, which the client gets as a 502. One makes 120 images per minute and refuses
 * further calls with a 429.
 */
export async function runCooldowns(seed: number, isShared: boolean): Promise<SimulatedFleet> {
  const channel = { medianLatencyMs: 12_000 };
  const fleet = createFleet({
    seed,
    gateways: GATEWAYS,
    isShared,
    callers: [{ id: "shop" }],
    channels: [
      { id: "one", ...channel },
      { id: "two", ...channel },
      { id: LIMITED, ...channel, imagesPerMinute: 120 },
      { id: DOWN, ...channel, trouble: { fromMs: 0, toMs: OUTAGE_MS, failingShare: 1, status: 500 } },
    ],
  });
  const sent = sendTraffic(fleet, { seed, caller: "shop", perSecond: PER_SECOND, untilMs: OUTAGE_MS });
  await fleet.clock.pass(2 * OUTAGE_MS);
  await sent;
  return fleet;
}
