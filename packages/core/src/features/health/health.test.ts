import { afterEach, describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { CALLER_KEY, createTestGateway, type Provider } from "../../testing/test-gateway.js";
import { createMemoryAdmissionStore } from "../limits/memory-store.js";
import type { AdmissionStore } from "../limits/store.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { Ledger } from "../usage/usage-reports.js";

const HEALTHZ = "http://gateway.test/healthz";
const OK = { ledger: "ok", store: "ok", channels: "ok" };
const DOWN = new Error("the store is down");
const hang = (): Promise<never> => new Promise(() => {});

interface Parts {
  readonly ledger?: Partial<Ledger>;
  readonly admission?: Partial<AdmissionStore>;
  readonly options?: Partial<GatewayOptions>;
  readonly provider?: Provider;
}

function open({ ledger, admission, options, provider }: Parts = {}) {
  const test = createTestGateway(provider, {
    healthz: true,
    ledger: { ...createMemoryLedger(), ...ledger },
    admission: { ...createMemoryAdmissionStore(), ...admission },
    ...options,
  });
  const get = async (init?: RequestInit) => {
    const response = await test.gateway.fetch(new Request(HEALTHZ, init));
    const text = await response.text();
    const body: unknown = text === "" ? "" : JSON.parse(text);
    return { status: response.status, headers: response.headers, body };
  };
  return { ...test, get };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("GET /healthz", () => {
  it("is not served without the option", async () => {
    const { get } = open({ options: { healthz: false } });
    expect(await get()).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  });

  it("says without a key that all parts work, and nothing else", async () => {
    const { get } = open();
    const { status, headers, body } = await get();
    expect({ status, body }).toEqual({ status: 200, body: OK });
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_/),
    });
  });

  it("responds to HEAD without a body, and refuses other methods", async () => {
    const { get } = open();
    expect(await get({ method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    const refused = await get({ method: "POST", body: "{}" });
    expect(refused).toMatchObject({ status: 405, body: { error: { code: "method_not_allowed" } } });
    expect(refused.headers.get("allow")).toBe("GET");
  });

  const FAILURES: readonly (readonly [string, () => Promise<never>])[] = [
    ["rejects", () => Promise.reject(DOWN)],
    ["rejects with nothing", () => Promise.reject()],
    [
      "throws",
      () => {
        throw DOWN;
      },
    ],
    ["hangs", hang],
  ];
  it.each(FAILURES)(
    "says that the ledger is failing if it %s, and keeps the reason to itself",
    async (_how, balance) => {
      const { get, gateway, logs } = open({ ledger: { balance } });
      expect(gateway.status().ledger).toEqual({ state: "unknown" });
      expect(await get()).toMatchObject({ status: 200, body: { ...OK, ledger: "failing" } });
      expect(await get()).toMatchObject({ body: { ...OK, ledger: "failing" } });
      expect(gateway.status()).toMatchObject({
        ledger: { state: "failing", checkedAt: expect.stringMatching(/Z$/) },
        store: { state: "ok" },
      });
      expect(logs.map(({ message }) => message)).toEqual(["The health check of the ledger failed."]);
    },
  );

  it.each(FAILURES)("says that the admission store is failing if it %s", async (_how, fail) => {
    const both = [open({ admission: { admit: fail } }).get(), open({ admission: { ping: fail } }).get()];
    for (const { body } of await Promise.all(both)) expect(body).toEqual({ ...OK, store: "failing" });
  });

  it("asks a store that has a function for it, and no other", async () => {
    const admit = vi.fn<() => Promise<never>>(hang);
    const ping = vi.fn<() => Promise<void>>(async () => {});
    expect((await open({ admission: { admit, ping } }).get()).body).toEqual(OK);
    expect([admit.mock.calls.length, ping.mock.calls.length]).toEqual([0, 1]);
  });

  it("takes nothing of a store without such a function", async () => {
    const admission = createMemoryAdmissionStore();
    const { get } = open({ admission, options: { limits: { concurrent: 1, requestsPerMinute: 1 } } });
    for (const _ of [1, 2, 3]) expect((await get()).body).toEqual(OK);
    const admitted = await admission.admit({
      id: "a",
      caller: "calotype-healthz",
      windows: [{ name: "requests", key: "x", limit: 1, windowMs: 60_000, cost: 1 }],
      concurrency: [{ key: "x", limit: 1, leaseMs: 60_000 }],
      channels: [],
    });
    expect(admitted.kind).toBe("admitted");
  });

  it("makes one check for all requests of a second", async () => {
    vi.useFakeTimers();
    const balance = vi.fn<Ledger["balance"]>(async () => ({ settled: "0", held: "0" }));
    const { get } = open({ ledger: { balance } });
    await Promise.all(Array.from({ length: 100 }, () => get()));
    await get();
    expect(balance).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await get();
    expect(balance).toHaveBeenCalledTimes(2);
  });

  it("asks a ledger that hangs again after 10 s only, and does not wait for it in the meantime", async () => {
    vi.useFakeTimers();
    const balance = vi.fn<() => Promise<never>>(hang);
    const { get, logs } = open({ ledger: { balance } });
    const first = Promise.all(Array.from({ length: 100 }, () => get()));
    await vi.advanceTimersByTimeAsync(800);
    for (const { body } of await first) expect(body).toEqual({ ...OK, ledger: "failing" });
    for (let second = 0; second < 9; second++) {
      expect((await get()).body).toEqual({ ...OK, ledger: "failing" });
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(balance).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1_000);
    const later = get();
    await vi.advanceTimersByTimeAsync(800);
    await later;
    expect(balance).toHaveBeenCalledTimes(2);
    expect(logs).toHaveLength(1);
  });

  it("says that a ledger works again, also after a late response", async () => {
    vi.useFakeTimers();
    const late = Promise.withResolvers<{ settled: string; held: string }>();
    const { get, logs, gateway } = open({ ledger: { balance: () => late.promise } });
    const first = get();
    await vi.advanceTimersByTimeAsync(800);
    expect((await first).body).toEqual({ ...OK, ledger: "failing" });
    late.resolve({ settled: "0", held: "0" });
    await vi.advanceTimersByTimeAsync(0);
    expect(gateway.status().ledger.state).toBe("ok");
    expect((await get()).body).toEqual(OK);
    expect(logs.map(({ level }) => level)).toEqual(["error", "warn"]);
  });

  it("shares its checks with checkStatus, which needs no option", async () => {
    vi.useFakeTimers();
    const admission = { ping: vi.fn<() => Promise<void>>(hang), admit: hang };
    const { gateway } = open({ admission, options: { healthz: false } });
    expect(gateway.status()).toMatchObject({ ledger: { state: "unknown" }, store: { state: "unknown" } });
    const checked = Promise.all([gateway.checkStatus(), gateway.checkStatus()]);
    await vi.advanceTimersByTimeAsync(800);
    for (const status of await checked) {
      expect(status).toMatchObject({ ledger: { state: "ok" }, store: { state: "failing" } });
      expect(status.channels).toEqual(gateway.status().channels);
    }
    expect(admission.ping).toHaveBeenCalledTimes(1);
  });

  it("says that channels are failing while no channel of a family works", async () => {
    let isBroken = true;
    const provider: Provider = () =>
      isBroken
        ? Response.json({ error: { code: "AuthenticationError", message: "no" } }, { status: 401 })
        : Response.json({ data: [{ url: "https://ark.test/1.png" }], usage: { generated_images: 1 } });
    const { get, post, gateway } = open({ provider });
    expect((await post({ model: "doodle", prompt: "a fox" })).status).toBe(401);
    const { body } = await get();
    expect(body).toEqual({ ...OK, channels: "failing" });
    expect(gateway.status().channels).toContainEqual(expect.objectContaining({ state: "cooling" }));
    isBroken = false;
    const { channels } = gateway.status();
    const { id = "" } = channels.find(({ state }) => state === "cooling") ?? {};
    await gateway.probeChannel(id);
    expect((await get()).body).toEqual(OK);
  });

  it("says that channels are failing while the options cannot be loaded, and loads them once a second", async () => {
    const models = vi.fn<() => Promise<never>>(() => Promise.reject(DOWN));
    const { get } = open({ options: { models } });
    const all = await Promise.all(Array.from({ length: 20 }, () => get()));
    for (const { status, body } of all) {
      expect({ status, body }).toEqual({ status: 200, body: { ...OK, channels: "failing" } });
    }
    // Once at the start, and at most once for the check.
    expect(models.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it("is a 503 while the gateway closes", async () => {
    const { get, gateway } = open();
    await gateway.close();
    expect(await get()).toMatchObject({ status: 503, body: { error: { code: "gateway_closed" } } });
  });

  it("tells nothing to a client with a key either", async () => {
    const { get } = open();
    expect((await get({ headers: { authorization: `Bearer ${CALLER_KEY}` } })).body).toEqual(OK);
  });
});
