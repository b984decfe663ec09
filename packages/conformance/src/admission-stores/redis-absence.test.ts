import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { createGateway, type Logger } from "@calotype/core";
import type { AdmissionDecision, AdmissionStore } from "@calotype/core/stores";
import { createRedisAdmissionStore, type RedisAdmissionStoreOptions } from "@calotype/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  idempotencyOf,
  kindOf,
  LEASE_MS,
  RESPONSE,
  requestOf,
  slotOf,
  windowOf,
} from "../admission-suite/requests.js";
import { describeWithService } from "../support/needs-service.js";
import { REDIS_SERVER, type RedisServer, startRedisServer } from "../support/redis-server.js";
import { PATIENT_SECONDS, type RedisClient } from "../support/redis-service.js";
import { startTcpRelay } from "../support/tcp-relay.js";

type Connect = (url: string) => Promise<{ client: RedisClient; close: () => void }>;

const DEADLINE_MS = 300;
/** Longer than a busy machine takes, and shorter than a call without a deadline. */
const PATIENCE_MS = 4_000;

const connectIoredis: Connect = async (url) => {
  const client = new Redis(url);
  client.on("error", () => undefined); // the store reports it
  await client.ping();
  return { client, close: () => client.disconnect() };
};

/** With default options: they reconnect, and queue commands until then. */
const CLIENTS: readonly (readonly [string, Connect])[] = [
  ["ioredis", connectIoredis],
  [
    "node-redis",
    async (url) => {
      const client = createClient({ url });
      client.on("error", () => undefined); // the store reports it
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  ],
];

/** The ways in which Redis is away: it hangs, or it refuses connections. */
const ABSENCES: readonly (readonly [
  string,
  (server: RedisServer) => void | Promise<void>,
  (server: RedisServer) => void | Promise<void>,
])[] = [
  ["is frozen", (server) => server.freeze(), (server) => server.thaw()],
  ["is stopped", (server) => server.stop(), (server) => server.start()],
];
const CASES = CLIENTS.flatMap(([name, connect]) =>
  ABSENCES.map(([what, leave, comeBack]) => ({ name, connect, what, leave, comeBack })),
);

await describeWithService(REDIS_SERVER, (program) => {
  const ends: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  async function open(connect: Connect, options: Partial<RedisAdmissionStoreOptions> = {}) {
    const server = await startRedisServer(program);
    ends.push(() => server.remove());
    const { client, close } = await connect(server.url);
    ends.push(close);
    const lines: string[] = [];
    const logger: Logger = {
      warn: (_fields, message) => void lines.push(message),
      error: (_fields, message) => void lines.push(`error: ${message}`),
    };
    const store = createRedisAdmissionStore({
      client,
      deadlineSeconds: DEADLINE_MS / 1_000,
      logger,
      ...options,
    });
    return { server, client, store, lines };
  }

  /** Sends a request whose connection breaks before the first reply, so that the client sends it again. */
  async function sendTwice(limit: number) {
    const { server, client } = await open(connectIoredis);
    const relay = await startTcpRelay({ host: "127.0.0.1", port: server.port });
    ends.push(() => relay.close());
    const throughProxy = await connectIoredis(`redis://127.0.0.1:${relay.port}`);
    ends.push(throughProxy.close);
    const store = createRedisAdmissionStore({
      client: throughProxy.client,
      deadlineSeconds: PATIENT_SECONDS,
    });
    const other = createRedisAdmissionStore({ client });
    await kindOf(other, {}); // Redis has the script
    const whole = { windows: [windowOf({ limit })], concurrency: [slotOf()], idempotency: idempotencyOf() };
    const request = requestOf(whole);
    relay.loseNextReply();
    return { store, other, request, kind: (await store.admit(request)).kind };
  }

  describe.each(CASES)("$name, when Redis $what", ({ connect, leave, comeBack }) => {
    it("closed: refuses within the deadline, then at once, logs it once, and recovers", async () => {
      const { server, store, lines } = await open(connect);
      const limits = { windows: [windowOf({ limit: 50 })] };
      expect(await kindOf(store, limits)).toBe("admitted");
      await leave(server);

      const first = await timeOf(() =>
        Promise.all([1, 2, 3].map(() => codeOf(store.admit(requestOf(limits))))),
      );
      expect(first.result).toEqual(Array(3).fill("gateway_unavailable"));
      expect(first.ms).toBeLessThan(DEADLINE_MS + PATIENCE_MS);
      // A busy machine may need several tries. A store that waits for Redis fails each of them.
      await vi.waitFor(async () => {
        const next = await timeOf(() =>
          Promise.all(Array.from({ length: 200 }, () => codeOf(store.admit(requestOf())))),
        );
        expect(new Set(next.result)).toEqual(new Set(["gateway_unavailable"]));
        expect(next.ms).toBeLessThan(200);
      });
      expect(lines).toEqual([expect.stringMatching(/away/)]);

      await comeBack(server);
      await untilBack(lines);
      expect(await kindOf(store, limits)).toBe("admitted");
      expect(lines).toHaveLength(2);
    });

    it.each(["closed", "open"] as const)("%s: is not well, without a long wait", async (whenAway) => {
      const { server, store, lines } = await open(connect, { whenAway });
      await store.ping?.();
      await leave(server);

      const asked = await timeOf(() =>
        Promise.allSettled([store.ping?.(), store.ping?.()]).then((all) => all.map(({ status }) => status)),
      );
      expect(asked.result).toEqual(["rejected", "rejected"]);
      expect(asked.ms).toBeLessThan(DEADLINE_MS + PATIENCE_MS);

      await comeBack(server);
      await untilBack(lines);
      await expect(store.ping?.()).resolves.toBeUndefined();
    });

    it("open: counts in this process, and sends the outcomes when Redis is back", async () => {
      const { server, store, lines } = await open(connect, { whenAway: "open" });
      const running = requestOf({ concurrency: [slotOf()], idempotency: idempotencyOf() });
      expect((await store.admit(running)).kind).toBe("admitted");
      await leave(server);

      const limits = { windows: [windowOf({ limit: 2 })] };
      const here = [await kindOf(store, limits), await kindOf(store, limits), await kindOf(store, limits)];
      expect(here).toEqual(["admitted", "admitted", "limited"]);
      await store.finish(running, { kind: "keep", response: RESPONSE, ttlMs: LEASE_MS });
      await store.setCooldown("ark", { until: Date.now() + LEASE_MS, reason: "rate" });
      expect(lines).toHaveLength(1);

      await comeBack(server);
      await untilBack(lines);
      // The cooldown is sent after the outcome. A repeat that came before the outcome would take the key.
      await expect
        .poll(() => store.admit(requestOf({ channels: ["ark"] })))
        .toMatchObject({ kind: "admitted", cooldowns: { ark: { reason: "rate" } } });
      expect(await store.admit(requestOf({ idempotency: idempotencyOf() }))).toEqual({
        kind: "replay",
        response: RESPONSE,
      });
      expect(await store.admit(requestOf({ concurrency: [slotOf()], channels: ["ark"] }))).toMatchObject({
        kind: "admitted",
        cooldowns: { ark: { reason: "rate" } },
      });
      expect(lines).toHaveLength(2);
    });
  });

  describe.each(CLIENTS)("%s", (_name, connect) => {
    it("releases what a request took after its deadline", async () => {
      const { server, store, lines } = await open(connect);
      await kindOf(store, {});
      server.freeze();
      const whole = { concurrency: [slotOf()], idempotency: idempotencyOf() };
      // The request waits in the socket. The server executes it when it continues.
      expect(await codeOf(store.admit(requestOf(whole)))).toBe("gateway_unavailable");
      server.thaw();
      await untilBack(lines);
      await expect.poll(() => kindOf(store, whole)).toBe("admitted");
      expect(await kindOf(store, { concurrency: [slotOf()] })).toBe("crowded");
    });

    it("is not away if this process was blocked", async () => {
      const { store, lines } = await open(connect);
      await kindOf(store, {});
      const asked = kindOf(store, {});
      await nextTurn(); // it is sent
      const start = performance.now();
      while (performance.now() - start < 2 * DEADLINE_MS);
      expect(await asked).toBe("admitted");
      expect(lines).toEqual([]);
    });

    it("continues after the scripts were removed", async () => {
      const { server, store, lines } = await open(connect, { deadlineSeconds: PATIENT_SECONDS });
      const concurrency = [slotOf({ limit: 2 })];
      const request = requestOf({ concurrency });
      await store.admit(request);
      const other = new Redis(server.url);
      ends.push(() => other.disconnect());
      for (const _ of [1, 2]) {
        await other.script("FLUSH");
        expect(await kindOf(store, { concurrency })).toBe("admitted");
        await other.script("FLUSH");
        await store.finish(request, { kind: "forget" });
      }
      expect(lines).toEqual([]);
    });

    it("stays available after a request whose key belongs to another program", async () => {
      const { server, store, lines } = await open(connect, { prefix: "mine:" });
      const other = new Redis(server.url);
      ends.push(() => other.disconnect());
      await other.set("mine:{me}:places:slot", "not a set");
      await expect(store.admit(requestOf({ concurrency: [slotOf()] }))).rejects.toThrow(/WRONGTYPE/);
      expect(await kindOf(store, {})).toBe("admitted");
      expect(lines).toEqual([]);
    });
  });

  describe("a request that is sent again because its reply was lost", () => {
    it("is not refused because of itself", async () => {
      const { store, other, request, kind } = await sendTwice(9);
      expect(kind).toBe("admitted");
      expect(await kindOf(other, { concurrency: [slotOf()] })).toBe("crowded");
      expect(await kindOf(other, { idempotency: idempotencyOf() })).toBe("running");
      await store.finish(request, { kind: "forget" });
      expect(await kindOf(other, { concurrency: [slotOf()], idempotency: idempotencyOf() })).toBe("admitted");
    });

    it("leaves no slot and no idempotency key if it is refused the second time", async () => {
      const { other, kind } = await sendTwice(1);
      expect(kind).toBe("limited");
      expect(await kindOf(other, { concurrency: [slotOf()], idempotency: idempotencyOf() })).toBe("admitted");
    });
  });

  it("takes nothing if the key of the cooldowns belongs to another program", async () => {
    const { server, store } = await open(connectIoredis, { prefix: "mine:" });
    const other = new Redis(server.url);
    ends.push(() => other.disconnect());
    await other.set("mine:{cooldowns}", "not a hash");
    const whole = { windows: [windowOf()], concurrency: [slotOf()], idempotency: idempotencyOf() };
    await expect(store.admit(requestOf({ ...whole, channels: ["ark"] }))).rejects.toThrow(/WRONGTYPE/);
    expect(await kindOf(store, whole)).toBe("admitted");
  });

  it("a server that refuses writes is away", async () => {
    const { server, store, lines } = await open(connectIoredis);
    const other = new Redis(server.url);
    ends.push(() => other.disconnect());
    await other.replicaof("127.0.0.1", "1");
    expect(await codeOf(store.admit(requestOf({ windows: [windowOf()] })))).toBe("gateway_unavailable");
    await sleep(600);
    expect(lines).toHaveLength(1);
    await other.replicaof("NO", "ONE");
    await untilBack(lines);
    expect(await kindOf(store, { windows: [windowOf()] })).toBe("admitted");
  });

  it.each([
    ["limits", { idempotency: "open" }, ["refused", "admitted", "admitted"]],
    ["idempotency keys", { limits: "open" }, ["admitted", "refused", "admitted"]],
    [
      "cooldowns",
      { limits: "open", idempotency: "open", cooldowns: "closed" },
      ["refused", "refused", "refused"],
    ],
  ] as const)("%s can be closed alone", async (_what, whenAway, expected) => {
    const { server, store } = await open(connectIoredis, { whenAway });
    await server.stop();
    const channels = ["ark"];
    const requests = [{ windows: [windowOf()] }, { idempotency: idempotencyOf() }, {}];
    const kinds: string[] = [];
    for (const request of requests) {
      kinds.push(await kindOf(store, { ...request, channels }).catch(() => "refused"));
    }
    expect(kinds).toEqual(expected);
  });

  it("a gateway responds with 503, logs it once, and serves again", async () => {
    const { server, store, lines } = await open(connectIoredis);
    const gateway = openGateway(store, lines);
    expect((await post(gateway)).status).toBe(200);
    await server.stop();
    for (const _ of [1, 2, 3]) {
      const refused = await post(gateway);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    }
    expect(lines).toHaveLength(1);
    await server.start();
    await untilBack(lines);
    // The new server may execute the earlier request only now, because it needs the script first. That request has the
    // only slot until its late reply arrives.
    await expect.poll(async () => (await post(gateway)).status).toBe(200);
    await gateway.close();
  });
});

const KEY = "caller-canary-1f0b6a52";

function openGateway(admission: AdmissionStore, lines: string[]) {
  return createGateway({
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "provider-canary-77aa01bc" }],
    callers: [{ id: "me", key: KEY }],
    limits: { requestsPerMinute: 100, concurrent: 1 },
    admission,
    logger: {
      info: () => {}, // a line for each refused request
      warn: (_fields, message) => void lines.push(message),
      error: (_fields, message) => void lines.push(message),
    },
    fetch: async () =>
      Response.json({ data: [{ url: "https://ark.test/1.png" }], usage: { generated_images: 1 } }),
  });
}

async function post(gateway: ReturnType<typeof openGateway>): Promise<Response> {
  const response = await gateway.fetch(
    new Request("http://gateway.test/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "doodle", prompt: "a fox" }),
    }),
  );
  await response.text();
  return response;
}

function untilBack(lines: readonly string[]) {
  return expect.poll(() => lines.at(-1)).toMatch(/back/);
}

async function codeOf(decision: AdmissionDecision | Promise<AdmissionDecision>): Promise<unknown> {
  return await Promise.resolve(decision).then(
    ({ kind }) => kind,
    (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
  );
}

async function timeOf<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const start = performance.now();
  const result = await work();
  return { result, ms: performance.now() - start };
}
