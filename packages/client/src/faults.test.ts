import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sentUpstream } from "../../conformance/src/clients/support/sent-upstream.js";
import { listen } from "../../conformance/src/support/listen.js";
import { SEEDREAM } from "../../conformance/src/support/test-gateway.js";
import { useProviders } from "../../conformance/src/support/use-providers.js";
import { createClient, type ImageEvent } from "./index.js";
import { startFaultyProxy } from "./testing/faulty-proxy.js";
import { openGateway } from "./testing/open-gateway.js";

const MS_PER_IMAGE = 300;
const providers = useProviders({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE });
const REQUEST = { model: SEEDREAM, prompt: "a heron", size: "1K" };
const BATCH = { ...REQUEST, prompt: "3 herons", n: 3 };

const open = (options: Parameters<typeof openGateway>[1] = {}) => openGateway(providers(), options);
/** The next stream takes seconds after its first image. */
const slowDown = () => providers().emulator.faults.add({ body: { chunkBytes: 600, pauseMs: 800 }, times: 1 });
/** A gateway behind a proxy that fails, and a client that uses the proxy. */
const openBehindProxy = async (options: Parameters<typeof openGateway>[1] = {}) => {
  const gateway = await open(options);
  const proxy = await startFaultyProxy(gateway.url);
  // A connection for each request, so that the proxy's counts are exact.
  const client = gateway.connect({ baseUrl: proxy.url, headers: { connection: "close" } });
  return { ...gateway, proxy, client };
};

/** The images that came before the error. */
async function readUntilError(
  events: AsyncIterable<ImageEvent>,
): Promise<{ images: number; error: unknown }> {
  let images = 0;
  try {
    for await (const { type } of events) if (type === "image") images++;
  } catch (error) {
    return { images, error };
  }
  return { images, error: undefined };
}

describe("a connection that fails", () => {
  it("before the request was sent: it is sent again", async () => {
    const { client, proxy, records } = await openBehindProxy();
    proxy.refuse(2);

    const { data } = await client.generate(REQUEST);

    expect(data).toHaveLength(1);
    expect(records).toMatchObject([{ charge: "0.03" }]);
  });

  it("after the request was sent: the repeat gets the response of the first, which is charged once", async () => {
    const { client, proxy, records } = await openBehindProxy();
    proxy.cutResponse(0);

    const { data, requestId } = await client.generate(REQUEST);

    expect(data).toHaveLength(1);
    expect(proxy.requests()).toBe(2);
    expect(requestId).not.toBe(records[0]?.id);
    expect(sentUpstream(providers())).toHaveLength(1);
    expect(records).toMatchObject([{ charge: "0.03" }]);
  });

  it("inside of a JSON response: the same", async () => {
    const { client, proxy, records } = await openBehindProxy();
    proxy.cutResponse(500);

    expect((await client.generate(REQUEST)).data).toHaveLength(1);

    expect(proxy.requests()).toBe(2);
    expect(records).toMatchObject([{ charge: "0.03" }]);
  });

  it("while the first request runs: the repeat waits for it, longer than the retries would", async () => {
    const { client, proxy, records } = await openBehindProxy();
    providers().emulator.faults.add({ latencyMs: 1_500, times: 1 });
    setTimeout(() => proxy.dropAll(), 500);

    // The gateway says after how many seconds to ask again.
    const { data } = await client.generate(REQUEST);

    expect(data).toHaveLength(1);
    expect(sentUpstream(providers())).toHaveLength(1);
    expect(records).toMatchObject([{ charge: "0.03" }]);
  });

  it("more often than `maxRetries`: the error says so", async () => {
    const { connect, proxy } = await openBehindProxy();
    proxy.refuse(10);
    const client = connect({ baseUrl: proxy.url, maxRetries: 1 });

    await expect(client.models()).rejects.toMatchObject({
      code: "connection_failed",
      type: "client_error",
      status: undefined,
      shouldRetry: true,
    });
  });

  it("in a stream: the images that came stay, and nothing is sent again", async () => {
    const { client, proxy, records } = await openBehindProxy();
    slowDown();
    const events = client.stream(BATCH);
    await events.next();
    expect(await events.next()).toMatchObject({ value: { type: "image", index: 0 } });
    proxy.dropAll();

    const { error } = await readUntilError(events);

    expect(error).toMatchObject({ code: "connection_failed" });
    expect(proxy.requests()).toBe(1);
    // The provider goes on, and so does the charge.
    await vi.waitFor(() => expect(records).toMatchObject([{ charge: "0.09" }]), 20_000);
  });
});

describe("a provider's stream that breaks", () => {
  it.each(["native", "openai"] as const)(
    "yields the images before that, and the error: %s",
    async (streamFormat) => {
      const { client, records } = await open({ streamFormat });
      providers().emulator.faults.add({ stream: { cutAfterEvents: 2 }, times: 1 });

      const { images, error } = await readUntilError(client.stream(BATCH));

      expect(images).toBe(2);
      expect(error).toMatchObject({ name: "CalotypeError", code: expect.stringMatching(/^upstream_/) });
      expect(records).toMatchObject([{ charge: "0.06" }]);
    },
  );
});

