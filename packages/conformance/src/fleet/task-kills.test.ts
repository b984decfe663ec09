import { expect, it, onTestFinished } from "vitest";
import { createRandom } from "../crashes/seeded-random.js";
import { describeWithServices } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { REDIS } from "../support/redis-service.js";
import { SEED } from "../support/test-run.js";
import { FAULTS } from "./kill-one.js";
import { killSomeDuringTasks } from "./kill-one-during-tasks.js";
import { endFleetTasks, openTaskFleet } from "./open-task-fleet.js";

const PROCESSES = 4;
const KILLS = 4;

await describeWithServices([REDIS, POSTGRES], (redisUrl, postgresUrl) => {
  it.each(["release", "charge"] as const)(
    "gateways with tasks that are killed among others (onLost: %s) have sent every task at most once, ended it once and charged what was made",
    { timeout: 120_000 },
    async (onLost) => {
      const seed = SEED + onLost.length;
      const place = { redisUrl, postgresUrl };
      const fleet = await openTaskFleet(place, { processes: PROCESSES, onLost, seed });
      onTestFinished(() => fleet.close());
      fleet.emulator.faults.add(...FAULTS);
      const errors = await killSomeDuringTasks(fleet, KILLS, createRandom(seed));
      const { counted, problems } = await endFleetTasks(fleet);
      const found = [...errors, ...problems];
      expect({ seed: SEED, counted, found }).toEqual({ seed: SEED, counted, found: [] });
      // Some tasks were in progress when a gateway was killed.
      expect(counted).toMatchObject({
        completed: expect.any(Number),
        "failed outcome_unknown": expect.any(Number),
      });
    },
  );
});
