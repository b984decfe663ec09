import { type Caller, createMemoryLedger, type Gateway } from "@calotype/core";
import type { Ledger } from "@calotype/core/stores";
import { describe, expect, it, vi } from "vitest";
import { openSession } from "../testing/open-session.js";
import { CALLER_KEY, MODEL, openStudio } from "../testing/open-studio.js";
import type { CallerRow, CallerRows, NewKey } from "../wire.js";

const FIELDS = { model: MODEL, prompt: "a fox" };
const GENERATE = { method: "POST", path: "/api/images/generations", body: FIELDS };
const KEY = { "x-calotype-studio-key": CALLER_KEY };
/** Strings that callers can choose, or that providers send. */
const HOSTILE = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "</textarea><b>",
  "javascript:alert(1)",
  "${7*7}{{7*7}}",
  "\u202Etxt.exe",
];

describe("Try", () => {
  it("is paid by the key that the person enters", async () => {
    const { send, gateway } = openStudio({ authorize: () => "viewer" });

    const { status, headers, json } = await send({ ...GENERATE, headers: KEY });

    expect(status).toBe(200);
    expect(json).toMatchObject({ data: [{ b64_json: expect.any(String) }] });
    expect(await gateway.usage.balance("shop")).toEqual({ settled: "0.2", held: "0" });
    const record = await send({ path: `/api/requests/${headers["x-request-id"]}` });
    expect(record.json).toMatchObject({ caller: "shop", charge: "0.2", derivation: { exact: "0.2" } });
  });

  it.each([
    ["a caller of the options", "shop", "shop"],
    ["a caller of the studio only", { id: "desk", budget: "1" }, "desk"],
  ])("is paid by %s for an admin", async (_what, caller, id) => {
    const { send, gateway } = openStudio({ caller });

    expect((await send({ path: "/api/session" })).json).toMatchObject({ tryCaller: id });
    expect((await send(GENERATE)).status).toBe(200);
    expect(await gateway.usage.balance(id)).toEqual({ settled: "0.2", held: "0" });
  });

  it("is paid by a caller of the options that has an expired key and a new one", async () => {
    const callers = [
      { id: "shop", key: "old-canary-0c5d1be2a7f3", expiresAt: "2020-01-01T00:00:00Z" },
      { id: "shop", key: CALLER_KEY },
    ];
    const { send } = openStudio({ caller: "shop" }, { callers });

    expect((await send(GENERATE)).status).toBe(200);
  });

  it("is paid by a caller that was created at run time, until it is revoked", async () => {
    const { send, gateway } = openStudio({ caller: "late" });

    expect((await send(GENERATE)).json).toMatchObject({ error: { code: "caller_not_found" } });
    await gateway.callers.create({ id: "late", budget: "0.3" });
    expect((await send(GENERATE)).status).toBe(200);
    expect((await send(GENERATE)).json).toMatchObject({ error: { code: "insufficient_quota" } });
    await gateway.callers.revoke("late");
    expect((await send(GENERATE)).json).toMatchObject({ error: { code: "caller_not_found" } });
  });

  it("does not spend the money of the studio's caller for a viewer", async () => {
    const { send, emulator } = openStudio({ authorize: () => "viewer", caller: "shop" });

    expect((await send({ path: "/api/session" })).json).not.toHaveProperty("tryCaller");
    expect((await send(GENERATE)).status).toBe(401);
    expect((await send({ path: "/api/models" })).status).toBe(401);
    expect(emulator.requests).toEqual([]);
  });

  it("passes neither the operator's credentials nor its cookies to the gateway", async () => {
    const seen: (string | null)[] = [];
    const { send } = openStudio(
      { authorize: () => "admin" },
      {
        callers: undefined,
        authenticate: (key, headers) => {
          seen.push(key, headers.get("cookie"), headers.get("x-calotype-tags"));
          return { id: "me" };
        },
      },
    );
    const headers = {
      authorization: "Bearer of-the-operator",
      cookie: "session=1",
      "x-calotype-tags": "a=b",
    };

    expect((await send({ ...GENERATE, headers })).status).toBe(401);
    await send({ ...GENERATE, headers: { ...headers, ...KEY } });

    expect(seen).toEqual([CALLER_KEY, null, null]);
  });

  it("shows what a request would cost, with the derivation, and what is wrong with it", async () => {
    const { send } = openStudio({ caller: "shop" });
    const estimate = (body: unknown) => send({ method: "POST", path: "/api/estimate", body });

    const good = await estimate({ operation: "generate", fields: { ...FIELDS, n: 3 } });
    const wrong = await estimate({ operation: "generate", fields: { ...FIELDS, size: "1x1" } });

    expect(good.json).toMatchObject({ maxImages: 3, charge: { amount: "0.6", derivation: { count: 3 } } });
    expect([wrong.status, wrong.json]).toMatchObject([400, { error: { param: "size" } }]);
  });

  it.each([
    ["no operation", { fields: FIELDS }, "operation"],
    ["a native request", { operation: "native", fields: FIELDS }, "operation"],
    ["no fields", { operation: "generate" }, "fields"],
    ["a list of fields", { operation: "edit", fields: [] }, "fields"],
  ])("refuses an estimate with %s", async (_what, body, param) => {
    const { send } = openStudio({ caller: "shop" });

    const { status, json } = await send({ method: "POST", path: "/api/estimate", body });

    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });

  it("stores no prompt", async () => {
    const { send, gateway, log } = openStudio({ caller: "shop" });

    const { headers } = await send({ ...GENERATE, body: { ...FIELDS, prompt: "prompt-canary" } });
    const record = await gateway.usage.find(headers["x-request-id"] ?? "");

    expect(record).toMatchObject({ caller: "shop" });
    expect(JSON.stringify([record, log])).not.toContain("prompt-canary");
  });
});

