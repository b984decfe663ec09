import type { ClientRequest, ClientResponse, SimulatedFleet } from "./create-fleet.ts";
import { createRandom, drawGapMs, type Random } from "./create-random.ts";

/** The requests of one caller. */
export interface Traffic {
  readonly seed: number;
  readonly caller: string;
  readonly perSecond: number;
  readonly untilMs: number;
  /** The number of images per request. Default: one. */
  readonly drawImages?: (random: Random) => number;
  /**
   * Each request has an idempotency key and is repeated after these times, in milliseconds. Default: sent
   * once, without a key.
   */
  readonly repeatAfterMs?: readonly number[];
}

/**
 * Sends the requests of a caller at random times, independent of one another. Resolves when all have ended.
 */
export async function sendTraffic(fleet: SimulatedFleet, traffic: Traffic): Promise<void> {
  const { seed, caller, perSecond, untilMs, drawImages = () => 1, repeatAfterMs } = traffic;
  const random = createRandom(seed, `traffic of ${caller}`);
  const underWay: Promise<unknown>[] = [];
  for (let number = 0; ; number++) {
    await fleet.clock.sleep(drawGapMs(random, perSecond));
    if (fleet.elapsedMs() >= untilMs) break;
    const prompt = `${caller}-${number}`;
    const request = { caller, prompt, images: drawImages(random) };
    if (repeatAfterMs === undefined) underWay.push(fleet.post(request));
    else underWay.push(sendRepeatedly(fleet, { ...request, idempotencyKey: prompt }, repeatAfterMs));
  }
  await Promise.all(underWay);
}

function sendRepeatedly(
  fleet: SimulatedFleet,
  request: ClientRequest,
  afterMs: readonly number[],
): Promise<readonly ClientResponse[]> {
  const repeats = afterMs.map(async (ms) => {
    await fleet.clock.sleep(ms);
    return fleet.post(request);
  });
  return Promise.all([fleet.post(request), ...repeats]);
}
