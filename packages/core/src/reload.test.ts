import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import { GatewayOptionsError } from "./options/options-error.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  type Provider,
  type TestGateway,
} from "./testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a fox" };
const perImage = (model_price: string) => ({ pricing_mode: "per-request" as const, model_price });
const asKey = (key: string) => ({ authorization: `Bearer ${key}` });

/** The options that the operator's functions return. The test changes them. */
function createStore() {
  return {
    models: { doodle: { family: "seedream" } } as Record<string, { family: string }>,
    channels: [{ id: "ark", family: "seedream", apiKey: "first-key", baseUrl: "https://first.test" }],
    callers: [{ id: "me", key: CALLER_KEY }] as { id: string; key: string; budget?: string }[],
    prices: { "*": perImage("0.1") },
    failure: undefined as Error | undefined,
  };
}

type Store = ReturnType<typeof createStore>;

function toSources(store: Store, wait: () => Promise<void> = async () => {}): Partial<GatewayOptions> {
  const read = async <T>(part: () => T): Promise<T> => {
    await wait();
    if (store.failure !== undefined) throw store.failure;
    return part();
  };
  return {
    models: () => read(() => store.models),
    channels: () => read(() => store.channels),
    callers: () => read(() => store.callers),
    billing: { model_details: () => read(() => store.prices) },
  };
}

interface Opened extends TestGateway {
  readonly store: Store;
}

function open(provider?: Provider): Opened {
  const store = createStore();
  return { ...createTestGateway(provider, toSources(store)), store };
}

describe("a reload", () => {
  it("refuses a second key of a caller without its budget, and keeps the budget", async () => {
    const { gateway, post, store, calls } = open();
    const caller = { id: "me", budget: "0.1" };
    store.callers = [{ ...caller, key: CALLER_KEY }];
    await gateway.reload();
    store.callers = [
      { ...caller, key: CALLER_KEY },
      { id: "me", key: "new-key" },
    ];
    await expect(gateway.reload()).rejects.toThrow("callers[1].budget must be the same as callers[0].budget");
    expect((await post(BODY)).status).toBe(200);
    expect((await post(BODY)).status).toBe(403);

    store.callers[1] = { ...caller, key: "new-key" };
    await gateway.reload();
    expect((await post(BODY, asKey("new-key"))).status).toBe(403);
    expect(calls).toHaveLength(1);
  });

  it("takes models, channels, keys and prices over", async () => {
    const { gateway, post, store, calls, records } = open();
    expect((await post(BODY)).status).toBe(200);

    store.models = { sketch: { family: "seedream" } };
    store.channels = [
      { id: "ark-2", family: "seedream", apiKey: "second-key", baseUrl: "https://second.test" },
    ];
    store.callers = [{ id: "you", key: "another-key" }];
    store.prices = { "*": perImage("0.7") };
    expect((await post(BODY)).status).toBe(200);
    await gateway.reload();

    expect((await post(BODY)).status).toBe(401);
    expect((await post(BODY, asKey("another-key"))).status).toBe(404);
    expect((await post({ ...BODY, model: "sketch" }, asKey("another-key"))).status).toBe(200);
    expect(calls.map(({ url }) => new URL(url).hostname)).toEqual([
      "first.test",
      "first.test",
      "second.test",
    ]);
    expect(calls[2]?.headers.get("authorization")).toBe("Bearer second-key");
    expect(records.map(({ charge, channel }) => [charge, channel])).toEqual([
      ["0.1", "ark"],
      ["0.1", "ark"],
      ["0.7", "ark-2"],
    ]);
    expect(gateway.status().channels.map(({ id }) => id)).toEqual(["ark-2"]);
  });

  it("does not change the options of requests in progress", async () => {
    const waiting = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { gateway, post, store, records } = open(async () => {
      asked.resolve();
      await waiting.promise;
      return Response.json(ARK_RESPONSE);
    });
    const early = post(BODY);
    await asked.promise;
    store.prices = { "*": perImage("0.7") };
    store.callers = [{ id: "you", key: "another-key" }];
    await gateway.reload();
    const late = post(BODY, asKey("another-key"));
    waiting.resolve();
    expect([(await early).status, (await late).status]).toEqual([200, 200]);
    const charges = records.map(({ caller, charge }) => `${caller} ${charge}`);
    expect(new Set(charges)).toEqual(new Set(["me 0.1", "you 0.7"]));
  });

  it("of wrong options reports the problems, and nothing changes", async () => {
    const { gateway, post, store } = open();
    await post(BODY);
    store.models = { sketch: { family: "watercolour" } };
    store.prices = { "*": perImage("free") };
    const failure = await gateway.reload().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(GatewayOptionsError);
    expect(failure).toMatchObject({
      problems: expect.arrayContaining([
        expect.objectContaining({ path: "models.sketch.family" }),
        expect.objectContaining({ path: 'billing.model_details["*"].model_price' }),
      ]),
    });
    expect((await post(BODY)).status).toBe(200);
  });

  it("that cannot read its options reports the reason, and nothing changes", async () => {
    const { gateway, post, store } = open();
    await post(BODY);
    store.failure = new Error("the database is down");
    await expect(gateway.reload()).rejects.toThrow("the database is down");
    expect((await post(BODY)).status).toBe(200);
    store.failure = undefined;
    store.models = { sketch: { family: "seedream" } };
    await gateway.reload();
    expect((await post(BODY)).status).toBe(404);
  });

  it("that is overtaken by a later one changes nothing, nor the health of the later one's channels", async () => {
    const store = createStore();
    const gates: PromiseWithResolvers<void>[] = [];
    const test = createTestGateway(() => new Response("{}", { status: 429 }), {
      ...toSources(store),
      models: { doodle: { family: "seedream" } },
      callers: store.callers,
      billing: undefined,
      async channels() {
        const { channels } = store;
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        await gate.promise;
        return channels;
      },
    });
    const first = test.post(BODY);
    gates[0]?.resolve();
    await first;
    const early = test.gateway.reload();
    store.channels = [{ id: "new", family: "seedream", apiKey: "k", baseUrl: "https://new.test" }];
    const late = test.gateway.reload();
    gates[2]?.resolve();
    await late;
    await test.post(BODY);
    const coolingBefore = test.gateway.status().channels;
    gates[1]?.resolve();
    await early;
    expect(test.gateway.status().channels).toEqual(coolingBefore);
    expect(coolingBefore).toMatchObject([{ id: "new" }]);
    expect(JSON.stringify(coolingBefore)).toContain("rate");
  });
});

