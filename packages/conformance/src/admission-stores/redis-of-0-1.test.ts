import { createRedisAdmissionStore } from "@calotype/redis";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { idempotencyOf, RESPONSE, requestOf, slotOf, windowOf } from "../admission-suite/requests.js";
import { describeWithService } from "../support/needs-service.js";
import { createPrefix, PATIENT_SECONDS, REDIS, removeKeys, useIoredis } from "../support/redis-service.js";

// The keys and values are written as version 0.1 wrote them. Its processes may use the same Redis at the same time.

const MINUTE = 60_000;

await describeWithService(REDIS, (url) => {
  const client = useIoredis(url);
  let prefix = "";
  beforeEach(() => {
    const own = createPrefix();
    prefix = own;
    onTestFinished(async () => await removeKeys(client(), own));
  });
  const open = () =>
    createRedisAdmissionStore({ client: client(), prefix, deadlineSeconds: PATIENT_SECONDS });

  it.each([
    ["a response", ["answered", "same", RESPONSE], { kind: "replay", response: RESPONSE }],
    ["a running request", ["running", "same", "req_old"], { kind: "running" }],
    ["a request whose response was too large", ["marked", "same"], { kind: "not_replayable" }],
    ["another request", ["marked", "other"], { kind: "conflict" }],
  ])("finds %s of version 0.1 under an idempotency key", async (_, value, decision) => {
    await client().set(`${prefix}{me}:claim:key`, JSON.stringify(value), "PX", MINUTE);
    expect(await open().admit(requestOf({ idempotency: idempotencyOf() }))).toEqual(decision);
  });

  it("counts the requests and the running requests of version 0.1", async () => {
    await client().set(`${prefix}{me}:window:window`, "1", "PX", MINUTE);
    expect(await open().admit(requestOf({ windows: [windowOf({ limit: 1 })] }))).toMatchObject({
      kind: "limited",
    });

    await client().zadd(`${prefix}{me}:places:slot`, Date.now() + MINUTE, "req_old");
    expect(await open().admit(requestOf({ concurrency: [slotOf({ limit: 1 })] }))).toMatchObject({
      kind: "crowded",
    });
  });

  it("obeys the cooldowns of version 0.1", async () => {
    const until = Date.now() + MINUTE;
    await client().hset(`${prefix}{cooldowns}`, "ark", `${until} "rate"`);
    expect(await open().admit(requestOf({ channels: ["ark"] }))).toMatchObject({
      kind: "admitted",
      cooldowns: { ark: { until, reason: "rate" } },
    });
  });

  it("writes what version 0.1 reads", async () => {
    const store = open();
    const request = requestOf({
      id: "req_new",
      windows: [windowOf()],
      concurrency: [slotOf()],
      idempotency: idempotencyOf(),
    });
    expect(await store.admit(request)).toMatchObject({ kind: "admitted" });
    expect(await client().get(`${prefix}{me}:window:window`)).toBe("1");
    expect(await client().zrange(`${prefix}{me}:places:slot`, "0", "-1")).toEqual(["req_new"]);
    expect(await client().get(`${prefix}{me}:claim:key`)).toBe('["running","same","req_new"]');

    await store.finish(request, { kind: "keep", response: RESPONSE, ttlMs: MINUTE });
    expect(JSON.parse((await client().get(`${prefix}{me}:claim:key`)) ?? "")).toEqual([
      "answered",
      "same",
      RESPONSE,
    ]);
  });
});