/** Sends a request of a page of the app, whose function `caller` returns a user. */
async function postAs(gateway: Gateway, user: Caller): Promise<number> {
  const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
  const url = "http://gateway.test/v1/images/generations";
  const request = new Request(url, { method: "POST", headers, body: JSON.stringify(FIELDS) });
  return (await gateway.fetch(request, { caller: () => user })).status;
}

describe("callers", () => {
  it("are listed if a budget cannot be read, and only the log has the error of the database", async () => {
    const { send, gateway, log } = openStudio();
    vi.spyOn(gateway.budgets, "readAll").mockRejectedValue(new Error("connect database-canary:5432"));

    const { status, text } = await send({ path: "/api/callers" });

    expect([status, text]).toEqual([200, expect.stringContaining("The budget cannot be read.")]);
    expect(text).not.toContain("database-canary");
    expect(log.join()).toContain("database-canary");
  });

  it("are created with a key, changed, rotated and revoked, with the studio in the audit lines", async () => {
    const { send, gateway } = openStudio();

    const created = await send({
      method: "POST",
      path: "/api/callers",
      body: { id: "new/one", budget: { amount: "5", period: "day" }, limits: { concurrent: 2 } },
    });
    const { key } = created.json as NewKey;
    const path = "/api/callers/new%2Fone";
    const changed = await send({
      method: "PATCH",
      path,
      body: { group: "default", limits: { concurrent: 3 } },
    });
    const rotated = await send({ method: "POST", path: `${path}/rotate`, body: { overlapSeconds: 0 } });
    const revoked = await send({ method: "POST", path: `${path}/revoke` });
    const audit = await send({ path: `${path}/audit` });

    expect(created.status).toBe(201);
    expect(changed.json).toMatchObject({ limits: { concurrent: 3 }, spent: { limit: "5", left: "5" } });
    expect((rotated.json as NewKey).key).not.toBe(key);
    expect(revoked.json).toMatchObject({ state: "revoked", keys: [] });
    expect(audit.json).toMatchObject({
      lines: [
        { action: "revoke", by: "studio" },
        { action: "rotate", by: "studio" },
        { action: "change", by: "studio" },
        { action: "create", by: "studio" },
      ],
    });
    expect(JSON.stringify(await gateway.callers.list())).not.toContain(key);
  });

  it("have keys whose last requests are found in their records", async () => {
    const { send, gateway } = openStudio({ authorize: () => "viewer" });
    const { key: first } = await gateway.callers.create({ id: "two/keys" });
    const { key: second, caller } = await gateway.callers.rotate("two/keys");
    const use = (key: string) => send({ ...GENERATE, headers: { "x-calotype-studio-key": key } });
    await use(first);
    const { headers } = await use(first);
    const path = "/api/callers/two%2Fkeys/keys";
    const [old, present] = caller.keys.map(({ hint }) => hint);
    const requestId = headers["x-request-id"];
    const used = { hint: old, requestId, time: expect.any(String) };

    expect((await send({ path })).json).toEqual({ uses: [used], records: 2, isAll: true });
    await use(second);
    expect((await send({ path })).json).toMatchObject({ uses: [{ hint: present }, used], records: 3 });
  });

  it("are listed without keys, and with their budgets", async () => {
    const { send, gateway } = openStudio();
    await gateway.callers.create({ id: "a" });

    const { json, text } = await send({ path: "/api/callers" });

    expect((json as CallerRows).callers).toMatchObject([
      { id: "shop", state: "fixed", spent: { settled: "0", left: "10" } },
      { id: "a", state: "active", spent: { settled: "0" } },
    ]);
    expect(text).not.toContain(CALLER_KEY);
  });

  it("include signed-in users with the budgets of their last requests", async () => {
    const { send, gateway } = openStudio();
    const ann = { id: "ann", budget: { amount: "0.21", period: "month" } } as const;
    for (const user of [ann, { id: "bob" }]) expect(await postAs(gateway, user)).toBe(200);

    const { callers, summary, hasUsers, groups } = (await send({ path: "/api/callers" })).json as CallerRows;
    expect(callers.map(({ id, state, share }) => [id, state, share])).toEqual([
      ["user:ann", "user", 0.2 / 0.21],
      ["shop", "fixed", 0],
      ["user:bob", "user", undefined],
    ]);
    expect(callers[0]).toMatchObject({ budget: { period: "month" }, spent: { limit: "0.21", left: "0.01" } });
    expect(callers[0]).not.toHaveProperty("limitStates");
    expect([summary, hasUsers, groups]).toEqual([{ callers: 3, near: 1, empty: 0 }, true, ["default"]]);
    const bySearch = (await send({ path: "/api/callers?q=USER:B&state=user" })).json as CallerRows;
    expect(bySearch.callers).toMatchObject([{ id: "user:bob", spent: { settled: "0.2" } }]);
    expect((await send({ path: "/api/callers?group=default" })).json).toMatchObject({ matching: 1 });
    expect((await send({ path: "/api/callers/user%3Aann" })).json).toMatchObject({ share: 0.2 / 0.21 });
    expect((await send({ path: "/api/search?text=user:a" })).json).toMatchObject({ callers: ["user:ann"] });
  });

  it("say that users are missing if the ledger cannot list them", async () => {
    const ledger = createMemoryLedger();
    Reflect.deleteProperty(ledger.budgets, "accounts");
    const { send, gateway } = openStudio({}, { ledger });
    expect(await postAs(gateway, { id: "ann" })).toBe(200);

    expect((await send({ path: "/api/callers" })).json).toMatchObject({ matching: 1, hasUsers: false });
  });

  /** Callers whose ids say which part of a budget of 10 is spent. */
  async function openSpent() {
    const opened = openStudio({}, { billing: FIVES });
    const { gateway } = opened;
    for (const [id, budget] of [
      ["spent-5-of-10", "10"],
      ["spent-5-of-6", "6"],
      ["spent-5-of-5", { amount: "5", period: "month" }],
      ["spent-5", undefined],
      ["a-new", "10"],
    ] as const) {
      const { key } = await gateway.callers.create({ id, group: id === "a-new" ? "vip" : undefined, budget });
      if (id === "a-new") continue;
      const { status } = await opened.send({ ...GENERATE, headers: { "x-calotype-studio-key": key } });
      expect(status).toBe(200);
    }
    await gateway.callers.create({ id: "revoked" });
    await gateway.callers.revoke("revoked");
    return opened;
  }
  const FIVES = {
    model_details: { [MODEL]: { pricing_mode: "per-request", model_price: "5" } },
    group_ratio: { default: "1", vip: "1" },
  } as const;
  const BY_BUDGET = ["spent-5-of-5", "spent-5-of-6", "spent-5-of-10", "shop", "a-new", "spent-5", "revoked"];

  it("are listed with those first that are closest to their budgets, and the page says how many are close", async () => {
    const { send } = await openSpent();

    const { json } = await send({ path: "/api/callers" });

    const { callers, summary, groups, matching, pages } = json as CallerRows;
    expect(callers.map(({ id }) => id)).toEqual(BY_BUDGET);
    expect(callers.map(({ share }) => share)).toEqual([1, 5 / 6, 0.5, 0, 0, undefined, undefined]);
    expect(summary).toEqual({ callers: 6, near: 1, empty: 1 });
    expect([groups, matching, pages]).toEqual([["default", "vip"], 7, 1]);
  });

  it.each([
    ["?sort=budget", BY_BUDGET],
    ["?sort=spent", ["spent-5", "spent-5-of-10", "spent-5-of-5", "spent-5-of-6", "shop", "a-new", "revoked"]],
    ["?sort=id", ["shop", "a-new", "revoked", "spent-5", "spent-5-of-10", "spent-5-of-5", "spent-5-of-6"]],
    ["?q=OF-", ["spent-5-of-5", "spent-5-of-6", "spent-5-of-10"]],
    ["?q=vip", ["a-new"]],
    ["?group=vip", ["a-new"]],
    ["?group=none", []],
    ["?state=revoked", ["revoked"]],
    ["?state=fixed&q=shop", ["shop"]],
    ["?page=99&state=fixed", ["shop"]],
  ])("are selected and sorted by %s", async (query, ids) => {
    const { send } = await openSpent();

    const { callers } = (await send({ path: `/api/callers${query}` })).json as CallerRows;

    expect(callers.map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    ["sort=constructor", "sort"],
    ["state=__proto__", "state"],
    ["page=0", "page"],
    ["page=1e99", "page"],
    ["page=x", "page"],
    [`q=${"a".repeat(513)}`, "q"],
  ])("are not listed for %s", async (query, param) => {
    const { status, json } = await openStudio().send({ path: `/api/callers?${query}` });

    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });

  it("are listed in pages of 50, also thousands of them, with few reads of the ledger", async () => {
    const { send, gateway } = openStudio();
    const width = 4;
    for (let index = 0; index < 2_000; index++) {
      await gateway.callers.create({ id: `c${String(index).padStart(width, "0")}`, budget: "1" });
    }
    const list = vi.spyOn(gateway.callers, "list");
    const budgets = vi.spyOn(gateway.budgets, "readAll");

    const first = (await send({ path: "/api/callers?sort=id" })).json as CallerRows;
    const last = (await send({ path: "/api/callers?sort=id&page=41" })).json as CallerRows;

    expect([first.callers.length, first.matching, first.pages]).toEqual([50, 2_001, 41]);
    expect(last.callers.map(({ id }) => id)).toEqual(["c1999"]);
    // The second page is of the same list. The first call of `readAll` is for the options.
    expect([list.mock.calls.length, budgets.mock.calls.length]).toEqual([2, 3]);
    await send({ method: "PATCH", path: "/api/callers/c1999", body: { budget: null } });
    await send({ path: "/api/callers" });
    expect(list).toHaveBeenCalledTimes(4);
  });

  it("are shown alone, also if the list does not have them on its page", async () => {
    const { send, gateway } = openStudio();
    await gateway.callers.create({ id: "a/b", limits: { requestsPerMinute: 3 } });

    expect((await send({ path: "/api/callers/a%2Fb" })).json).toMatchObject({
      state: "active",
      keys: [{}],
      limitStates: [{ name: "requests", limit: 3, used: 0, remaining: 3 }],
    });
    expect((await send({ path: "/api/callers/shop" })).json).toMatchObject({ state: "fixed" });
    expect((await send({ path: "/api/callers/none" })).json).toMatchObject({
      error: { code: "caller_not_found" },
    });
  });

  it("show how close they are to their limits", async () => {
    const { send } = openStudio({}, { limits: { requestsPerMinute: 1, concurrent: 2 } });
    await send({ ...GENERATE, headers: KEY });

    expect((await send({ path: "/api/callers" })).json).toMatchObject({
      callers: [
        {
          id: "shop",
          limitStates: [
            { name: "requests", used: 1, remaining: 0, resetsAt: expect.any(Number) },
            { name: "concurrent", used: 0, remaining: 2 },
          ],
        },
      ],
    });
  });

  it("are listed if limits are not known or cannot be read", async () => {
    const { send, gateway } = openStudio();
    const read = vi.spyOn(gateway.limits, "read").mockResolvedValue(undefined);
    expect((await send({ path: "/api/callers" })).json).toMatchObject({ callers: [{ limitStates: null }] });
    read.mockRejectedValue(new Error("store-canary:6379"));
    const { json, text } = await send({ path: "/api/callers" });
    expect((json as CallerRows).callers[0]).not.toHaveProperty("limitStates");
    expect(text).not.toContain("store-canary");
  });

  it("with two keys in the options are listed once, with the key that is valid", async () => {
    const callers = [
      { id: "shop", key: "old-canary-0c5d1be2a7f3", expiresAt: "2020-01-01T00:00:00Z" },
      { id: "shop", key: CALLER_KEY },
    ];
    const { send } = openStudio({}, { callers });

    expect(((await send({ path: "/api/callers" })).json as CallerRows).callers).toEqual([
      { id: "shop", state: "fixed", spent: { settled: "0", held: "0" }, limitStates: [] },
    ]);
  });

  it("cannot be created if the ledger keeps none, and the page knows", async () => {
    const memory = createMemoryLedger();
    // What is particular to callers is left out.
    const ledger: Ledger = {
      hold: (hold) => memory.hold(hold),
      settle: (record) => memory.settle(record),
      release: (id) => memory.release(id),
      sweep: (options) => memory.sweep(options),
      balance: (caller) => memory.balance(caller),
      records: (filter) => memory.records(filter),
      totals: (by, filter) => memory.totals(by, filter),
      takeUndelivered: (limit, leaseMs) => memory.takeUndelivered(limit, leaseMs),
      markDelivered: (records) => memory.markDelivered(records),
    };
    const { send } = openStudio({}, { ledger });

    const { json } = await send({ path: "/api/callers" });
    const created = await send({ method: "POST", path: "/api/callers", body: { id: "a" } });

    expect(json).toMatchObject({ canCreate: false, callers: [{ id: "shop" }] });
    expect([created.status, created.json]).toMatchObject([
      400,
      { error: { message: expect.stringContaining("keeps no callers") } },
    ]);
  });

  it.each([
    ["POST", "", { id: "shop" }, 409, "caller_exists"],
    ["POST", "", { id: "" }, 400, "invalid_request_error"],
    ["POST", "", { id: ".." }, 400, "invalid_request_error"],
    ["POST", "", { id: "a", budget: "many" }, 400, "invalid_request_error"],
    ["POST", "", { id: "a", __proto__: null, hash: "x" }, 400, "invalid_request_error"],
    ["PATCH", "/none", { group: "default" }, 404, "caller_not_found"],
    ["PATCH", "/shop", { group: "default" }, 404, "caller_not_found"],
    ["POST", "/none/rotate", {}, 404, "caller_not_found"],
    ["POST", "/none/rotate", { overlapSeconds: "1" }, 400, "invalid_request_error"],
    ["POST", "/none/revoke", {}, 404, "caller_not_found"],
    ["PATCH", "/none", { limits: { concurrent: {} } }, 400, "invalid_request_error"],
    ["PATCH", "/none", { limits: { concurrent: "many" } }, 400, "invalid_request_error"],
    ["PATCH", "/none", { limits: "unset" }, 400, "invalid_request_error"],
  ])("%s callers%s with %j gets %i", async (method, below, body, status, code) => {
    const { send } = openStudio();

    const response = await send({ method, path: `/api/callers${below}`, body });

    expect([response.status, response.json]).toMatchObject([status, { error: { code } }]);
  });
});

describe("channels", () => {
  it("are shown with their state, and probed", async () => {
    const { send } = openStudio();

    expect((await send({ path: "/api/status" })).json).toMatchObject({
      channels: [{ id: "ark", state: "ready" }],
    });
    const { json } = await send({ method: "POST", path: "/api/channels/ark/probe" });
    expect(json).toMatchObject({ channel: "ark", ok: true, keys: [{ ok: true, images: 1 }] });
  });

  it("are paused with an end and a note, and resumed", async () => {
    const { send, gateway, emulator } = openStudio({ caller: "shop" });
    const body = { seconds: 60, note: "Checking." };

    const paused = await send({ method: "POST", path: "/api/channels/ark/pause", body });
    expect(paused.json).toMatchObject({
      id: "ark",
      state: "paused",
      pause: { by: "studio", note: "Checking." },
    });
    expect((await send(GENERATE)).json).toMatchObject({ error: { code: "model_paused" } });
    expect(emulator.requests).toEqual([]);
    const resumed = await send({ method: "POST", path: "/api/channels/ark/resume" });
    expect(resumed.json).toMatchObject({ id: "ark", state: "ready" });
    expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
    expect((await send(GENERATE)).status).toBe(200);
  });

  it("say what a probe would request, and which models a pause would leave without a channel", async () => {
    const channel = { family: "seedream", apiKey: "a" };
    const { send, gateway, emulator } = openStudio(
      {},
      {
        models: { [MODEL]: { family: "seedream" }, other: { family: "seedream" } },
        channels: [
          { ...channel, id: "one" },
          { ...channel, id: "two", apiKey: ["a", "b"], modelMapping: { [MODEL]: "ep-1" } },
        ],
        billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.2" } } },
      },
    );
    const plan = async (id: string): Promise<unknown> =>
      (await send({ path: `/api/channels/${id}/plan` })).json;

    expect(await plan("one")).toMatchObject({ probe: { images: 1, model: MODEL }, only: ["other"] });
    expect(await plan("two")).toEqual({
      probe: {
        channel: "two",
        images: 2,
        model: MODEL,
        models: [{ model: MODEL, upstreamModel: "ep-1", charge: "0.2" }],
        series: [],
      },
      only: [],
    });
    await gateway.pauseChannel("one");
    expect(await plan("two")).toMatchObject({ only: [MODEL] });
    expect(emulator.requests).toEqual([]);
  });

  it.each([
    ["POST", "none/probe", {}, 404],
    ["POST", "ark/probe", { model: "none" }, 404],
    ["POST", "ark/probe", { model: 7 }, 400],
    ["GET", "none/plan", {}, 404],
    ["POST", "none/pause", {}, 404],
    ["POST", "none/resume", {}, 404],
    ["POST", "ark/pause", { seconds: "60" }, 400],
    ["POST", "ark/pause", { seconds: -1 }, 400],
    ["POST", "ark/pause", { note: 7 }, 400],
    ["POST", "ark/pause", { note: "x".repeat(513) }, 400],
  ])("%s %s with %j gets %i", async (method, path, body, status) => {
    const { send, gateway } = openStudio();

    expect((await send({ method, path: `/api/channels/${path}`, body })).status).toBe(status);
    expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
  });

  it("are neither probed nor paused by a viewer or from another site", async () => {
    const viewer = openStudio({ authorize: () => "viewer" });
    const other = openStudio();
    for (const [method, path] of [
      ["POST", "pause"],
      ["POST", "resume"],
      ["POST", "probe"],
      ["GET", "plan"],
    ] as const) {
      const sent = { method, path: `/api/channels/ark/${path}` };
      expect([path, (await viewer.send(sent)).status]).toEqual([path, 403]);
      const headers = { "sec-fetch-site": "cross-site" };
      expect([path, (await other.send({ ...sent, headers })).status]).toEqual([path, 403]);
    }
    expect(other.gateway.status().channels).toMatchObject([{ state: "ready" }]);
  });
});

describe("hostile strings", () => {
  it.each(HOSTILE)("%s comes back as JSON only, never as markup", async (text) => {
    const { send } = openStudio({ caller: "shop" });
    const encoded = encodeURIComponent(text);

    const responses = await Promise.all([
      send({ ...GENERATE, body: { model: text, prompt: text } }),
      send({ method: "POST", path: "/api/callers", body: { id: text, group: text } }),
      send({ method: "POST", path: `/api/channels/${encoded}/probe`, body: { model: text } }),
      send({ path: `/api/requests/${encoded}` }),
      send({ path: `/api/${encoded}` }),
    ]);

    for (const { headers } of responses) {
      expect(headers["content-type"]).toMatch(/^application\/json/);
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  it.each(HOSTILE)("%s in the address does not reach the HTML", async (text) => {
    const { text: html } = await openStudio().send({ path: `/callers?caller=${text}` });

    expect(html).not.toContain(text);
  });
});

describe("bodies", () => {
  it.each([
    ["no JSON", "{", {}],
    ["a list", "[]", {}],
    ["null", "null", {}],
    ["a form", "id=a", { "content-type": "application/x-www-form-urlencoded" }],
    ["plain text, which a form of another site can send", '{"id":"a"}', { "content-type": "text/plain" }],
  ])("with %s are refused", async (_what, body, headers) => {
    const { send } = openStudio();

    expect((await send({ method: "POST", path: "/api/callers", body, headers })).status).toBe(400);
  });

  it.each([
    [262_144, 201, "a"],
    [262_145, 400, "The body must have at most 262144 bytes."],
  ])("of %d bytes get a %d", async (bytes, expected, text) => {
    const { send } = openStudio();

    const sent = await send({ method: "POST", path: "/api/callers", body: '{"id":"a"}'.padEnd(bytes) });

    expect(sent.status).toBe(expected);
    expect(sent.text).toContain(text);
  });

  it("that a parser of the host has read are used", async () => {
    const { studio } = openStudio();
    const cookie = await openSession(studio);
    const parsed: CallerRow[] = [];
    for (const parsedBody of [{ id: "a" }, '{"id":"b"}', new TextEncoder().encode('{"id":"c"}')]) {
      const headers = new Headers({
        host: "localhost",
        cookie,
        "sec-fetch-site": "same-origin",
        "x-calotype-studio": "1",
        "content-type": "application/json",
      });
      const request = { method: "POST", url: "/studio/api/callers", headers, body: null, parsedBody };
      const signal = new AbortController().signal;
      const response = await studio.handle({ ...request, signal, clientAddress: () => "127.0.0.1" });
      parsed.push((JSON.parse(response?.body as string) as NewKey).caller);
    }

    expect(parsed.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });
});

it.each(["/api/none", "/api/", "/api/callers/", "/api/callers/%E0%A4%A/audit", "/api/callers/a/b/c"])(
  "%s gets a 404",
  async (path) => {
    expect((await openStudio().send({ path })).status).toBe(404);
  },
);