describe("options that take time to read", () => {
  it("do not hide problems of the other options", () => {
    const sources = toSources({ ...createStore(), failure: new Error("the back office is down") });
    const wrong = { ...sources, basePath: "ai", maxUpstreamResponseBytes: -1 };
    expect(() => createTestGateway(undefined, wrong)).toThrow(
      /basePath must begin.*\n.*maxUpstreamResponseBytes must be/,
    );
  });

  it("are waited for by the first requests, and read once", async () => {
    const waiting = Promise.withResolvers<void>();
    const store = createStore();
    let reads = 0;
    const { gateway, post } = createTestGateway(
      undefined,
      toSources(store, () => {
        reads++;
        return waiting.promise;
      }),
    );
    expect(gateway.status().channels).toEqual([]);
    const responses = Promise.all([1, 2, 3].map(() => post(BODY)));
    waiting.resolve();
    expect((await responses).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(reads).toBe(4);
    expect(gateway.status().channels).toMatchObject([{ id: "ark" }]);
  });

  it("and fail are a 503 and a line in the log, and requests succeed after they were repaired", async () => {
    const store = createStore();
    store.failure = new Error("the database is down");
    const requests: object[] = [];
    const errors: object[] = [];
    const { gateway, post, logs } = createTestGateway(undefined, {
      ...toSources(store),
      onRequest: (event) => requests.push(event),
      onError: (event) => errors.push(event),
    });
    const refused = await post(BODY);
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { code: "gateway_unavailable", type: "server_error" } },
    });
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.text).not.toContain("database");
    const id = refused.headers.get("x-request-id");
    expect(logs).toMatchObject([{ fields: { requestId: id, err: store.failure } }]);
    expect([requests, errors]).toMatchObject([[{ id, status: 503 }], [{ id }]]);
    await expect(gateway.probeChannel("ark")).rejects.toThrow("the database is down");

    store.failure = undefined;
    expect((await post(BODY)).status).toBe(200);
  });

  it("and are wrong are a 503, and a reload reports the problems", async () => {
    const store = createStore();
    store.channels = [];
    const { gateway, post, logs } = createTestGateway(undefined, toSources(store));
    expect((await post(BODY)).status).toBe(503);
    expect(logs[0]?.fields).toMatchObject({ err: { message: expect.stringContaining("channels") } });
    await expect(gateway.reload()).rejects.toBeInstanceOf(GatewayOptionsError);
    await gateway.close();
  });
});
