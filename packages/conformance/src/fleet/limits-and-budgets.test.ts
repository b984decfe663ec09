import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { PRICE, SEEDREAM_SERIES } from "../crashes/server-plan.js";
import { watchBudget } from "../crashes/watch-budget.js";
import { fromUnits, toUnits } from "../ledger-suite/units.js";
import type { ReadResponse } from "../support/http-client.js";
import { describeWithServices } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { REDIS } from "../support/redis-service.js";
import { call, callAtOnce, type FleetCall, tally } from "./call-fleet.js";
import { FLEET_CALLERS, GATED } from "./gateway-plan.js";
import type { Fleet } from "./open-fleet.js";
import { readAccount } from "./read-account.js";
import { useFleet } from "./use-fleet.js";

await describeWithServices([REDIS, POSTGRES], (redisUrl, postgresUrl) => {
  const fleet = useFleet(4, { redisUrl, postgresUrl });

  describe("the limits of four processes", () => {
    it("let exactly as many requests per minute pass as those of one process", async () => {
      const planned = { caller: "by-requests", model: `${SEEDREAM_SERIES}requests` } as const;
      expect(tally(await callAtOnce(160, fleet(), planned))).toEqual({
        "200": 37,
        "429 rate_limit_exceeded": 123,
      });
      expect(fleet().emulator.requests).toHaveLength(37);
    });

    it("let exactly as many images per minute pass, counted by the maximum of each request", async () => {
      const planned = { caller: "by-images", model: `${SEEDREAM_SERIES}images` } as const;
      const threes = await callAtOnce(60, fleet(), { ...planned, n: 3 });
      const ones = await callAtOnce(20, fleet(), planned);
      expect([tally(threes), tally(ones)]).toEqual([
        { "200": 16, "429 rate_limit_exceeded": 44 },
        { "200": 2, "429 rate_limit_exceeded": 18 },
      ]);
    });

    it.each(["first", "second"])("let exactly as many requests run in parallel, in the %s wave", async () => {
      const { gated } = fleet();
      const responses = callAtOnce(80, fleet(), { caller: "by-places", model: GATED });
      await vi.waitFor(() => expect(gated.waiting()).toBeGreaterThanOrEqual(7));
      // Enough time for a request too many to arrive.
      await sleep(300);
      expect(gated.waiting()).toBe(7);
      gated.letGo();
      expect(tally(await responses)).toEqual({ "200": 7, "429 rate_limit_exceeded": 73 });
    });
  });

  describe("a budget of four processes", () => {
    it("is used up exactly by thirty parallel clients", async () => {
      const planned = { caller: "by-budget", model: `${SEEDREAM_SERIES}budget` } as const;
      const paid = 50; // 1.5 at 0.03
      expect(tally(await callByThirty(fleet(), 4, planned))).toEqual({
        "200": paid,
        "403 insufficient_quota": 120 - paid,
      });
      expect(fleet().emulator.requests).toHaveLength(paid);
      const account = { records: paid, charges: "1.5", settled: "1.5", held: "0" };
      expect(await readAccount(fleet(), "by-budget")).toEqual(account);
    });

    it("is never exceeded if less is charged than was held", async () => {
      const { ledger } = fleet();
      const watch = watchBudget(ledger, { id: "trial", budget: FLEET_CALLERS.trial.budget });
      const model = `${SEEDREAM_SERIES}mixed`;
      // Holds three images and makes two. The rest of each hold becomes free for others.
      const responses = await callByThirty(fleet(), 3, {
        caller: "trial",
        model,
        n: 3,
        prompt: "2 images",
      });
      const overdrawn = await watch.stop();
      const { "200": paid = 0, ...refused } = tally(responses);
      expect({ overdrawn, refused }).toEqual({
        overdrawn: [],
        refused: { "403 insufficient_quota": 90 - paid },
      });
      // The budget covers sixteen holds.
      expect(paid).toBeGreaterThanOrEqual(16);
      const spent = fromUnits(toUnits(PRICE) * 2n * BigInt(paid));
      const account = { records: paid, charges: spent, settled: spent, held: "0" };
      expect(await readAccount(fleet(), "trial")).toEqual(account);
    });
  });
});

/** Thirty parallel clients, each of which sends this number of requests one after another. */
async function callByThirty(fleet: Fleet, count: number, planned: FleetCall): Promise<ReadResponse[]> {
  const callInTurn = async (): Promise<ReadResponse[]> => {
    const responses: ReadResponse[] = [];
    while (responses.length < count) responses.push(await call(fleet.nextUrl(), planned));
    return responses;
  };
  return (await Promise.all(Array.from({ length: 30 }, callInTurn))).flat();
}