/** A gateway behind a server that refuses the first requests. */
async function openRefusing(
  ...refusals: readonly [status: number, headers: Readonly<Record<string, string>>][]
) {
  const gateway = await open();
  const keys: unknown[] = [];
  const times: number[] = [];
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    keys.push(request.headers["idempotency-key"]);
    times.push(performance.now());
    const body = await buffer(request);
    const refusal = refusals[keys.length - 1];
    if (refusal !== undefined) {
      const error = { message: "Not now.", type: "server_error", code: "overloaded", param: null };
      return void response.writeHead(...refusal).end(JSON.stringify({ error }));
    }
    const { authorization = "", "idempotency-key": key = "" } = request.headers;
    const headers = { authorization, "content-type": "application/json", "idempotency-key": String(key) };
    const passed = await fetch(gateway.url + request.url, { method: "POST", headers, body });
    response.writeHead(passed.status, { "content-type": "application/json" }).end(await passed.text());
  };
  const server = await listen((request, response) => void pass(request, response));
  onTestFinished(server.close);
  return { ...gateway, keys, times, client: gateway.connect({ baseUrl: server.url }) };
}

describe("a response that allows a repeat", () => {
  it.each([
    ["429 with Retry-After", 429, { "retry-after": "1" }, 950],
    ["503 with Retry-After as a date", 503, { "retry-after": new Date(Date.now() - 1000).toUTCString() }, 0],
    ["503 without one", 503, {}, 370],
    ["500 that says to repeat", 500, { "x-should-retry": "true" }, 370],
  ])("%s: it is sent again with the same key, and is charged once", async (_what, status, headers, minMs) => {
    const { client, keys, times, records } = await openRefusing([status, headers]);

    expect((await client.generate(REQUEST)).data).toHaveLength(1);

    expect(keys).toEqual([expect.stringMatching(/^[\da-f]{32}$/), keys[0]]);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(minMs);
    expect(records).toMatchObject([{ charge: "0.03" }]);
  });

  it.each([
    ["`x-should-retry: false`", 502, { "x-should-retry": "false" }],
    ["a `Retry-After` of more than a minute", 429, { "retry-after": "3600" }],
    ["a 400", 400, {}],
  ])("is not repeated after %s", async (_what, status, headers) => {
    const { client, keys } = await openRefusing([status, headers]);

    await expect(client.generate(REQUEST)).rejects.toMatchObject({ status, code: "overloaded" });

    expect(keys).toHaveLength(1);
  });

  it("of a limit of the gateway: the error has `retryAfter`, and the second call has another key", async () => {
    const { connect } = await open({ limits: { requestsPerMinute: 1 } });
    const client = connect({ maxRetries: 0 });
    await client.generate(REQUEST);

    await expect(client.generate(REQUEST)).rejects.toMatchObject({
      code: "rate_limit_exceeded",
      type: "rate_limit_error",
      status: 429,
      retryAfter: expect.any(Number),
      shouldRetry: true,
    });
  });

  it("by the provider: its 429 with Retry-After", async () => {
    const { client, records } = await open();
    providers().emulator.faults.add({
      provider: "ark",
      code: "ModelAccountIpmRateLimitExceeded",
      retryAfterSeconds: 1,
      times: 1,
    });

    expect((await client.generate(REQUEST)).data).toHaveLength(1);

    expect(records.filter(({ charge }) => charge === "0.03")).toHaveLength(1);
  });
});

describe("a call that is aborted", () => {
  it("in a stream: the loop ends with the reason, and the gateway sees it", async () => {
    const { client, ends } = await open();
    slowDown();
    const controller = new AbortController();
    const events = client.stream(BATCH, { signal: controller.signal });
    await events.next();
    expect(await events.next()).toMatchObject({ value: { type: "image" } });
    const reason = new Error("The visitor has left.");
    controller.abort(reason);

    await expect(events.next()).rejects.toBe(reason);

    await vi.waitFor(() => expect(ends).toEqual(["left"]), 5_000);
  });

  it("by leaving the loop: the gateway sees it, too", async () => {
    const { client, ends } = await open();
    slowDown();
    for await (const { type } of client.stream(BATCH)) if (type === "image") break;
    await vi.waitFor(() => expect(ends).toEqual(["left"]), 5_000);
  });

  it("before it was sent, and while it waits for a repeat", async () => {
    const { client } = await open();
    await expect(client.generate(REQUEST, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(sentUpstream(providers())).toEqual([]);

    const unreachable = createClient({ baseUrl: "http://127.0.0.1:1", maxRetries: 100 });
    const signal = AbortSignal.timeout(700);
    await expect(unreachable.models({ signal })).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it("by its own time, also inside of a stream", async () => {
    const { client } = await open();
    providers().emulator.faults.add({ latencyMs: 1_500, times: 1 });
    const late = { code: "timeout", message: "The call took longer than 0.5 s." };

    await expect(client.generate(REQUEST, { timeoutSeconds: 0.5 })).rejects.toMatchObject(late);
    providers().emulator.faults.add({ body: { chunkBytes: 300, pauseMs: 300 }, times: 1 });
    const { error } = await readUntilError(client.stream(BATCH, { timeoutSeconds: 0.5 }));
    expect(error).toMatchObject(late);
  });
});
