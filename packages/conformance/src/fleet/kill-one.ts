import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "@calotype/emulator";
import { promptOf } from "../crashes/call-server.ts";
import { countCalls, listPrompts } from "../crashes/find-problems.ts";
import { CALLERS } from "../crashes/server-plan.ts";
import { startLoad } from "../crashes/start-load.ts";
import type { Fleet } from "./open-fleet.ts";

/** The delays of a slow provider. */
export const FAULTS: readonly Fault[] = [
  { latencyMs: 25, probability: 0.5 },
  { latencyMs: 60, probability: 0.4 },
  { provider: "ark", status: 400, probability: 0.05 },
  { provider: "ark", hangUp: true, probability: 0.05 },
];

/** Kills one gateway under load while the others continue, and replaces it. Returns its index. */
export async function killOne(fleet: Fleet, name: string, random: () => number): Promise<number> {
  const load = startLoad(fleet.nextUrl, name, random);
  const next = fleet.prepare();
  await sleep(80 + random() * 150);
  const place = Math.floor(random() * fleet.servers.length);
  await fleet.servers[place]?.kill();
  await sleep(30);
  fleet.sightings.push(...(await load.stop()));
  fleet.servers[place] = await next.start(fleet.plan);
  return place;
}

/** The time limit for a sweep on a busy machine. */
const PATIENCE_MS = 10_000;

/**
 * Lets one gateway sweep, and waits until nothing is held or the time limit has passed. Before that, all requests
 * must have ended, and the leases of killed gateways must have expired.
 */
export async function sweepOnce({ servers, ledger }: Fleet, place: number): Promise<void> {
  await fetch(`${servers[place]?.url}/sweep`);
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    if (!(await isSomethingHeld({ ledger })) || performance.now() > deadline) return;
    await sleep(10);
  }
}

/** Whether a caller has a hold. Without a load, it is of a request that was in progress in a killed gateway. */
export async function isSomethingHeld({ ledger }: Pick<Fleet, "ledger">): Promise<boolean> {
  const balances = await Promise.all(Object.keys(CALLERS).map(async (id) => await ledger.balance(id)));
  return balances.some(({ held }) => held !== "0");
}

/** The prompts that a provider got more often than their requests need, or that nobody sent. */
export function findDoubled(fleet: Fleet): string[] {
  const mostCalls = new Map(fleet.sightings.map((sighting) => [promptOf(sighting), countCalls(sighting)]));
  const received = Map.groupBy(listPrompts(fleet), (prompt) => prompt);
  return [...received].flatMap(([prompt, { length }]) =>
    length > (mostCalls.get(prompt) ?? 0) ? prompt : [],
  );
}
