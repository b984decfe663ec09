import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "@calotype/emulator";
import { createSqliteLedger } from "@calotype/sqlite";
import { describe, expect, it } from "vitest";
import { endOrderly } from "./end-orderly.js";
import { openSite, type Site } from "./open-site.js";
import { recover } from "./recover.js";
import { createRandom, SEED } from "./seeded-random.js";
import { CALLERS } from "./server-plan.js";
import { startLoad } from "./start-load.js";
import { watchBudget } from "./watch-budget.js";

const KILLS = 13;

/** A provider as providers are. */
const FAULTS: readonly Fault[] = [
  { latencyMs: 25, probability: 0.5 },
  { latencyMs: 50, probability: 0.4 },
  { provider: "ark", status: 400, probability: 0.05 },
  { provider: "ark", hangUp: true, probability: 0.05 },
  { provider: "ark", stream: { cutAfterEvents: 1 }, probability: 0.05 },
  { provider: "ark", body: { cutAfterBytes: { min: 0, max: 600 } }, probability: 0.1 },
];

describe.each(["release", "charge"] as const)("a server that is killed (onLost: %s)", (onLost) => {
  it("at any moment has charged every answer that ended once, and leaves no hold", {
    timeout: 90_000,
  }, async () => {
    const random = createRandom(SEED + onLost.length);
    const site = await openSite(onLost, SEED + onLost.length);
    site.emulator.faults.add(...FAULTS);
    const problems: string[] = [];
    for (let kill = 1; kill <= KILLS && problems.length === 0; kill++) {
      problems.push(...(await killUnderLoad(site, `kill-${kill}`, random)));
    }
    problems.push(...(await endOrderly(site, "end")));
    expect({ seed: SEED, problems }).toEqual({ seed: SEED, problems: [] });
  });
});

async function killUnderLoad(site: Site, name: string, random: () => number): Promise<readonly string[]> {
  const server = await site.startServer();
  const problems = await recover(site, server, name);
  const ledger = createSqliteLedger({ path: site.ledgerPath });
  const watch = watchBudget(ledger, { id: "trial", budget: CALLERS.trial.budget });
  const load = startLoad(server.url, name, random);
  await sleep(20 + random() * 230);
  const stopWatching = async (): Promise<readonly string[]> => {
    const overdrawn = await watch.stop();
    await ledger.close();
    return overdrawn;
  };
  // Where nobody else has the file open, the next process finds it as the death left it.
  if (random() < 0.5) await stopWatching();
  await server.kill();
  site.sightings.push(...(await load.stop()));
  return [...problems, ...(await stopWatching()), ...server.errors()];
}
