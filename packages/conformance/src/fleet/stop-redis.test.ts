import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SEEDREAM_SERIES } from "../crashes/server-plan.js";
import type { ReadResponse } from "../support/http-client.js";
import { describeWithServices } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { REDIS_SERVER, type RedisServer, startRedisServer } from "../support/redis-server.js";
import { call, callAtOnce, tally } from "./call-fleet.js";
import { GATED, REDIS_DEADLINE_MS } from "./gateway-plan.js";
import { type Fleet, openFleet } from "./open-fleet.js";

const CLIENTS = 12;
const PROCESSES = 2;
/** The additional time of a busy machine. */
const PATIENCE_MS = 4_000;
const PLANNED = { caller: "shop", model: `${SEEDREAM_SERIES}away` } as const;

/** The statuses that a client may get. */
const USUAL = new Set(["200", "429 rate_limit_exceeded", "503 gateway_unavailable"]);

/** A response under load. */
interface Timed {
  readonly response: ReadResponse;
  readonly ms: number;
}

await describeWithServices([REDIS_SERVER, POSTGRES], (program, postgresUrl) => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  async function open(whenAway: "open" | "closed"): Promise<{ redis: RedisServer; fleet: Fleet }> {
    const redis = await startRedisServer(program);
    ends.push(() => redis.remove());
    const fleet = await openFleet(PROCESSES, { redisUrl: redis.url, postgresUrl }, { whenAway });
    ends.push(() => fleet.close());
    return { redis, fleet };
  }

  /** Stops Redis under load and starts it again. Resolves when all processes serve requests again. */
  async function stopUnderLoad({ redis, fleet }: Awaited<ReturnType<typeof open>>): Promise<Timed[]> {
    const timed: Timed[] = [];
    const end = new AbortController();
    const run = async (): Promise<void> => {
      while (!end.signal.aborted) {
        const startedAt = performance.now();
        const response = await call(fleet.nextUrl(), { ...PLANNED, caller: "by-places" });
        timed.push({ response, ms: performance.now() - startedAt });
        await sleep(10);
      }
    };
    const clients = Array.from({ length: CLIENTS }, run);
    await sleep(300);
    await redis.stop();
    await sleep(700);
    await redis.start();
    await vi.waitFor(async () => {
      const responses = await Promise.all(fleet.servers.map(({ url }) => call(url, PLANNED)));
      expect(tally(responses)).toEqual({ "200": PROCESSES });
    });
    await sleep(200);
    end.abort();
    await Promise.all(clients);
    return timed;
  }

  describe("Redis is stopped under load and started again", () => {
    it.each(["closed", "open"] as const)(
      "%s: no request hangs, refused requests get an error, balances are right, and everything recovers automatically",
      async (whenAway) => {
        const opened = await open(whenAway);
        const { fleet } = opened;
        const timed = await stopUnderLoad(opened);
        expect(Math.max(...timed.map(({ ms }) => ms))).toBeLessThan(REDIS_DEADLINE_MS + PATIENCE_MS);
        const kinds = tally(timed.map(({ response }) => response));
        const { "200": served = 0, "503 gateway_unavailable": refused = 0 } = kinds;
        const others = Object.keys(kinds).filter((kind) => !USUAL.has(kind));
        expect({ kinds, others }).toEqual({ kinds, others: [] });
        expect({ kinds, isRefused: refused > 0 }).toEqual({ kinds, isRefused: whenAway === "closed" });
        const refusals = timed.map(({ response }) => response).filter(({ status }) => status === 503);
        expect(new Set(refusals.map(({ headers }) => headers["retry-after"])).size).toBe(refused > 0 ? 1 : 0);
        const { records, balances } = await fleet.readLedger();
        const places = records.filter(({ caller }) => caller === "by-places");
        expect({ kinds, records: places.length }).toEqual({ kinds, records: served });
        expect(Object.values(balances).map(({ held }) => held)).toEqual(
          Object.values(balances).map(() => "0"),
        );
        // Slots are counted together again. Slots of requests that ended during the outage are free.
        await vi.waitFor(async () => expect(await countPlaces(fleet)).toBe(7));
        expect(fleet.servers.flatMap((server) => server.errors())).toEqual([]);
      },
    );
  });

  it("open: while Redis is away, each process applies the limits separately", async () => {
    const { redis, fleet } = await open("open");
    await redis.stop();
    const planned = { caller: "by-requests", model: `${SEEDREAM_SERIES}alone` } as const;
    expect(tally(await callAtOnce(120, fleet, planned))).toEqual({
      "200": 37 * PROCESSES,
      "429 rate_limit_exceeded": 120 - 37 * PROCESSES,
    });
    // The fleet removes its keys when it closes.
    await redis.start();
  });
});

/** Sends twenty parallel requests and returns how many run in parallel. Then they end. */
async function countPlaces(fleet: Fleet): Promise<number> {
  const { gated } = fleet;
  const responses = callAtOnce(20, fleet, { caller: "by-places", model: GATED });
  await sleep(300);
  const count = gated.waiting();
  // Late requests end too.
  const timer = setInterval(() => gated.letGo(), 50);
  await responses.finally(() => clearInterval(timer));
  return count;
}
