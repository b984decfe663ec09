import { describe, expect, it, vi } from "vitest";
import { GatewayError } from "./errors.js";
import { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
import type { AdmissionStore } from "./features/limits/store.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import type { Ledger } from "./features/usage/usage-reports.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { CALLER_KEY, createTestGateway, type Provider } from "./testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a fox" };
const KEY = { "idempotency-key": "one" };
const DOWN = new Error("the store is down");
const UNAVAILABLE = { status: 503, body: { error: { code: "gateway_unavailable", type: "server_error" } } };

/** The ways in which a method that should give a promise fails. */
const FAILURES: readonly (readonly [string, () => Promise<never>])[] = [
  ["rejects", () => Promise.reject(DOWN)],
  [
    "throws",
    () => {
      throw DOWN;
    },
  ],
];

const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const busy: Provider = () => Response.json({ error: { code: "RateLimitExceeded" } }, { status: 429 });

function open(
  admission: Partial<AdmissionStore>,
  options: Partial<GatewayOptions> = {},
  provider?: Provider,
) {
  const store = { ...createMemoryAdmissionStore(), ...admission };
  return createTestGateway(provider, { admission: store, limits: { concurrent: 1 }, ...options });
}

describe("an admission store", () => {
  it.each(FAILURES)("that cannot be asked is a 503, with nothing sent: it %s", async (_what, admit) => {
    const { post, calls, records, logs } = open({ admit });
    for (const _ of [1, 2]) {
      const response = await post(BODY);
      expect(response).toMatchObject(UNAVAILABLE);
      expect(response.headers.get("retry-after")).toBe("5");
      expect(response.text).not.toContain("store is down");
      const requestId = response.headers.get("x-request-id");
      expect(logs.at(-1)).toMatchObject({ level: "error", fields: { requestId, err: DOWN } });
    }
    expect([calls, records]).toEqual([[], []]);
  });

  it("that throws a GatewayError chooses the response, and nothing is logged", async () => {
    const { post, calls, logs } = open({
      admit: () => Promise.reject(new GatewayError("overloaded", "Come back at noon.")),
    });
    expect(await post(BODY)).toMatchObject({
      status: 503,
      body: { error: { message: "Come back at noon." } },
    });
    expect([calls, logs]).toEqual([[], []]);
  });

  it.each(FAILURES)("that takes no end costs the client nothing: it %s", async (_what, finish) => {
    const { post, logs, records } = open({ finish });
    const response = await post(BODY, KEY);
    expect(response.status).toBe(200);
    const requestId = response.headers.get("x-request-id");
    expect(logs).toMatchObject([{ fields: { requestId, err: DOWN } }]);
    expect(records).toHaveLength(1);
  });

  it.each(FAILURES)("that takes no cooldown breaks no request: it %s", async (_what, setCooldown) => {
    const { post, logs } = open({ setCooldown }, {}, busy);
    expect((await post(BODY)).status).toBe(429);
    await expect.poll(() => logs).toContainEqual(expect.objectContaining({ fields: { err: DOWN } }));
  });

  it("far away has a request's place free when its refusal arrives", async () => {
    const own = createMemoryAdmissionStore();
    const { post } = open(
      {
        admit: (request) => later().then(() => own.admit(request)),
        finish: (request, outcome) => later().then(() => own.finish(request, outcome)),
      },
      {
        callers: [{ id: "me", key: CALLER_KEY, budget: "0.2" }],
        billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
      },
    );
    const responses = [
      await post({ ...BODY, n: 3 }, KEY),
      await post(BODY, KEY),
      await post({ ...BODY, seed: 1 }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([403, 200, 200]);
  });
});

describe("a ledger", () => {
  it.each(FAILURES)("that takes no hold is a 503, with nothing sent: it %s", async (_what, hold) => {
    const { post, calls } = open({}, { ledger: { ...createMemoryLedger(), hold } });
    for (const _ of [1, 2]) expect(await post(BODY, KEY)).toMatchObject(UNAVAILABLE);
    expect(calls).toEqual([]);
  });

  it("that is well again lets the same request run", async () => {
    const own = createMemoryLedger();
    let failures = 1;
    const ledger: GatewayOptions["ledger"] = {
      ...own,
      hold: async (hold) => {
        if (failures-- > 0) throw DOWN;
        return own.hold(hold);
      },
    };
    const { post, records } = open({}, { ledger });
    expect((await post(BODY, KEY)).status).toBe(503);
    expect((await post(BODY, KEY)).status).toBe(200);
    expect(records).toHaveLength(1);
  });

  it("that takes no release keeps no failure for a repeat that nothing was sent for", async () => {
    let isRefusing = true;
    const release = vi.fn<Ledger["release"]>(() => Promise.reject(DOWN));
    const { post, logs } = open(
      {},
      {
        ledger: { ...createMemoryLedger(), release },
        beforeSend: () => {
          if (isRefusing) throw new GatewayError("request_refused", "Not now.");
        },
      },
    );
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const refused = post(BODY, KEY);
    while (release.mock.calls.length < 5) await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect((await refused).status).toBe(403);
    expect(logs).toMatchObject([{ level: "error", fields: { err: DOWN } }]);
    isRefusing = false;
    expect((await post(BODY, KEY)).status).toBe(200);
  });

  it.each<["settle" | "release", string, string]>([
    ["settle", "0.1", "200"],
    ["release", "0", "500"],
  ])("that takes a %s too late has it all the same, with no hold lost", async (method, settled, status) => {
    const own = createMemoryLedger();
    let failures = 5;
    const write = vi.fn<(given: never) => Promise<void>>(async (given) => {
      if (failures-- > 0) throw DOWN;
      await own[method](given);
    });
    const { post, gateway, unresolved } = open(
      {},
      {
        ledger: { ...own, [method]: write },
        billing: {
          model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } },
          onLost: "charge",
        },
        ...(method === "release" && { beforeSend: () => Promise.reject(DOWN) }),
      },
    );
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const response = post(BODY);
    while (write.mock.calls.length < 5) await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect(String((await response).status)).toBe(status);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0.1" });
    await gateway.close();
    await own.sweep({ onLost: "charge", own: true });
    expect(await gateway.usage.balance("me")).toEqual({ settled, held: "0" });
    expect(unresolved).toEqual([]);
  });
});
