import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { CallerOptions } from "../../auth/authenticate.js";
import type { UsageRecord } from "../../billing/records.js";
import { GatewayError } from "../../errors.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { createOpenStreams } from "../../testing/open-streams.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createPost,
  createTestGateway,
  type Provider,
  refusedConnection,
} from "../../testing/test-gateway.js";
import type { Caller } from "../../types.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { BudgetAlert } from "./budget-store.js";

const BODY = { model: "doodle", prompt: "a fox" };
const FAR = "2099-01-01T00:00:00Z";

const open = (budget: string, provider?: Provider) =>
  createTestGateway(provider, {
    callers: [{ id: "me", key: CALLER_KEY, budget, expiresAt: FAR }],
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
  });

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

describe("a budget", () => {
  it("for a hundred lets exactly a hundred of a thousand parallel requests pass", async () => {
    const { gateway, post, calls } = open("10", async () => {
      await tick();
      return Response.json(ARK_RESPONSE);
    });
    const responses = await Promise.all(Array.from({ length: 1_000 }, () => post(BODY)));
    const passed = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status === 403);
    expect([passed.length, refused.length, calls.length]).toEqual([100, 900, 100]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "10", held: "0" });
    expect(await gateway.usage.totals("caller")).toEqual([
      { key: "me", requests: 100, images: 100, charge: "10", unresolved: 0 },
    ]);
  });

  it("that a request may exceed refuses it for good, with nothing sent or held", async () => {
    const { gateway, post, calls, records } = open("0.25");
    const { status, headers, body } = await post({ ...BODY, n: 3 });
    expect(status).toBe(403);
    expect(body).toEqual({
      error: {
        message: "The budget does not cover what this request may cost.",
        type: "insufficient_quota",
        code: "insufficient_quota",
        param: null,
      },
    });
    expect(headers.get("x-should-retry")).toBe("false");
    expect([calls, records]).toEqual([[], []]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
    expect((await post({ ...BODY, n: 2 })).status).toBe(200);
  });

  it.each(["post", "postNative"] as const)(
    "covers every layer of a decomposition before it is sent, and is charged those that came (%s)",
    async (send) => {
      const layers = { ...BODY, image: "https://example.com/a.png", layer_decomposition: true };
      const made = { data: Array.from({ length: 17 }, () => ({ url: "https://ark.test/1.png" })) };
      const provider: Provider = () => Response.json({ ...made, usage: { generated_images: 17 } });
      // The model has no row, so the most layers of any model are held: 99.
      const tooSmall = open("9.99", provider);
      expect((await tooSmall[send](layers)).status).toBe(403);
      expect(tooSmall.calls).toEqual([]);

      const enough = open("10", provider);
      expect((await enough[send](layers)).status).toBe(200);
      expect(enough.records).toMatchObject([{ images: 17, charge: "1.7" }]);
      expect(enough.records[0]).not.toHaveProperty("reportedUsage");
    },
  );

  it("is charged for the images that were made, and the rest of the hold is free again", async () => {
    const { gateway, post } = open("0.3");
    expect((await post({ ...BODY, n: 3 })).status).toBe(200);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.1", held: "0" });
    expect((await post({ ...BODY, n: 2 })).status).toBe(200);
    expect((await post({ ...BODY, n: 2 })).status).toBe(403);
  });

  it("is whole again after a request that failed", async () => {
    const { post, gateway } = open("0.1", () => Promise.reject(new Error("broken")));
    await post(BODY);
    const { settled, held } = await gateway.usage.balance("me");
    expect([settled, held]).toEqual(["0", "0"]);
  });

  it("is held by a stream until it ends, also when the client left", async () => {
    const streams = createOpenStreams();
    const { gateway, post } = open("0.1", streams.provider);
    const stream = await gateway.fetch(createPost({ ...BODY, stream: true }));
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0.1" });
    await stream.body?.cancel();
    expect((await post(BODY)).status).toBe(403);
    streams.finish();
    await expect.poll(() => gateway.usage.balance("me")).toEqual({ settled: "0.1", held: "0" });
  });
});

describe("a refusal for the budget", () => {
  it("gives the request's place and its idempotency key back", async () => {
    const { post, gateway } = createTestGateway(undefined, {
      callers: [{ id: "me", key: CALLER_KEY, budget: "0.1", limits: { concurrent: 1 } }],
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    });
    const key = { "idempotency-key": "one" };
    expect((await post({ ...BODY, n: 2 }, key)).status).toBe(403);
    expect((await post(BODY, key)).status).toBe(200);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.1", held: "0" });
  });
});

