import { describe, expect, it } from "vitest";
import type { RequestEvent } from "./events.js";
import { createOpenStreams } from "./testing/open-streams.js";
import { ARK_RESPONSE, createPost, createTestGateway, type Provider } from "./testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a fox" };
const PRICED = { model_details: { "*": { pricing_mode: "per-request" as const, model_price: "0.1" } } };

/** A provider that responds when the test allows it. `asked` resolves at its first call. */
function createWaitingProvider() {
  const asked = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const provider: Provider = async () => {
    asked.resolve();
    await waiting.promise;
    return Response.json(ARK_RESPONSE);
  };
  return { provider, asked: asked.promise, respond: () => waiting.resolve() };
}

describe("a gateway that closes", () => {
  it("refuses new requests, and is done when the requests in progress have their responses and their records are delivered", async () => {
    const { provider, asked, respond } = createWaitingProvider();
    const told: RequestEvent[] = [];
    const { gateway, post, records } = createTestGateway(provider, {
      onRequest: (event) => told.push(event),
    });
    const early = post(BODY);
    await asked;
    const closed = gateway.close();
    const late = await post(BODY);
    expect(late).toMatchObject({
      status: 503,
      body: { error: { code: "gateway_closed", type: "server_error" } },
    });
    expect(late.headers.get("retry-after")).toBe("1");
    expect(told).toMatchObject([{ status: 503, errorCode: "gateway_closed" }]);
    await expect(gateway.probeChannel("ark")).rejects.toMatchObject({ code: "gateway_closed" });
    expect(records).toEqual([]);
    respond();
    await closed;
    expect((await early).status).toBe(200);
    expect(records).toMatchObject([{ images: 1 }]);
  });

  it.each([Number.NaN, -1])("rejects an invalid deadline: %d", async (deadlineSeconds) => {
    const { gateway, post } = createTestGateway();
    await expect(gateway.close({ deadlineSeconds })).rejects.toThrow(RangeError);
    expect((await post(BODY)).status).toBe(200);
  });

  it("closes once, however often it is asked, and stays closed", async () => {
    const { gateway, post } = createTestGateway();
    await Promise.all([gateway.close(), gateway.close({ deadlineSeconds: 1 })]);
    await gateway.close();
    expect((await post(BODY)).status).toBe(503);
    expect((await gateway.fetch(new Request("http://gateway.test/other"))).status).toBe(404);
  });

  it("waits for the end of a stream, even if its client has disconnected", async () => {
    const streams = createOpenStreams();
    const { gateway, records } = createTestGateway(streams.provider);
    const response = await gateway.fetch(createPost({ ...BODY, stream: true }));
    const closed = gateway.close();
    await response.body?.cancel();
    expect(records).toEqual([]);
    streams.finish();
    await closed;
    expect(records).toMatchObject([{ images: 1 }]);
  });

  it("waits for requests that wait for the options", async () => {
    const waiting = Promise.withResolvers<void>();
    const { gateway, post, records } = createTestGateway(undefined, {
      models: async () => {
        await waiting.promise;
        return { doodle: { family: "seedream" } };
      },
    });
    const early = post(BODY);
    const closed = gateway.close();
    waiting.resolve();
    await closed;
    expect((await early).status).toBe(200);
    expect(records).toHaveLength(1);
  });

  it("waits for a test of a channel", async () => {
    const { provider, asked, respond } = createWaitingProvider();
    const { gateway } = createTestGateway(provider);
    const test = gateway.probeChannel("ark");
    await asked;
    let isClosed = false;
    const closed = gateway.close().then(() => {
      isClosed = true;
      return isClosed;
    });
    await new Promise((resolve) => setTimeout(resolve));
    expect(isClosed).toBe(false);
    respond();
    expect(await closed).toBe(true);
    expect((await test).ok).toBe(true);
  });

  it.each<["release" | "charge", string]>([
    ["release", "0"],
    ["charge", "0.3"],
  ])(
    "ends the holds of requests in progress at its deadline as the operator chose: %s",
    async (onLost, charge) => {
      const { provider, asked, respond } = createWaitingProvider();
      const { gateway, post, records, unresolved, logs } = createTestGateway(provider, {
        billing: { ...PRICED, onLost },
      });
      const early = post({ ...BODY, n: 3 });
      await asked;
      await gateway.close({ deadlineSeconds: 0.01 });
      expect(unresolved).toMatchObject([{ state: "unresolved", charge, held: "0.3", caller: "me" }]);
      expect(logs).toMatchObject([{ fields: { requestIds: [unresolved[0]?.id], onLost } }]);
      expect(await gateway.usage.balance("me")).toEqual({ settled: charge, held: "0" });
      respond();
      await early;
      expect(records).toEqual([]);
    },
  );

  it("delivers the records that onUsage did not accept before", async () => {
    const taken: string[] = [];
    const { gateway, post } = createTestGateway(undefined, {
      onUsage: async ({ id }) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        taken.push(id);
      },
    });
    await Promise.all(Array.from({ length: 20 }, () => post(BODY)));
    await gateway.close();
    expect(taken).toHaveLength(20);
    expect(new Set(taken).size).toBe(20);
  });
});

describe("gateway.usage", () => {
  it("can read records, totals and balances while requests are in progress and afterwards", async () => {
    const { provider, asked, respond } = createWaitingProvider();
    const { gateway, post } = createTestGateway(provider, { billing: PRICED });
    const early = post({ ...BODY, n: 2 });
    await asked;
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0.2" });
    expect(await gateway.usage.totals("model")).toEqual([]);
    respond();
    const id = (await early).headers.get("x-request-id");
    const records: object[] = [];
    for await (const record of gateway.usage.records({ caller: "me" })) records.push(record);
    expect(records).toMatchObject([{ id, charge: "0.1", images: 1, channel: "ark" }]);
    expect(await gateway.usage.totals("model")).toMatchObject([{ key: "doodle", charge: "0.1" }]);
    expect(await gateway.usage.totals("model", { caller: "nobody" })).toEqual([]);
    expect(await gateway.usage.balance("nobody")).toEqual({ settled: "0", held: "0" });
  });
});
