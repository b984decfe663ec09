import { describe, expect, it } from "vitest";
import { isFull, SEED } from "../support/test-run.js";
import { endOrderly } from "./end-orderly.js";
import { FAULTS, killUnderLoad } from "./kill-under-load.js";
import { openTestSite } from "./open-test-site.js";
import { createRandom } from "./seeded-random.js";

const KILLS = isFull() ? 13 : 5;
const POLICIES = isFull() ? (["release", "charge"] as const) : (["charge"] as const);

describe.each(POLICIES)("a server that is killed (onLost: %s)", (onLost) => {
  it("at a random moment has charged every complete response once and leaves no hold", {
    timeout: 90_000,
  }, async () => {
    const random = createRandom(SEED + onLost.length);
    const site = await openTestSite(onLost, SEED + onLost.length);
    site.emulator.faults.add(...FAULTS);
    const problems: string[] = [];
    for (let kill = 1; kill <= KILLS && problems.length === 0; kill++) {
      problems.push(...(await killUnderLoad(site, `kill-${kill}`, random)));
    }
    problems.push(...(await endOrderly(site, "end")));
    expect({ seed: SEED, problems }).toEqual({ seed: SEED, problems: [] });
  });
});
