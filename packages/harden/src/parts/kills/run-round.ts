import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callServer } from "@calotype/conformance/crashes/call-server";
import { endOrderly } from "@calotype/conformance/crashes/end-orderly";
import { findProblems } from "@calotype/conformance/crashes/find-problems";
import { FAULTS, killUnderLoad } from "@calotype/conformance/crashes/kill-under-load";
import { openSite, type Site } from "@calotype/conformance/crashes/open-site";
import { recover } from "@calotype/conformance/crashes/recover";
import { createRandom } from "@calotype/conformance/crashes/seeded-random";
import { startLoad } from "@calotype/conformance/crashes/start-load";
import {
  FAULTS as FLEET_FAULTS,
  findDoubled,
  killOne,
  sweepOnce,
} from "@calotype/conformance/fleet/kill-one";
import { openFleet } from "@calotype/conformance/fleet/open-fleet";
import { POSTGRES, REDIS, urlOf } from "@calotype/conformance/support/service";
import type { ServerProcess } from "@calotype/conformance/support/spawn-server";
import type { LostPolicy } from "@calotype/core/billing";
import { findService } from "../../services.ts";

/** Some kills on one ledger. The seed decides the load and the times, but not what a server does when it is killed. */
export interface KillRound {
  readonly ledger: "sqlite" | "postgres";
  readonly processes: 1 | 4;
  readonly onLost: LostPolicy;
  readonly seed: number;
  readonly kills: number;
}

/** The result of a round. */
export interface KillOutcome {
  /** Wrong entries of the ledger, with details. */
  readonly problems: readonly string[];
  /** The number of requests. */
  readonly requests: number;
}

type Kind = readonly [KillRound["ledger"], KillRound["processes"]];

/** The available ledgers, with the numbers of processes that use them. */
export async function findKinds(): Promise<readonly Kind[]> {
  const hasFleet = (await findService(REDIS)) !== undefined && (await findService(POSTGRES)) !== undefined;
  const fleets: readonly Kind[] = [
    ["postgres", 1],
    ["postgres", 4],
  ];
  return [["sqlite", 1], ["sqlite", 4], ...(hasFleet ? fleets : [])];
}

/** Runs the kills of a round and checks the ledger. */
export function runRound(round: KillRound): Promise<KillOutcome> {
  return round.ledger === "sqlite" ? killOnSqlite(round) : killInFleet(round);
}

/** The shortest lease that a ledger allows. */
const LEASE_SECONDS = 1;

/** Kills gateways of a fleet on PostgreSQL and Redis, and checks the ledger when their leases have ended. */
async function killInFleet({ onLost, seed, kills, processes }: KillRound): Promise<KillOutcome> {
  const random = createRandom(seed);
  const services = { redisUrl: urlOf(REDIS), postgresUrl: urlOf(POSTGRES) };
  const fleet = await openFleet(processes, services, { onLost, leaseSeconds: LEASE_SECONDS });
  try {
    fleet.emulator.faults.add(...FLEET_FAULTS);
    let newest = 0;
    for (let kill = 0; kill < kills; kill++) newest = await killOne(fleet, `kill-${kill}`, random);
    await sleep(LEASE_SECONDS * 1_000 + 100);
    // A gateway can be told to sweep after its first request.
    const first = { name: "first", caller: "shop", n: 1, stream: false } as const;
    fleet.sightings.push(await callServer(fleet.servers[newest]?.url ?? "", first, new Agent()));
    await sweepOnce(fleet, newest);
    const problems = [
      ...findProblems(fleet, await fleet.readLedger()),
      ...findDoubled(fleet).map((prompt) => `The provider got a prompt twice: ${prompt}`),
      ...fleet.servers.flatMap((server) => server.errors()),
    ];
    return { problems, requests: fleet.sightings.length };
  } finally {
    await fleet.close();
  }
}

/** Kills servers that share one SQLite file, and checks the file after each kill. */
async function killOnSqlite({ onLost, seed, kills, processes }: KillRound): Promise<KillOutcome> {
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
