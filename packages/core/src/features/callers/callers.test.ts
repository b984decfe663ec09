import { describe, expect, it, vi } from "vitest";
import { hashApiKey } from "../../auth/api-key.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { ASYNC, BILLING, openTaskGateway } from "../../testing/task-gateway.js";
import { ARK_RESPONSE, createTestGateway, type TestGateway } from "../../testing/test-gateway.js";
import type { Caller, CallerLimits } from "../../types.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { CallerPatch, LimitsPatch } from "./caller-settings.js";

const SEEDREAM = "seedream-4-5-251128";
const PRICES: GatewayOptions["billing"] = { ...BILLING, group_ratio: { default: "1", vip: "0.5" } };

function open(
  options: Partial<GatewayOptions> = {},
): TestGateway & { callers: TestGateway["gateway"]["callers"] } {
  const opened = createTestGateway(undefined, { billing: PRICES, ...options });
  return { ...opened, callers: opened.gateway.callers };
}

/** Sends a request with a key. */
async function send({ post }: Pick<TestGateway, "post">, key: string, headers: Record<string, string> = {}) {
  const { status, body } = await post(
    { model: SEEDREAM, prompt: "a cat" },
    { authorization: `Bearer ${key}`, ...headers },
  );
  return { status, error: body["error"] };
}

