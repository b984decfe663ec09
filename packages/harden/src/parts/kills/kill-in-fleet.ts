import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callServer } from "@calotype/conformance/crashes/call-server";
import { findProblems } from "@calotype/conformance/crashes/find-problems";
import { createRandom } from "@calotype/conformance/crashes/seeded-random";
import { FAULTS, findDoubled, killOne, sweepOnce } from "@calotype/conformance/fleet/kill-one";
import { openFleet } from "@calotype/conformance/fleet/open-fleet";
import { POSTGRES, REDIS, urlOf } from "@calotype/conformance/support/service";
import type { KillOutcome, KillRound } from "./kill-round.ts";

/** The shortest lease that a ledger allows. */
const LEASE_SECONDS = 1;

/** Kills gateways of a fleet on PostgreSQL and Redis, and checks the ledger when their leases have ended. */
export async function killInFleet({ onLost, seed, kills, processes }: KillRound): Promise<KillOutcome> {
  const random = createRandom(seed);
  const services = { redisUrl: urlOf(REDIS), postgresUrl: urlOf(POSTGRES) };
  const fleet = await openFleet(processes, services, { onLost, leaseSeconds: LEASE_SECONDS });
  try {
    fleet.emulator.faults.add(...FAULTS);
    let newest = 0;
    for (let kill = 0; kill < kills; kill++) newest = await killOne(fleet, `kill-${kill}`, random);
    await sleep(LEASE_SECONDS * 1_000 + 100);
    // A gateway can be told to sweep after its first request.
    const first = { name: "first", caller: "shop", n: 1, stream: false } as const;
    fleet.sightings.push(await callServer(fleet.servers[newest]?.url ?? "", first, new Agent()));
    await sweepOnce(fleet, newest);
    const problems = [
      ...findProblems(fleet, await fleet.readBooks()),
      ...findDoubled(fleet).map((prompt) => `The provider got a prompt twice: ${prompt}`),
      ...fleet.servers.flatMap((server) => server.errors()),
    ];
    return { problems, requests: fleet.sightings.length };
  } finally {
    await fleet.close();
  }
}
