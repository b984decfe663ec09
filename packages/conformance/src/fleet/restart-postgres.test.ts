import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { findProblems } from "../crashes/find-problems.js";
import { createRandom } from "../crashes/seeded-random.js";
import { startLoad } from "../crashes/start-load.js";
import { POSTGRES_PROGRAMS, startPostgresServer } from "../postgres/postgres-server.js";
import { describeWithServices } from "../support/needs-service.js";
import { REDIS } from "../support/redis-service.js";
import { SEED } from "../support/test-run.js";
import { openFleet } from "./open-fleet.js";
import { tallySightings } from "./tally-sightings.js";

await describeWithServices([REDIS, POSTGRES_PROGRAMS], (redisUrl, programs) => {
  it("no request is lost or recorded twice if PostgreSQL is restarted, or crashes, under load", async () => {
    const postgres = await startPostgresServer(programs);
    onTestFinished(() => postgres.remove());
    const fleet = await openFleet(4, { redisUrl, postgresUrl: postgres.url });
    // Closed before the server.
    onTestFinished(() => fleet.close());
    fleet.emulator.faults.add({ latencyMs: 60, probability: 0.5 });
    const load = startLoad(fleet.nextUrl, "restart", createRandom(SEED));
    for (const how of ["fast", "immediate"] as const) {
      await sleep(300);
      await postgres.stop(how);
      await sleep(500);
      await postgres.start();
    }
    await sleep(500);
    fleet.sightings.push(...(await load.stop()));
    // The ledger now accepts the late writes.
    expect(await Promise.all(fleet.servers.map((server) => server.stop()))).toEqual([0, 0, 0, 0]);

    const content = await fleet.readLedger();
    const counted = tallySightings(fleet.sightings);
    expect({ counted, problems: findProblems(fleet, content) }).toEqual({ counted, problems: [] });
    expect(content.records.filter(({ state }) => state === "unresolved")).toEqual([]);
    // Some requests were refused during the outage, others were served before and after it.
    expect(counted).toMatchObject({ "200": expect.any(Number), "503": expect.any(Number) });
  });
});
