import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryAdmissionStore } from "@calotype/core";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Cluster, Redis } from "ioredis";
import { createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { compareStores } from "../admission-suite/compare-stores.js";
import {
  countAdmitted,
  idempotencyOf,
  kindOf,
  LEASE_MS,
  RESPONSE,
  requestOf,
  slotOf,
  windowOf,
} from "../admission-suite/requests.js";
import { describeAdmissionStore } from "../admission-suite.js";
import { describeWithService } from "../support/needs-service.js";
import { findMaster, type RedisCluster, startRedisCluster } from "../support/redis-cluster.js";
import { REDIS_SERVER, type RedisServer } from "../support/redis-server.js";
import {
  createPrefix,
  findKeys,
  PATIENT_SECONDS,
  type RedisClient,
  SLACK_MS,
} from "../support/redis-service.js";
import { isFull } from "../support/test-run.js";

const CLIENTS: readonly (readonly [
  string,
  (port: number) => Promise<{ client: RedisClient; close: () => void }>,
])[] = [
  [
    "ioredis",
    async (port) => {
      const client = new Cluster([{ host: "127.0.0.1", port }]);
      return { client, close: () => client.disconnect() };
    },
  ],
  [
    "node-redis",
    async (port) => {
      const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  ],
];

await describeWithService(REDIS_SERVER, (program) => {
  let cluster: RedisCluster | undefined;
  beforeAll(async () => {
    cluster = await startRedisCluster(program);
  });
  afterAll(() => cluster?.remove());

  describe.each(CLIENTS)("a cluster of three nodes with replicas, with %s", (_name, connect) => {
    const prefix = createPrefix();
    const ends: (() => void)[] = [];
    let client: RedisClient | undefined;
    beforeAll(async () => {
      const connected = await connect(cluster?.nodes[0]?.port ?? 0);
      client = connected.client;
      ends.push(connected.close);
    });
    afterAll(() => {
      for (const end of ends) end();
    });
    let opened = 0;
    const open = (own = prefix) => {
      if (client === undefined) throw new Error("The client is open only while tests run.");
      return createRedisAdmissionStore({
        client,
        prefix: `${own}${opened++}:`,
        deadlineSeconds: PATIENT_SECONDS,
      });
    };

    if (isFull()) {
      describeAdmissionStore("on a cluster", () => ({
        store: open(createPrefix()),
        now: Date.now,
        // A timer may fire a millisecond early.
        advance: (ms) => sleep(ms + 2),
        slackMs: SLACK_MS,
        // The servers end with the test.
        close: async () => {},
      }));
    }

    it("counts each caller exactly on any node", async () => {
      const store = open();
      const callers = Array.from({ length: 20 }, (_, index) => `caller ${index}`);
      const counts = await Promise.all(
        callers.map((caller) =>
          countAdmitted(store, 50, () => ({
            caller,
            windows: [windowOf({ limit: 7 })],
            concurrency: [slotOf({ limit: 9 })],
            channels: ["ark"],
          })),
        ),
      );
      expect(counts).toEqual(callers.map(() => 7));
      const nodes = cluster?.nodes ?? [];
      const sizes = await Promise.all(nodes.map(({ url }) => countKeys(url, prefix)));
      expect(Math.min(...sizes)).toBeGreaterThan(0);
      expect(sizes.reduce((sum, size) => sum + size)).toBe(2 * callers.length);
    });

    it("returns cooldowns to every caller", async () => {
      const store = open();
      const cooldown = { until: Date.now() + LEASE_MS, reason: "rate" };
      await store.setCooldown("ark", cooldown);
      for (const caller of ["a", "b", "c", "d", "e", "f"]) {
        const request = requestOf({ caller, windows: [windowOf()], channels: ["ark", "other"] });
        expect(await store.admit(request)).toMatchObject({ cooldowns: { ark: cooldown } });
        expect(await store.admit(request)).toMatchObject({ kind: "limited" });
      }
    });

    it("decides like the memory store on random requests", async () => {
      const kinds = await compareStores(
        () => createMemoryAdmissionStore(),
        () => open(),
        {
          runs: isFull() ? 100 : 25,
        },
      );
      expect(kinds.size).toBe(7);
    });

    it("keeps the keys of a caller with braces on one node", async () => {
      const store = open();
      for (const caller of ["{a}", "a}{b", "", "}{"]) {
        const whole = {
          caller,
          windows: [windowOf()],
          concurrency: [slotOf()],
          idempotency: idempotencyOf(),
        };
        const request = requestOf(whole);
        expect((await store.admit(request)).kind).toBe("admitted");
        await store.finish(request, { kind: "forget" });
        expect(await kindOf(store, { caller, concurrency: [slotOf()], idempotency: idempotencyOf() })).toBe(
          "admitted",
        );
      }
    });
  });
});

/** How long a test waits until a replica has taken the place of its master. */
const FAILOVER_MS = 30_000;

await describeWithService(REDIS_SERVER, (program) => {
  // The servers need half a minute to notice it.
  it.runIf(isFull())(
    "a store on a cluster goes on with the counts of a master that was lost, on its replica",
    {
      timeout: 90_000,
    },
    async () => {
      const cluster = await startRedisCluster(program);
      const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
      try {
        const store = createRedisAdmissionStore({
          client,
          prefix: createPrefix(),
          deadlineSeconds: PATIENT_SECONDS,
        });
        const requests = Array.from({ length: 12 }, (_, at) => ({
          caller: `caller ${at}`,
          windows: [windowOf({ limit: 1, windowMs: 600_000 })],
        }));
        for (const request of requests) expect((await store.admit(requestOf(request))).kind).toBe("admitted");
        await cluster.nodes[0]?.stop();
        await vi.waitFor(
          async () => {
            for (const request of requests) {
              expect((await store.admit(requestOf(request))).kind).toBe("limited");
            }
          },
          { timeout: FAILOVER_MS, interval: 500 },
        );
      } finally {
        client.disconnect();
        await cluster.remove();
      }
    },
  );
});

await describeWithService(REDIS_SERVER, (program) => {
  it.runIf(isFull())(
    "what a replica had not got from its lost master is forgotten: counts and stored responses, and nothing else",
    { timeout: 90_000 },
    async () => {
      const cluster = await startRedisCluster(program);
      const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
      try {
        const store = createRedisAdmissionStore({
          client,
          prefix: createPrefix(),
          deadlineSeconds: PATIENT_SECONDS,
        });
        const admit = async (key: string): Promise<string> => (await store.admit(requestFor(key))).kind;
        const run = async (key: string): Promise<void> => {
          const request = requestFor(key);
          expect((await store.admit(request)).kind).toBe("admitted");
          await store.finish(request, { kind: "keep", response: RESPONSE, ttlMs: 600_000 });
        };
        await run("before");
        const master = await findMaster(cluster, "{shop}");
        await stopReplication(master);
        await run("after");
        expect(await admit("third")).toBe("limited");
        expect(await admit("after")).toBe("replay");

        await master.stop();
        await vi.waitFor(async () => expect(await admit("before")).toBe("replay"), {
          timeout: FAILOVER_MS,
          interval: 500,
        });
        // The count was 2, and the response of the second request was stored.
        expect(await admit("after")).toBe("admitted");
        expect(await admit("third")).toBe("limited");
      } finally {
        client.disconnect();
        await cluster.remove();
      }
    },
  );
});

/** A request of the caller `shop`, which may send two. */
const requestFor = (key: string) =>
  requestOf({
    caller: "shop",
    windows: [windowOf({ limit: 2, windowMs: 600_000 })],
    idempotency: idempotencyOf({ key }),
  });

/** From now on, the replica of a master gets nothing from it. */
async function stopReplication({ port }: RedisServer): Promise<void> {
  const client = new Redis(port);
  await client.call("ACL", "SETUSER", "default", "-psync", "-sync");
  await client.call("CLIENT", "KILL", "TYPE", "replica");
  client.disconnect();
}

async function countKeys(url: string, prefix: string): Promise<number> {
  const client = new Redis(url);
  try {
    return (await findKeys(client, prefix)).length;
  } finally {
    client.disconnect();
  }
}
