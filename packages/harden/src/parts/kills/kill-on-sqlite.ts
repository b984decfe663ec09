import { setTimeout as sleep } from "node:timers/promises";
import { endOrderly } from "@calotype/conformance/crashes/end-orderly";
import { FAULTS, killUnderLoad } from "@calotype/conformance/crashes/kill-under-load";
import { openSite, type Site } from "@calotype/conformance/crashes/open-site";
import { recover } from "@calotype/conformance/crashes/recover";
import { createRandom } from "@calotype/conformance/crashes/seeded-random";
import { startLoad } from "@calotype/conformance/crashes/start-load";
import type { ServerProcess } from "@calotype/conformance/support/spawn-server";
import type { KillOutcome, KillRound } from "./kill-round.ts";

/** Kills servers that share one SQLite file, and checks the file after each kill. */
export async function killOnSqlite({ onLost, seed, kills, processes }: KillRound): Promise<KillOutcome> {
  const random = createRandom(seed);
  const site = await openSite(onLost, seed);
  const problems: string[] = [];
  try {
    site.emulator.faults.add(...FAULTS);
    for (let kill = 0; kill < kills && problems.length === 0; kill += processes) {
      const name = `kill-${kill}`;
      const killing =
        processes === 1
          ? killUnderLoad(site, name, random)
          : killAll(site, name, { random, processes: Math.min(processes, kills - kill), round: kill });
      problems.push(...(await killing));
    }
    problems.push(...(await endOrderly(site, "end")));
    return { problems, requests: site.sightings.length };
  } finally {
    await site.close();
  }
}

/** Longer than any lease: the leases of killed processes have ended when the next ones start. */
const PAUSE_MS = 60_000;
/** The longest time between two kills of a round. */
const MAX_GAP_MS = 40;

interface Round {
  readonly random: () => number;
  readonly processes: number;
  readonly round: number;
}

/** Starts several servers on the file, and kills one after another under load. */
async function killAll(
  site: Site,
  name: string,
  { random, processes, round }: Round,
): Promise<readonly string[]> {
  const aheadMs = (round + 1) * PAUSE_MS;
  const servers: ServerProcess[] = [];
  for (let started = 0; started < processes; started++) servers.push(await site.startServer({ aheadMs }));
  const [first] = servers;
  if (first === undefined) return [];
  const problems = await recover(site, first, name);
  let turn = 0;
  const load = startLoad(() => servers[turn++ % servers.length]?.url ?? "", name, random);
  await sleep(20 + random() * 230);
  for (const server of servers) {
    await server.kill();
    await sleep(random() * MAX_GAP_MS);
  }
  site.sightings.push(...(await load.stop()));
  return [...problems, ...servers.flatMap((server) => server.errors())];
}
