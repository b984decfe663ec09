import { createMemoryAdmissionStore } from "@calotype/core";
import { createRedisAdmissionStore, type RedisAdmissionStoreOptions } from "@calotype/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
import { describeWithService } from "../support/needs-service.js";
import { createPrefix, findKeys, PATIENT_SECONDS, REDIS, removeKeys } from "../support/redis-service.js";
import { isFull } from "../support/test-run.js";

await describeWithService(REDIS, (url) => {
  const prefix = createPrefix();
  const clients: Redis[] = [];
  beforeAll(() => {
    for (let index = 0; index < 4; index++) clients.push(new Redis(url));
  });
  afterAll(async () => {
    for (const client of clients) {
      if (client === clients[0]) await removeKeys(client, prefix);
      client.disconnect();
    }
  });
  const clientOf = (index: number): Redis => {
    const client = clients[index];
    if (client === undefined) throw new Error("The clients are open only while tests run.");
    return client;
  };
  let opened = 0;
  const open = (options: Partial<RedisAdmissionStoreOptions> = {}) => {
    const own = `${prefix}${opened++}:`;
    const stores = [0, 1, 2, 3].map((index) =>
      createRedisAdmissionStore({
        client: clientOf(index),
        prefix: own,
        deadlineSeconds: PATIENT_SECONDS,
        ...options,
      }),
    );
    const [store] = stores;
    if (store === undefined) throw new Error("There are four stores.");
    return { own, stores, store };
  };

  describe("four gateways", () => {
    it("admit together exactly as many of a thousand requests as the limit", async () => {
      const { stores } = open();
      const limits = { windows: [windowOf({ limit: 137 })], concurrency: [slotOf({ limit: 200 })] };
      const counts = await Promise.all(stores.map((store) => countAdmitted(store, 250, () => limits)));
      expect(counts.reduce((sum, count) => sum + count)).toBe(137);
    });

    it("share cooldowns and the outcomes of requests", async () => {
      const { stores } = open();
      const [first, second, third] = stores;
      const request = requestOf({ idempotency: idempotencyOf(), concurrency: [slotOf()] });
      await first?.admit(request);
      await second?.setCooldown("ark", { until: Date.now() + LEASE_MS, reason: "rate" });
      expect(await third?.admit(requestOf({ channels: ["ark"] }))).toMatchObject({
        cooldowns: { ark: { reason: "rate" } },
      });
      await second?.finish(request, { kind: "keep", response: RESPONSE, ttlMs: LEASE_MS });
      expect(await third?.admit(requestOf({ idempotency: idempotencyOf() }))).toMatchObject({
        kind: "replay",
      });
      expect(third && (await kindOf(third, { concurrency: [slotOf()] }))).toBe("admitted");
    });

    it("share nothing if their prefixes differ", async () => {
      const [one, other] = [open().store, open().store];
      expect(await kindOf(one, { windows: [windowOf()] })).toBe("admitted");
      expect(await kindOf(other, { windows: [windowOf()] })).toBe("admitted");
    });
  });

  describe("stored values", () => {
    it("expire, and are removed when they are over", async () => {
      const { own, store } = open();
      const whole = {
        windows: [windowOf(), windowOf({ key: "images", cost: 1 })],
        concurrency: [slotOf()],
        idempotency: idempotencyOf(),
      };
      const request = requestOf(whole);
      await store.admit(request);
      await store.setCooldown("ark", { until: Date.now() + LEASE_MS, reason: "rate" });
      await store.setCooldown("other", { until: Number.MAX_VALUE, reason: "rate" });
      const keys = await findKeys(clientOf(0), own);
      const times = await Promise.all(keys.map((key) => clientOf(0).pttl(key)));
      expect(keys).toHaveLength(5);
      expect(Math.min(...times)).toBeGreaterThan(LEASE_MS / 2);
      await store.setCooldown("other", undefined);
      await store.setCooldown("ark", { until: Date.now() - 1, reason: "rate" });
      await store.finish(request, { kind: "forget" });
      expect(await findKeys(clientOf(0), own)).toHaveLength(2);
    });

    it("contain no response above maxResponseBytes", async () => {
      const { store } = open({ maxResponseBytes: 1_000 });
      for (const [size, kind] of [
        [500, "replay"],
        [1_001, "not_replayable"],
      ] as const) {
        const idempotency = idempotencyOf({ key: kind });
        const request = requestOf({ idempotency });
        await store.admit(request);
        const response = { ...RESPONSE, body: "x".repeat(size) };
        await store.finish(request, { kind: "keep", response, ttlMs: LEASE_MS });
        expect(await kindOf(store, { idempotency })).toBe(kind);
      }
    });

    it("are separate for callers with any id", async () => {
      const { store } = open();
      const callers = [
        "",
        "%",
        "a",
        "{a}",
        "a}b",
        "{",
        "}",
        "%7b;",
        "a\nb",
        "a\r\nb",
        "\ud800",
        "\udbff",
        "\ufffd",
        "🐈",
      ];
      const take = (caller: string) => {
        const idempotency = idempotencyOf({ key: JSON.stringify(caller) });
        return kindOf(store, { caller, windows: [windowOf()], concurrency: [slotOf()], idempotency });
      };
      for (const caller of callers) expect([caller, await take(caller)]).toEqual([caller, "admitted"]);
      for (const caller of callers) expect([caller, await take(caller)]).toEqual([caller, "running"]);
    });

    it("return 500 cooldowns in one round trip", async () => {
      const { store } = open();
      const channels = Array.from({ length: 500 }, (_, index) => `channel ${index}`);
      const until = Date.now() + LEASE_MS;
      await Promise.all(channels.map((channel) => store.setCooldown(channel, { until, reason: "rate" })));
      const decision = await store.admit(requestOf({ channels }));
      expect(Object.keys("cooldowns" in decision ? decision.cooldowns : {})).toEqual(channels);
    });
  });

  it("decides like the memory store on random requests", async () => {
    const kinds = await compareStores(
      () => createMemoryAdmissionStore(),
      () => open().store,
      { runs: isFull() ? 300 : 75 },
    );
    expect(kinds.size).toBe(7);
  });
});
