import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "@calotype/emulator";
import { createSqliteLedger } from "@calotype/sqlite";
import type { Site } from "./open-site.ts";
import { recover } from "./recover.ts";
import { CALLERS } from "./server-plan.ts";
import { startLoad } from "./start-load.ts";
import { watchBudget } from "./watch-budget.ts";

/** The delays and faults of the provider. */
export const FAULTS: readonly Fault[] = [
  { latencyMs: 25, probability: 0.5 },
  { latencyMs: 50, probability: 0.4 },
  { provider: "ark", status: 400, probability: 0.05 },
  { provider: "ark", hangUp: true, probability: 0.05 },
  { provider: "ark", stream: { cutAfterEvents: 1 }, probability: 0.05 },
  { provider: "ark", body: { cutAfterBytes: { min: 0, max: 600 } }, probability: 0.1 },
];

/**
 * Starts a server, checks the ledger after the previous server, and kills the server at a random moment.
 *
 * @returns the errors in the ledger
 */
export async function killUnderLoad(
  site: Site,
  name: string,
  random: () => number,
): Promise<readonly string[]> {
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
  // If no other process has the file open, the next server finds it exactly as the killed process left it.
  if (random() < 0.5) await stopWatching();
  await server.kill();
  site.sightings.push(...(await load.stop()));
  return [...problems, ...(await stopWatching()), ...server.errors()];
}