describe("gateway.callers", () => {
  it.each<[string, CallerLimits, unknown, object | undefined]>([
    ["one limit", { concurrent: 1, requestsPerMinute: 9 }, { concurrent: "unset" }, { requestsPerMinute: 9 }],
    [
      "a lifted limit",
      { concurrent: null, imagesPerMinute: 3 },
      { concurrent: "unset" },
      { imagesPerMinute: 3 },
    ],
    ["the last limit", { concurrent: 1 }, { concurrent: "unset" }, undefined],
    [
      "one limit and sets another",
      { concurrent: 1 },
      { concurrent: "unset", imagesPerMinute: 4 },
      { imagesPerMinute: 4 },
    ],
    ["a limit that is not set", { concurrent: 1 }, { imagesPerMinute: "unset" }, { concurrent: 1 }],
  ])("removes %s with unset", async (_what, limits, changes, expected) => {
    const { callers } = open();
    await callers.create({ id: "shop", limits });

    const changed = await callers.change("shop", { limits: changes as LimitsPatch });

    expect(changed.limits).toEqual(expected);
    expect("limits" in changed).toBe(expected !== undefined);
    expect((await callers.find("shop"))?.limits).toEqual(expected);
  });

  it("writes a removed limit to the audit line, and refuses unset elsewhere", async () => {
    const { callers } = open();
    await callers.create({ id: "shop", limits: { concurrent: 1 } });
    await callers.change("shop", { limits: { concurrent: "unset" } });
    const [line] = await callers.audit();
    expect(line?.fields).toEqual([{ field: "limits.concurrent", from: 1 }]);
    const wrong: readonly unknown[] = [
      { limits: { perHour: "unset" } },
      { limits: "unset" },
      { budget: "unset" },
    ];
    for (const changes of wrong) {
      await expect(callers.change("shop", changes as CallerPatch)).rejects.toMatchObject({
        code: "invalid_request_error",
      });
    }
    const created = { id: "app", limits: { concurrent: "unset" } };
    await expect(callers.create(created as unknown as Caller)).rejects.toMatchObject({
      param: "limits.concurrent",
    });
  });

  it("creates a caller whose key is shown once and works at once", async () => {
    const gateway = open();
    const { key, caller } = await gateway.callers.create(
      { id: "shop", group: "vip", budget: "0.2", limits: { requestsPerMinute: 2 }, models: [SEEDREAM] },
      { prefix: "shop-" },
    );
    expect(key).toMatch(/^shop-[\dA-Za-z]{43}$/);
    expect(caller).toMatchObject({ id: "shop", state: "active", group: "vip", budget: "0.2" });
    expect(caller.keys).toEqual([{ hint: `shop-…${key.slice(-4)}`, createdAt: caller.createdAt }]);
    expect(await send(gateway, key)).toMatchObject({ status: 200 });
    expect(gateway.records).toMatchObject([{ caller: "shop", group: "vip", charge: "0.15" }]);
    expect(await send(gateway, key)).toMatchObject({ status: 403, error: { code: "insufficient_quota" } });
    expect(await send(gateway, key)).toMatchObject({ status: 429 });
  });

  it("never shows a key or a hash again", async () => {
    const gateway = open();
    const { key } = await gateway.callers.create({ id: "shop" });
    const rotated = await gateway.callers.rotate("shop");
    await gateway.callers.change("shop", { budget: 5 });
    const shown = [
      await gateway.callers.find("shop"),
      await gateway.callers.list(),
      await gateway.callers.audit(),
      await gateway.callers.revoke("shop"),
      await gateway.callers.audit(),
    ];
    const written = JSON.stringify([shown, rotated.caller, gateway.logs]);
    for (const secret of [key, rotated.key]) {
      expect(written.includes(secret)).toBe(false);
      expect(written.includes(hashApiKey(secret))).toBe(false);
    }
  });

  it("changes only the given fields, and null removes one", async () => {
    const { callers } = open();
    await callers.create({
      id: "shop",
      group: "vip",
      budget: "5",
      limits: { concurrent: 1, requestsPerMinute: 9 },
    });
    const changed = await callers.change("shop", {
      budget: null,
      sizes: "nearest",
      limits: { concurrent: null, imagesPerMinute: 3 },
      group: undefined,
    });
    expect(changed).toMatchObject({
      group: "vip",
      sizes: "nearest",
      limits: { concurrent: null, requestsPerMinute: 9, imagesPerMinute: 3 },
    });
    expect(changed).not.toHaveProperty("budget");
    expect(await callers.change("shop", { limits: null })).not.toHaveProperty("limits");
    const [, line] = await callers.audit({ caller: "shop" });
    expect(line).toMatchObject({ action: "change", by: "gateway" });
    expect(line?.fields).toEqual(
      expect.arrayContaining([
        { field: "budget", from: "5" },
        { field: "sizes", to: "nearest" },
        { field: "limits.concurrent", from: 1, to: null },
        { field: "limits.imagesPerMinute", to: 3 },
      ]),
    );
    expect(line?.fields).toHaveLength(4);
  });

  it("rotates a key: both work, then the old one ends", async () => {
    const gateway = open();
    const { key: first } = await gateway.callers.create({ id: "shop" });
    const { key: second, caller } = await gateway.callers.rotate("shop", { overlapSeconds: 600, by: "ann" });
    expect(caller.keys).toMatchObject([{ endsAt: expect.any(String) }, { hint: `cal-…${second.slice(-4)}` }]);
    expect(await send(gateway, first)).toMatchObject({ status: 200 });
    expect(await send(gateway, second)).toMatchObject({ status: 200 });
    expect(gateway.records.map(({ keyHint }) => keyHint)).toEqual(caller.keys.map(({ hint }) => hint));
    const { key: third } = await gateway.callers.rotate("shop", { overlapSeconds: 0 });
    expect(await send(gateway, first)).toMatchObject({ status: 401 });
    expect(await send(gateway, second)).toMatchObject({ status: 401 });
    expect(await send(gateway, third)).toMatchObject({ status: 200 });
    expect(await gateway.callers.audit({ limit: 2 })).toMatchObject([{ by: "gateway" }, { by: "ann" }]);
  });

  it("keeps the earlier end of a key that is rotated twice, and at most ten keys", async () => {
    const { callers } = open();
    await callers.create({ id: "shop" });
    const { caller: before } = await callers.rotate("shop", { overlapSeconds: 10 });
    const { caller: after } = await callers.rotate("shop", { overlapSeconds: 1_000 });
    expect(after.keys[0]).toEqual(before.keys[0]);
    for (let count = 3; count < 10; count++) await callers.rotate("shop");
    await expect(callers.rotate("shop")).rejects.toMatchObject({
      code: "invalid_request_error",
      param: "overlapSeconds",
    });
    await expect(callers.rotate("shop", { overlapSeconds: 0 })).resolves.toMatchObject({
      caller: { keys: { length: 1 } },
    });
  });

  it("revokes a caller: its keys get a 401, its id stays taken, and it cannot be changed", async () => {
    const gateway = open();
    const { key } = await gateway.callers.create({ id: "shop" });
    expect(await send(gateway, key)).toMatchObject({ status: 200 });
    expect(await gateway.callers.revoke("shop")).toMatchObject({ state: "revoked", keys: [] });
    expect(await send(gateway, key)).toMatchObject({ status: 401, error: { code: "invalid_api_key" } });
    await expect(gateway.callers.create({ id: "shop" })).rejects.toMatchObject({ code: "caller_exists" });
    await expect(gateway.callers.change("shop", { group: "vip" })).rejects.toMatchObject({
      code: "caller_revoked",
    });
    await expect(gateway.callers.rotate("shop")).rejects.toMatchObject({ code: "caller_revoked" });
    const { revokedAt } = await gateway.callers.revoke("shop");
    expect(revokedAt).toBe((await gateway.callers.find("shop"))?.revokedAt);
  });

  it("refuses a wrong place or time in the audit", async () => {
    const { callers } = open();
    const refused = { code: "invalid_request_error", param: "before" };
    await expect(callers.audit({ before: 1.5 })).rejects.toMatchObject(refused);
    await expect(callers.pruneAudit({ before: "yesterday" })).rejects.toMatchObject(refused);
  });

  it("changes and revokes at once in its own process, if the store tells nobody", async () => {
    const ledger = createMemoryLedger();
    const silent = { ...ledger, callers: { ...ledger.callers, watch: () => () => {} } };
    const gateway = open({ ledger: silent });
    const { key } = await gateway.callers.create({ id: "shop" });
    expect(await send(gateway, key)).toMatchObject({ status: 200 });
    await gateway.callers.change("shop", { models: ["other-*"] });
    expect(await send(gateway, key)).toMatchObject({ status: 403 });
    await gateway.callers.revoke("shop");
    expect(await send(gateway, key)).toMatchObject({ status: 401 });
  });

  it("lists callers in pages", async () => {
    const { callers } = open();
    for (const id of ["c", "a", "b"]) await callers.create({ id });
    const first = await callers.list({ limit: 2 });
    expect(first).toMatchObject({ callers: [{ id: "a" }, { id: "b" }], next: "b" });
    const last = await callers.list({ limit: 2, after: first.next });
    expect(last.callers).toMatchObject([{ id: "c" }]);
    expect(last).not.toHaveProperty("next");
    expect(await callers.find("d")).toBeUndefined();
  });

  it.each<[string, unknown, string | undefined]>([
    ["id", {}, "id"],
    ["id", { id: "" }, "id"],
    ["id", { id: "x".repeat(513) }, "id"],
    ["id", { id: "a\0" }, "id"],
    ["object", "shop", undefined],
    ["budget", { id: "shop", budget: "-1" }, "budget"],
    ["budget", { id: "shop", budget: "50/month" }, "budget"],
    ["budget", { id: "shop", budget: null }, "budget"],
    ["limits.concurrent", { id: "shop", limits: { concurrent: 0 } }, "limits.concurrent"],
    ["limits.perHour", { id: "shop", limits: { perHour: 1 } }, "limits.perHour"],
    ["expiresAt", { id: "shop", expiresAt: "tomorrow" }, "expiresAt"],
    ["models[0]", { id: "shop", models: [""] }, "models[0]"],
    ["models", { id: "shop", models: Array.from({ length: 200 }, () => "x".repeat(500)) }, "models"],
    ["client", { id: "shop", client: "netscape" }, "client"],
    ["key", { id: "shop", key: "sk-secret" }, "key"],
    ["group", { id: "shop", group: "unpriced" }, "group"],
  ])("refuses a wrong %s by name", async (field, caller, param) => {
    const { callers } = open();
    const refusal: unknown = await callers.create(caller as Caller).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "GatewayError", code: "invalid_request_error", param });
    expect(String(refusal)).toContain(field);
    expect(await callers.list()).toEqual({ callers: [] });
  });

  it("refuses wrong changes by name", async () => {
    const { callers } = open();
    await callers.create({ id: "shop" });
    const refused = { code: "invalid_request_error" };
    await expect(callers.change("shop", {})).rejects.toMatchObject(refused);
    await expect(callers.change("shop", { budget: "many" })).rejects.toMatchObject({
      ...refused,
      param: "budget",
    });
    await expect(callers.change("shop", { id: null } as object)).rejects.toMatchObject({
      ...refused,
      param: "id",
    });
    await expect(callers.change("shop", { group: "unpriced" })).rejects.toMatchObject({
      ...refused,
      param: "group",
    });
    await expect(callers.change("other", { budget: 1 })).rejects.toMatchObject({ code: "caller_not_found" });
    await expect(callers.rotate("shop", { overlapSeconds: -1 })).rejects.toMatchObject(refused);
    await expect(callers.rotate("shop", { overlapSeconds: Number.NaN })).rejects.toMatchObject(refused);
    await expect(callers.rotate("shop", { prefix: "a b" })).rejects.toMatchObject({
      ...refused,
      param: "prefix",
    });
    await expect(callers.revoke("shop", { by: "" })).rejects.toMatchObject({ ...refused, param: "by" });
    await expect(callers.list({ limit: 0 })).rejects.toMatchObject({ ...refused, param: "limit" });
    expect(await callers.audit()).toHaveLength(1);
  });

  it("refuses a budget without billing, also one that was stored before", async () => {
    const ledger = createMemoryLedger();
    const priced = open({ ledger });
    const { key } = await priced.callers.create({ id: "shop", budget: 5 });
    const gateway = open({ ledger, billing: undefined });
    await expect(gateway.callers.create({ id: "app", budget: 5 })).rejects.toMatchObject({ param: "budget" });
    expect(await send(gateway, key)).toMatchObject({ status: 500, error: { code: "internal_error" } });
    expect(gateway.logs).toMatchObject([{ fields: { err: { message: expect.stringContaining("budget") } } }]);
  });

  it("does not admit a stored caller with the id of a caller of the options", async () => {
    const ledger = createMemoryLedger();
    const { key } = await open({ ledger, callers: [] }).callers.create({ id: "me" });
    const gateway = open({ ledger });
    await expect(gateway.callers.create({ id: "me" })).rejects.toMatchObject({
      code: "caller_exists",
      param: "id",
    });
    expect(await send(gateway, key)).toMatchObject({ status: 401 });
    expect(gateway.logs).toMatchObject([{ level: "warn", fields: { caller: "me" } }]);
  });

  it("admits stored callers after those of authenticate", async () => {
    const gateway = open({
      callers: undefined,
      authenticate: (key) => (key === "own" ? { id: "own" } : null),
    });
    const { key } = await gateway.callers.create({ id: "shop" });
    expect(await send(gateway, "own")).toMatchObject({ status: 200 });
    expect(await send(gateway, key)).toMatchObject({ status: 200 });
    expect(await send(gateway, "other")).toMatchObject({ status: 401 });
    expect(gateway.records.map(({ caller }) => caller)).toEqual(["own", "shop"]);
  });

  it("rejects with a TypeError if the ledger keeps no callers", async () => {
    const { callers: _callers, ...ledger } = createMemoryLedger();
    const gateway = open({ ledger });
    await expect(gateway.callers.create({ id: "shop" })).rejects.toThrow(TypeError);
    await expect(gateway.callers.list()).rejects.toThrow(/keeps no callers/);
    expect(await send(gateway, "unknown")).toMatchObject({ status: 401 });
  });

  it("responds with a 503 to unknown keys while the store is away, and admits those of the options", async () => {
    const ledger = createMemoryLedger();
    const callers = { ...ledger.callers, lookUp: () => Promise.reject(new Error("away")) };
    const gateway = open({ ledger: { ...ledger, callers } as typeof ledger });
    expect(await send(gateway, "unknown")).toMatchObject({
      status: 503,
      error: { code: "gateway_unavailable" },
    });
    expect((await gateway.post({ model: SEEDREAM, prompt: "a cat" })).status).toBe(200);
  });

  it("refuses a key that was revoked during its lookup, also if that lookup has the new revision", async () => {
    const ledger = createMemoryLedger();
    let revokeMeanwhile: (() => Promise<unknown>) | undefined;
    const lookUp: typeof ledger.callers.lookUp = async (hashes) => {
      const { callers } = await ledger.callers.lookUp(hashes);
      await revokeMeanwhile?.();
      return { ...(await ledger.callers.lookUp([])), callers };
    };
    const gateway = open({ ledger: { ...ledger, callers: { ...ledger.callers, lookUp } } as typeof ledger });
    const another = open({ ledger });
    const shop = await another.callers.create({ id: "shop" });
    const app = await another.callers.create({ id: "app" });
    expect(await send(gateway, app.key)).toMatchObject({ status: 200 });
    revokeMeanwhile = () => another.callers.revoke("shop");
    expect(await send(gateway, shop.key)).toMatchObject({ status: 200 });
    revokeMeanwhile = undefined;
    expect(await send(gateway, app.key)).toMatchObject({ status: 200 });
    expect(await send(gateway, shop.key)).toMatchObject({ status: 401 });
  });

  it("lists a caller that cannot be read as damaged, and can revoke it", async () => {
    const ledger = createMemoryLedger();
    const gateway = open({ ledger });
    const { key } = await gateway.callers.create({ id: "bad" });
    await gateway.callers.create({ id: "good", group: "vip" });
    await ledger.callers.change("bad", ({ keys }) => ({
      caller: { settings: '{"version":7}', keys },
      audit: { by: "me", action: "change", details: "not JSON" },
    }));
    const { callers } = await gateway.callers.list();
    expect(callers).toMatchObject([
      { id: "bad", state: "damaged", problem: expect.stringContaining("newer version") },
      { id: "good", state: "active", group: "vip" },
    ]);
    expect((await gateway.callers.audit())[0]).toMatchObject({ caller: "bad", fields: [] });
    await expect(gateway.callers.change("bad", { group: "vip" })).rejects.toThrow(/cannot be changed/);
    await vi.waitFor(async () => expect(await send(gateway, key)).toMatchObject({ status: 500 }));
    expect(await gateway.callers.revoke("bad")).toMatchObject({ state: "revoked" });
    expect(await send(gateway, key)).toMatchObject({ status: 401 });
  });
});

