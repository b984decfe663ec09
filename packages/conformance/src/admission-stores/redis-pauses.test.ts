import { createGateway, type Gateway } from "@calotype/core";
import { createEmulator, type Emulator } from "@calotype/emulator";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Redis } from "ioredis";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { describeWithService } from "../support/needs-service.js";
import { createPrefix, PATIENT_SECONDS, REDIS, removeKeys, useIoredis } from "../support/redis-service.js";

const MODEL = "seedream-4-0-250828";
const SILENT = { warn: () => {}, error: () => {} };

/** A process with a gateway: its own emulated provider, and a store that it shares. */
interface Process {
  readonly gateway: Gateway;
  readonly emulator: Emulator;
  /** Sends a request, and returns the status. */
  readonly send: () => Promise<number>;
}

await describeWithService(REDIS, (url) => {
  const client = useIoredis(url);
  const prefix = createPrefix();
  afterAll(() => removeKeys(client(), prefix));

  const start = (redis: Redis, deadlineSeconds = PATIENT_SECONDS): Process => {
    const emulator = createEmulator({ images: "tiny" });
    const admission = createRedisAdmissionStore({
      client: redis,
      prefix,
      deadlineSeconds,
      whenAway: "open",
      logger: SILENT,
    });
    const gateway = createGateway({
      models: { [MODEL]: { family: "seedream" } },
      channels: [{ id: "ark {1}", family: "seedream", apiKey: "a-key" }],
      callers: [{ id: "me", key: "cal-test-0c5d1be2a7f3" }],
      fetch: (address, init) => emulator.fetch(address, init),
      admission,
      logger: SILENT,
    });
    onTestFinished(() => gateway.close());
    const send = async (): Promise<number> => {
      const request = new Request("http://gateway.test/v1/images/generations", {
        method: "POST",
        headers: { authorization: "Bearer cal-test-0c5d1be2a7f3", "content-type": "application/json" },
        body: JSON.stringify({ model: MODEL, prompt: "a fox" }),
      });
      const response = await gateway.fetch(request);
      await response.text();
      return response.status;
    };
    return { gateway, emulator, send };
  };

  describe("a pause that two processes share in Redis", () => {
    it("stops both, also one that has just started, and ends for both", async () => {
      const [first, second] = [start(client()), start(client())];
      await first.gateway.pauseChannel("ark {1}", { note: "猫", by: "kim" });

      expect(await second.send()).toBe(503);
      const third = start(client());
      third.gateway.start();
      await expect
        .poll(() => third.gateway.status().channels[0])
        .toMatchObject({ state: "paused", pause: { note: "猫", by: "kim" } });
      expect([first, second, third].flatMap(({ emulator }) => emulator.requests)).toEqual([]);
      await third.gateway.resumeChannel("ark {1}");
      expect([await first.send(), await second.send()]).toEqual([200, 200]);
      expect(first.gateway.status().channels).toMatchObject([{ state: "ready" }]);
    });

    it("is read from and written for processes in which it was a cooldown", async () => {
      const field = "ark %7b;1%7d;@paused";
      const { gateway, send } = start(client());
      await gateway.pauseChannel("ark {1}", { by: "kim" });
      const value = await client().hget(`${prefix}{cooldowns}`, field);
      expect(value).toMatch(/^253402300799999 "\{\\"paused\\":\{\\"since\\":\d{13},\\"by\\":\\"kim\\"\}\}"$/);
      await gateway.resumeChannel("ark {1}");
      expect(await client().hget(`${prefix}{cooldowns}`, field)).toBeNull();
      for (const reason of ["by hand", '{"paused":{"since":1e99,"by":7}}', "null", '{"paused":"yes"}']) {
        await client().hset(
          `${prefix}{cooldowns}`,
          field,
          `${Date.now() + 60_000} ${JSON.stringify(reason)}`,
        );
        expect(await send()).toBe(503);
        expect(gateway.status().channels).toMatchObject([{ state: "paused", pause: { by: "" } }]);
      }
      await gateway.resumeChannel("ark {1}");
    });

    it("is not confirmed while Redis is away", async () => {
      const away = new Redis({ port: 1, retryStrategy: () => 60_000, enableOfflineQueue: false });
      away.on("error", () => {});
      onTestFinished(() => away.disconnect());
      const { gateway, send } = start(away, 0.2);

      await expect(gateway.pauseChannel("ark {1}")).rejects.toMatchObject({ code: "gateway_unavailable" });
      expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
      expect(await send()).toBe(200);
    });
  });
});
