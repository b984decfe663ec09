import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { findProblems } from "../crashes/find-problems.js";
import { createRandom } from "../crashes/seeded-random.js";
import { CALLERS } from "../crashes/server-plan.js";
import { watchBudget } from "../crashes/watch-budget.js";
import type { ReadResponse } from "../support/http-client.js";
import { describeWithServices } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { REDIS } from "../support/redis-service.js";
import { isFull, SEED } from "../support/test-run.js";
import { call, kindOf } from "./call-fleet.js";
import { GATED } from "./gateway-plan.js";
import { FAULTS, findDoubled, isSomethingHeld, killOne, sweepOnce } from "./kill-one.js";
import { type Fleet, openFleet, type Place } from "./open-fleet.js";
import { tallySightings } from "./tally-sightings.js";

const PROCESSES = 4;
const KILLS = 4;
/** More kills than {@link KILLS}, if no request was in progress at any of them. */
const MOST_KILLS = 20;
const POLICIES = isFull() ? (["release", "charge"] as const) : (["release"] as const);
const LEASE_SECONDS = 1;
const ADMISSION_LEASE_SECONDS = 2;

await describeWithServices([REDIS, POSTGRES], (redisUrl, postgresUrl) => {
  it.each(POLICIES)(
    `a gateway that is killed among others (onLost: %s, seed ${SEED}): complete requests are charged once, the others are unresolved, and one sweep ends their holds`,
    async (onLost) => {
      const random = createRandom(SEED + onLost.length);
      const place = { redisUrl, postgresUrl };
      const fleet = await openFleet(PROCESSES, place, { onLost, leaseSeconds: LEASE_SECONDS });
      onTestFinished(() => fleet.close());
      const watch = watchBudget(fleet.ledger, { id: "trial", budget: CALLERS.trial.budget });
      fleet.emulator.faults.add(...FAULTS);
      let newest = 0;
      const isEnough = async (kills: number) =>
        kills >= MOST_KILLS || (kills >= KILLS && (await isSomethingHeld(fleet)));
      for (let kill = 1; !(await isEnough(kill - 1)); kill++) {
        newest = await killOne(fleet, `kill-${kill}`, random);
      }
      const overdrawn = await watch.stop();
      await sleep(LEASE_SECONDS * 1_000 + 100);
      await sweepOnce(fleet, (newest + 1) % PROCESSES);

      const content = await fleet.readLedger();
      const problems = [...overdrawn, ...findProblems(fleet, content), ...findDoubled(fleet)];
      const lost = content.records.filter(({ state }) => state === "unresolved").length;
      const counted = { ...tallySightings(fleet.sightings), records: content.records.length, lost };
      expect({ counted, problems }).toEqual({ counted, problems: [] });
      // Requests were in progress when the gateways were killed.
      expect({ counted, isSomethingLost: lost > 0 }).toEqual({ counted, isSomethingLost: true });
      expect(fleet.servers.flatMap((server) => server.errors())).toEqual([]);
    },
  );

  it("an idempotency key of a killed gateway runs on no other gateway before its lease ends, and stored responses are repeated", async () => {
    const fleet = await openBriefFleet({ redisUrl, postgresUrl });
    onTestFinished(() => fleet.close());
    const { gated, servers } = fleet;
    const [mortal, survivor] = servers.map(({ url }) => url);
    const answered = callWith(mortal, "answered");
    await vi.waitFor(() => expect(gated.waiting()).toBe(1));
    gated.letGo();
    const { text } = await answered;
    const cut = callWith(mortal, "cut").then(kindOf, () => "cut");
    await vi.waitFor(() => expect(gated.waiting()).toBe(1));
    await servers[0]?.kill();

    expect(await cut).toBe("cut");
    expect(kindOf(await callWith(survivor, "cut"))).toBe("409 idempotency_in_progress");
    expect(await callWith(survivor, "answered")).toMatchObject({ status: 200, text });
    expect(gated.received()).toBe(2);

    await sleep(ADMISSION_LEASE_SECONDS * 1_000);
    const again = callWith(survivor, "cut");
    await vi.waitFor(() => expect(gated.received()).toBe(3));
    gated.letGo();
    expect(await again).toMatchObject({ status: 200 });
  });

  it("slots of a killed gateway are free after its lease, and slots of a running gateway stay taken", async () => {
    const fleet = await openBriefFleet({ redisUrl, postgresUrl });
    onTestFinished(() => fleet.close());
    const { gated, servers } = fleet;
    const [mortal, survivor] = servers.map(({ url }) => url);
    const lost = takePlaces(mortal, 4);
    const lasting = takePlaces(survivor, 3);
    await vi.waitFor(() => expect(gated.waiting()).toBe(7));
    await sleep(ADMISSION_LEASE_SECONDS * 1_000 + 500);
    expect(await Promise.all(takePlaces(survivor, 1))).toEqual(["429 rate_limit_exceeded"]);
    await servers[0]?.kill();
    expect(await Promise.all(lost)).toEqual(Array(4).fill("cut"));
    await sleep(ADMISSION_LEASE_SECONDS * 1_000);

    const next = takePlaces(survivor, 5);
    await vi.waitFor(() => expect(gated.received()).toBe(11));
    expect(await Promise.race(next)).toBe("429 rate_limit_exceeded");
    gated.letGo();
    const kinds = await Promise.all([...lasting, ...next]);
    expect(kinds.filter((kind) => kind === "200")).toHaveLength(7);
  });
});

function callWith(url: string | undefined, idempotencyKey: string): Promise<ReadResponse> {
  return call(url ?? "", { caller: "shop", model: GATED, idempotencyKey });
}

/** Two gateways with short leases. */
function openBriefFleet(place: Place): Promise<Fleet> {
  return openFleet(2, place, { admissionLeaseSeconds: ADMISSION_LEASE_SECONDS });
}

/** Sends parallel requests of a caller with seven slots. Returns the final result of each. */
function takePlaces(url: string | undefined, count: number): Promise<string>[] {
  return Array.from({ length: count }, () =>
    call(url ?? "", { caller: "by-places", model: GATED }).then(kindOf, () => "cut"),
  );
}
