import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isFull, SEED } from "../support/test-run.js";
import { callServer, type PlannedCall } from "./call-server.js";
import { endOrderly } from "./end-orderly.js";
import type { Site } from "./open-site.js";
import { openTestSite } from "./open-test-site.js";
import { recover } from "./recover.js";
import type { Death } from "./server-plan.js";

/** The requests below cause each of these writes. */
const WRITES: readonly Omit<Death, "moment">[] = [
  ...(isFull() ? [1, 2, 4, 6] : [1, 4]).map((call) => ({ method: "hold", call }) as const),
  ...(isFull() ? [1, 2, 3, 4] : [1, 3]).map((call) => ({ method: "settle", call }) as const),
  ...(isFull() ? [1, 2] : [2]).map((call) => ({ method: "release", call }) as const),
  { method: "markDelivered", call: 1 },
];

type Kind = Pick<PlannedCall, "n" | "stream" | "single" | "nowhere">;

/** The requests of two clients. */
const CALLS: readonly (readonly Kind[])[] = [
  [
    { n: 1, stream: false },
    { n: 3, stream: true },
    { n: 3, stream: false, single: true },
  ],
  [
    { n: 1, stream: false, nowhere: true },
    { n: 3, stream: true },
    { n: 1, stream: false, nowhere: true },
  ],
];

describe.each([
  ["before", "charge"],
  ["after", "release"],
] as const)("a server that is killed %s a write of its ledger (onLost: %s)", (moment, onLost) => {
  it("has charged every complete response once and leaves no hold", { timeout: 90_000 }, async () => {
    const site = await openTestSite(onLost, SEED);
    const problems: string[] = [];
    for (const write of WRITES) problems.push(...(await dieAt(site, { ...write, moment })));
    problems.push(...(await endOrderly(site, "end")));
    expect(problems).toEqual([]);
  });
});

async function dieAt(site: Site, death: Death): Promise<readonly string[]> {
  const name = `${death.moment}-${death.method}-${death.call}`;
  const server = await site.startServer({ death });
  const problems = await recover(site, server, name);
  await fetch(`${server.url}/arm`);
  const agent = new Agent({ keepAlive: true });
  const clients = CALLS.map(async (kinds, client) => {
    for (const [index, kind] of kinds.entries()) {
      const planned = { ...kind, name: `${name}-${client}-${index}`, caller: "shop" } as const;
      site.sightings.push(await callServer(server.url, planned, agent));
    }
  });
  await Promise.all(clients);
  agent.destroy();
  await Promise.race([server.ended, sleep(5_000)]);
  return [...problems, ...server.errors(), ...(server.isKilled() ? [] : [`Nothing died at ${name}`])];
}