describe("a name that no ledger can keep", () => {
  it("as the id that authenticate gives is a 500 before anything is sent or held, and the log says why", async () => {
    const { gateway, post, calls, logs } = createTestGateway(undefined, {
      callers: undefined,
      authenticate: () => ({ id: "x".repeat(2_630) }),
    });
    const { status, body } = await post(BODY);
    expect(status).toBe(500);
    expect(body).toMatchObject({ error: { code: "internal_error" } });
    expect(logs).toMatchObject([
      { fields: { err: { message: expect.stringContaining("a string of at most 512 bytes") as string } } },
    ]);
    expect(calls).toEqual([]);
    expect(await gateway.usage.balance("x".repeat(2_630))).toEqual({ settled: "0", held: "0" });
  });

  it("as a model of a series is a 404", async () => {
    const { post, calls } = createTestGateway();
    expect((await post({ model: `image-2.0${"图".repeat(170)}`, prompt: "x" })).status).toBe(404);
    expect(calls).toEqual([]);
  });
});

describe("a request that is refused after a sweep ended its hold, as in a process that was paused", () => {
  it.each<[by: string, "released" | "settled", Partial<GatewayOptions>, Provider?]>([
    [
      "by beforeSend",
      "released",
      {
        beforeSend: () => {
          throw new GatewayError("model_not_allowed", "Not today.");
        },
      },
    ],
    ["because no provider was reached", "released", {}, () => Promise.reject(refusedConnection())],
    [
      "by the provider",
      "settled",
      {},
      () => Response.json({ error: { code: "InvalidParameter", message: "no" } }, { status: 400 }),
    ],
  ])("is not charged: %s", async (_by, state, options, provider = () => Response.json(ARK_RESPONSE)) => {
    const ledger = createMemoryLedger();
    const delivered: UsageRecord[] = [];
    const sweep = async (): Promise<void> => {
      const swept = await ledger.sweep({ onLost: "charge", own: true });
      await ledger.markDelivered(swept);
    };
    const { gateway, post } = createTestGateway(
      async (call) => {
        await sweep();
        return await provider(call);
      },
      {
        callers: [{ id: "me", key: CALLER_KEY, budget: "0.1" }],
        billing: {
          model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } },
          onLost: "charge",
        },
        ledger,
        onUsage: (record) => void delivered.push(record),
        ...options,
        ...(options.beforeSend && {
          beforeSend: async (...given) => {
            await sweep();
            await options.beforeSend?.(...given);
          },
        }),
      },
    );
    const { status } = await post(BODY);
    expect(status).toBeGreaterThanOrEqual(400);
    await gateway.close();

    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    expect(delivered.at(-1)).toMatchObject({ state, charge: "0" });
  });
});

