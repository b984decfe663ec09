import { setTimeout as sleep } from "node:timers/promises";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { idempotencyOf, kindOf, requestOf, slotOf } from "../admission-suite/requests.js";
import { describeWithService } from "../support/needs-service.js";
import { REDIS_SERVER, type RedisServer, startRedisServer } from "../support/redis-server.js";
import { PATIENT_SECONDS } from "../support/redis-service.js";

const LEASE_SECONDS = 1;
const LEASE_MS = 1_000 * LEASE_SECONDS;

await describeWithService(REDIS_SERVER, (program) => {
  describe("a gateway that renews the leases of its requests", () => {
    let server: RedisServer | undefined;
    let count = 0;
    const clients: Redis[] = [];
    beforeAll(async () => {
      server = await startRedisServer(program);
    });
    afterEach(() => {
      for (const client of clients.splice(0)) client.disconnect();
    });
    afterAll(() => server?.remove());
    const started = (): RedisServer => {
      if (server === undefined) throw new Error("The server runs only while tests do.");
      return server;
    };

    /** Opens two gateways. The calls of the first one can be held back. */
    function open(deadlineSeconds = PATIENT_SECONDS) {
      const prefix = `${count++}:`;
      const lines: string[] = [];
      const logger = {
        warn: (_fields: object, message: string) => void lines.push(message),
        error: (_fields: object, message: string) => void lines.push(message),
      };
      const [client, otherClient] = [new Redis(started().url), new Redis(started().url)];
      for (const one of [client, otherClient]) one.on("error", () => undefined); // the store reports it
      clients.push(client, otherClient);
      const held: (() => void)[] = [];
      const gate = { isClosed: false };
      const pass = async (): Promise<void> => {
        if (gate.isClosed) await new Promise<void>((resolve) => void held.push(resolve));
      };
      const gated = {
        async evalsha(...args: Parameters<Redis["evalsha"]>) {
          await pass();
          return await client.evalsha(...args);
        },
        async eval(...args: Parameters<Redis["eval"]>) {
          await pass();
          return await client.eval(...args);
        },
      };
      const options = { prefix, leaseSeconds: LEASE_SECONDS, deadlineSeconds: PATIENT_SECONDS, logger };
      return {
        client,
        store: createRedisAdmissionStore({ ...options, client: gated, deadlineSeconds }),
        other: createRedisAdmissionStore({ ...options, client: otherClient }),
        gate,
        held,
        lines,
      };
    }

    const slot = { concurrency: [slotOf()] };
    const key = { idempotency: idempotencyOf() };
    const free = ["admitted", "admitted"];
    const taken = ["crowded", "running"];
    type Opened = ReturnType<typeof open>;
    const askOther = async ({ other }: Opened) => [await kindOf(other, slot), await kindOf(other, key)];

    it("keeps them for several leases, and loses them one lease after its connection broke", async () => {
      const opened = open();
      const { store, client } = opened;
      await store.admit(requestOf({ ...slot, ...key }));
      for (let times = 0; times < 4; times++) {
        await sleep(LEASE_MS / 2);
        expect(await askOther(opened)).toEqual(taken);
      }
      client.disconnect();
      await sleep(LEASE_MS + 50);
      expect(await askOther(opened)).toEqual(free);
    });

    it("releases them even if a renewal reaches Redis after the end", async () => {
      const opened = open();
      const { store, gate, held } = opened;
      const request = requestOf({ ...slot, ...key });
      await store.admit(request);
      gate.isClosed = true;
      await expect.poll(() => held).toHaveLength(1);
      gate.isClosed = false;
      await store.finish(request, { kind: "forget" });
      held[0]?.();
      await sleep(100);
      expect(await askOther(opened)).toEqual(free);
    });

    it("takes no key and no slot from another request", async () => {
      const opened = open();
      const { store, other, gate, held } = opened;
      const late = requestOf({ ...slot, ...key });
      await store.admit(late);
      gate.isClosed = true;
      await sleep(LEASE_MS + 50);
      const second = requestOf({ ...slot, ...key });
      expect((await other.admit(second)).kind).toBe("admitted");
      gate.isClosed = false;
      for (const go of held) go();
      await sleep(100);
      await store.finish(late, {
        kind: "keep",
        response: { status: 200, headers: {}, body: "" },
        ttlMs: 60_000,
      });
      expect(await askOther(opened)).toEqual(taken);
      await other.finish(second, { kind: "forget" });
      expect(await askOther(opened)).toEqual(free);
    });

    it("takes them again after Redis was away for longer and lost them", async () => {
      const opened = open(0.3);
      const { store, lines } = opened;
      const request = requestOf({ ...slot, ...key });
      await store.admit(request);
      await started().stop();
      await sleep(LEASE_MS);
      await started().start();
      await expect.poll(() => lines.at(-1)).toBe("Redis is back.");
      await sleep(100);
      expect(await askOther(opened)).toEqual(taken);
      expect(lines).toHaveLength(2);
      await store.finish(request, { kind: "forget" });
      expect(await askOther(opened)).toEqual(free);
    });
  });
});