describe("the requests and tasks of a caller that is revoked", () => {
  it("go on and are charged, and the caller cannot read them any more", async () => {
    const gate = Promise.withResolvers<void>();
    const opened = openTaskGateway(
      async () => {
        await gate.promise;
        return Response.json(ARK_RESPONSE);
      },
      { tasks: { concurrency: 1 } },
    );
    const { gateway, ledger, post, calls } = opened;
    const { key } = await gateway.callers.create({ id: "shop" });
    const running = send(opened, key);
    const authorization = `Bearer ${key}`;
    const body = { model: SEEDREAM, prompt: "a cat" };
    const submitted = [
      await post(body, { ...ASYNC, authorization }),
      await post(body, { ...ASYNC, authorization }),
    ];
    expect(submitted.map(({ status }) => status)).toEqual([202, 202]);
    await vi.waitFor(() => expect(calls).toHaveLength(2));

    await gateway.callers.revoke("shop");
    const ids = submitted.map(({ body: task }) => String(task["id"]));
    const read = await gateway.fetch(
      new Request(`http://gateway.test/v1/images/tasks/${ids[0]}`, { headers: { authorization } }),
    );
    expect(read.status).toBe(401);
    gate.resolve();
    expect(await running).toMatchObject({ status: 200 });
    // The first task was running and the second one waited in the queue.
    await vi.waitFor(async () => {
      for (const id of ids)
        expect(await ledger.tasks.find("shop", id)).toMatchObject({ status: "completed" });
    });
    expect(await ledger.balance("shop")).toEqual({ settled: "0.9", held: "0" });
  });
});
