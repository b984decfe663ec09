import { describe, expect, it, onTestFinished } from "vitest";
import { isFull, SEED } from "../support/test-run.js";
import { killDuringTasks } from "./kill-during-tasks.js";
import { FAULTS } from "./kill-under-load.js";
import { endTasks, openTaskSite } from "./open-task-site.js";
import { createRandom } from "./seeded-random.js";

const KILLS = isFull() ? 8 : 5;
const POLICIES = isFull() ? (["release", "charge"] as const) : (["release"] as const);

describe.each(POLICIES)("a server with tasks that is killed (onLost: %s)", (onLost) => {
  it("at random moments has sent every task at most once, ended it once and charged what was made", {
    timeout: 90_000,
  }, async () => {
    const seed = SEED + onLost.length;
    const random = createRandom(seed);
    const site = await openTaskSite(onLost, seed);
    onTestFinished(() => site.close());
    site.emulator.faults.add(...FAULTS);
    const errors = await killDuringTasks(site, KILLS, random);
    const { counted, problems } = await endTasks(site);
    const found = [...errors, ...problems];
    expect({ seed: SEED, counted, found }).toEqual({ seed: SEED, counted, found: [] });
    // Some tasks were in progress when a server was killed.
    expect(counted).toMatchObject({
      completed: expect.any(Number),
      "failed outcome_unknown": expect.any(Number),
    });
  });
});