describe("a budget with a period", () => {
  const DAILY = { amount: "0.2", period: "day", timeZone: "America/Sao_Paulo" } as const;
  /** 2018-11-04 has no midnight in São Paulo: the day begins at 01:00 there. */
  const MIDNIGHT = Date.parse("2018-11-04T03:00:00Z");

  function openDaily(options: Partial<GatewayOptions> = {}, budget: CallerOptions["budget"] = DAILY) {
    let now = MIDNIGHT - 1;
    const opened = createTestGateway(undefined, {
      ledger: createMemoryLedger({ now: () => now }),
      callers: [{ id: "me", key: CALLER_KEY, budget }],
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
      ...options,
    });
    return { ...opened, pass: (ms: number) => (now += ms) };
  }

  it("begins anew at the edge of the period, and the sums over all time go on", async () => {
    const { gateway, post, pass } = openDaily();
    const statuses = async (): Promise<number[]> => [
      (await post(BODY)).status,
      (await post(BODY)).status,
      (await post(BODY)).status,
    ];
    expect(await statuses()).toEqual([200, 200, 403]);
    pass(1);
    expect(await gateway.budgets.read({ id: "me", budget: DAILY })).toEqual({
      settled: "0",
      held: "0",
      limit: "0.2",
      left: "0.2",
      from: MIDNIGHT,
      to: MIDNIGHT + 23 * 3_600_000,
    });
    expect(await statuses()).toEqual([200, 200, 403]);
    expect(await gateway.budgets.list()).toMatchObject([{ settled: "0.2" }, { settled: "0.2" }]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.4", held: "0" });
    expect(await gateway.budgets.read({ id: "me", budget: "1" })).toEqual({
      settled: "0.4",
      held: "0",
      limit: "1",
      left: "0.6",
    });
    expect(await gateway.budgets.read({ id: "me" })).toEqual({ settled: "0.4", held: "0" });
  });

  it.each(["at once", "one by one"])("is read for many callers as for each of them, %s", async (way) => {
    const ledger = createMemoryLedger();
    if (way === "one by one") Reflect.deleteProperty(ledger.budgets, "balances");
    const { gateway, post } = openDaily({ ledger });
    await post(BODY);
    const others = Array.from({ length: 1_100 }, (_, index) => ({ id: `c${index}`, budget: "3" }));
    const callers = [
      { id: "none", budget: DAILY },
      { id: "me", budget: DAILY },
      ...others,
      { id: "me", budget: { amount: "0.05", period: "total" } as const },
      { id: "me" },
    ];

    const statuses = await gateway.budgets.readAll(callers);

    expect(statuses).toEqual(await Promise.all(callers.map((caller) => gateway.budgets.read(caller))));
    expect(statuses[1]).toMatchObject({ settled: "0.1", left: "0.1" });
    expect(statuses.at(-2)).toEqual({ settled: "0.1", held: "0", limit: "0.05", left: "0" });
    await expect(gateway.budgets.readAll([{ id: "me", budget: "many" }])).rejects.toThrow(RangeError);
  });

  it("is listed for signed-in users, in pages, in the present period of their last budget", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: MIDNIGHT - 1 });
    onTestFinished(() => void vi.useRealTimers());
    const ledger = createMemoryLedger();
    const { gateway } = createTestGateway(undefined, {
      ledger,
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    });
    const post = async (caller: Caller): Promise<number> => {
      const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
      const url = "http://gateway.test/v1/images/generations";
      const request = new Request(url, { method: "POST", headers, body: JSON.stringify(BODY) });
      return (await gateway.fetch(request, { caller: () => caller })).status;
    };
    const users: readonly Caller[] = [
      { id: "ann", budget: DAILY },
      { id: "bob", budget: "0.1" },
      { id: "eve" },
    ];
    for (const user of users) expect(await post(user)).toBe(200);
    const bob = {
      id: "user:bob",
      budget: "0.1",
      spent: { settled: "0.1", held: "0", limit: "0.1", left: "0" },
    };
    const eve = { id: "user:eve", spent: { settled: "0.1", held: "0" } };

    const first = await gateway.budgets.listUsers({ limit: 2 });
    expect(first).toEqual({
      users: [{ id: "user:ann", budget: DAILY, spent: expect.objectContaining({ settled: "0.1" }) }, bob],
      next: "user:bob",
    });
    expect(await gateway.budgets.listUsers({ limit: 2, after: first.next })).toEqual({ users: [eve] });
    vi.setSystemTime(MIDNIGHT);
    expect((await gateway.budgets.listUsers()).users[0]?.spent).toEqual({
      settled: "0",
      held: "0",
      limit: "0.2",
      left: "0.2",
      from: MIDNIGHT,
      to: MIDNIGHT + 23 * 3_600_000,
    });
    await expect(gateway.budgets.listUsers({ limit: 0 })).rejects.toThrow(RangeError);
    Reflect.deleteProperty(ledger.budgets, "accounts");
    await expect(gateway.budgets.listUsers()).rejects.toThrow(TypeError);
  });

  it("calls onBudget once for each threshold, and again if it failed", async () => {
    const alerts: BudgetAlert[] = [];
    const onBudget = vi.fn<(alert: BudgetAlert) => void>((alert) => {
      if (onBudget.mock.calls.length === 1) throw new Error("not now");
      alerts.push(alert);
    });
    const { gateway, post, pass } = openDaily({ onBudget });
    await Promise.all([post(BODY), post(BODY)]);
    await vi.waitFor(() => expect(onBudget).toHaveBeenCalledTimes(3));
    pass(60_000);
    await gateway.close();
    expect(alerts.map(({ threshold }) => threshold)).toEqual([80, 100, 50]);
    expect(alerts[0]).toMatchObject({ caller: "me", budget: "0.2", period: { unit: "day" } });
  });

  it.each([
    [{ amount: "1", period: "year" }, "callers[0].budget.period must be day, week, month or total"],
    [{ amount: "-1", period: "day" }, "callers[0].budget.amount must be a decimal"],
    [{ amount: "1", period: "day", timeZone: "Mars" }, "callers[0].budget.timeZone must be the name"],
    [{ amount: "1", period: "total", timeZone: "UTC" }, "callers[0].budget.timeZone has no effect"],
    [{ amount: "1", period: "day", zone: "UTC" }, "callers[0].budget.zone is not a field"],
  ])("is refused at startup if it is wrong: %j", (budget, message) => {
    // @ts-expect-error These budgets are wrong.
    expect(() => openDaily({}, budget)).toThrow(message);
  });

  it("needs a ledger that counts by period, and so does onBudget", async () => {
    const { budgets: _budgets, ...ledger } = createMemoryLedger();
    expect(() => openDaily({ ledger })).toThrow("callers[0].budget.period needs a ledger");
    expect(() => openDaily({ ledger, onBudget: () => undefined }, "1")).toThrow("onBudget needs a ledger");
    const { gateway } = openDaily({ ledger }, { amount: "1", period: "total" });
    await expect(gateway.budgets.list()).rejects.toThrow(TypeError);
    const ofOperator = openDaily({
      ledger,
      callers: undefined,
      authenticate: () => ({ id: "me", budget: DAILY }),
    });
    expect((await ofOperator.post(BODY)).status).toBe(500);
  });
});
