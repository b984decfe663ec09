import { once } from "node:events";
import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  request,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { Gateway } from "@calotype/core";
import type { GatewayRequest, GatewayResponse, GatewayResponseBody } from "@calotype/core/adapter";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { handleNodeRequest } from "./handle-node-request.js";

const encoder = new TextEncoder();

describe("the signal of a request", () => {
  it("tells at once that the client has left, until the listener is removed", async () => {
    const gateway = createGatewayWith(() => new Promise<GatewayResponse>(() => {}));
    const host = await serve(gateway);
    const client = connect(host);
    await vi.waitFor(() => expect(gateway.requests).toHaveLength(1));
    const { signal } = gateway.first();
    const [told, removed] = [vi.fn<() => void>(), vi.fn<() => void>()];
    signal.addEventListener?.("abort", told);
    signal.addEventListener?.("abort", removed);
    signal.removeEventListener?.("abort", removed);
    expect(told).not.toHaveBeenCalled();

    client.destroy();

    await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(1));
    expect(signal.aborted).toBe(true);
    expect(removed).not.toHaveBeenCalled();
  });
});

describe("a streamed response", () => {
  it("sends its headers before its first chunk exists, and its first chunk before the second", async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* body() {
      await first.promise;
      yield encoder.encode("one");
      await second.promise;
      yield encoder.encode("two");
    }
    const client = connect(await serve(createGatewayWith(() => ok(body()))));

    const response = await responseTo(client);
    expect(response.headers).toMatchObject({ "content-type": "text/event-stream" });
    const chunks = response.setEncoding("utf8").iterator();
    first.resolve();
    expect(await chunks.next()).toEqual({ done: false, value: "one" });
    second.resolve();
    expect(await chunks.next()).toEqual({ done: false, value: "two" });
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });

  it("is not produced faster than the client reads", async () => {
    const source = produceEndlessly(64 * 1024);
    const client = connect(await serve(createGatewayWith(() => ok(source.body))));
    const response = await responseTo(client);

    // Nothing is read: what is produced fills the buffers of both sockets, and no more.
    const stuckAt = await settled(() => source.state.produced);
    expect(stuckAt).toBeLessThan(1000);
    expect(await settled(() => source.state.produced)).toBe(stuckAt);

    response.resume();
    await vi.waitFor(() => expect(source.state.produced).toBeGreaterThan(stuckAt + 100));
    client.destroy();
    await vi.waitFor(() => expect(source.state.ended).toBe(true));
  });

  it("stops when the client leaves between two chunks", async () => {
    const source = produceEndlessly(1024, 5);
    const gateway = createGatewayWith(() => ok(source.body));
    const client = connect(await serve(gateway));
    const response = await responseTo(client);
    await once(response, "data");
    const { signal } = gateway.first();
    expect(signal.aborted).toBe(false);

    client.destroy();

    await vi.waitFor(() => expect(source.state.ended).toBe(true));
    expect(signal.aborted).toBe(true);
  });

  it("stops when the client leaves while the next chunk takes minutes", async () => {
    const minutes = Promise.withResolvers<IteratorResult<Uint8Array, undefined>>();
    const body = createBody(() => minutes.promise);
    const host = await serve(createGatewayWith(() => ok(body)));
    const client = connect(host);
    await responseTo(client);

    client.destroy();
    await vi.waitFor(() => expect(body.iterator.return).toHaveBeenCalled());

    minutes.resolve({ done: false, value: encoder.encode("late") });
    await host.handled();
    expect(body.iterator.next).toHaveBeenCalledTimes(1);
  });

  it("may fail while it stops, without effect", async () => {
    const minutes = Promise.withResolvers<IteratorResult<Uint8Array, undefined>>();
    const asked = Promise.withResolvers<void>();
    const stop = () => {
      asked.resolve();
      return Promise.reject(new Error("cannot stop"));
    };
    const body = { [Symbol.asyncIterator]: () => ({ next: () => minutes.promise, return: stop }) };
    const host = await serve(createGatewayWith(() => ok(body)));
    const client = connect(host);
    await responseTo(client);

    client.destroy();
    await asked.promise;

    minutes.resolve({ done: false, value: encoder.encode("late") });
    await expect(host.handled()).resolves.toBeDefined();
  });

  it("resets the connection when it fails, so that no client takes it for complete", async () => {
    const host = await serve(createGatewayWith(() => ok(yieldOnceAndFail())));
    const client = connect(host);
    const response = await responseTo(client);

    expect(String(await once(response, "data"))).toBe("one");
    await expect(once(response, "end")).rejects.toMatchObject({ code: "ECONNRESET" });
    await host.handled();
  });

  it("leaves the connection ready for the next request", async () => {
    const host = await serve(createGatewayWith(() => ok(yieldOnce())));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const exchange = async () => {
      const client = connect(host, { agent });
      return { text: await text(await responseTo(client)), reused: client.reusedSocket };
    };

    expect(await exchange()).toEqual({ text: "one", reused: false });
    expect(await exchange()).toEqual({ text: "one", reused: true });
  });
});

describe("a client that left before the response", () => {
  it.each(["complete", "produced"])("gets no bytes: a %s body", async (kind) => {
    const body = createBody(async () => ({ done: false, value: encoder.encode("late") }));
    const release = Promise.withResolvers<void>();
    const gateway = createGatewayWith(async () => {
      await release.promise;
      return ok(kind === "complete" ? "late" : body);
    });
    const host = await serve(gateway);
    const client = connect(host);
    await vi.waitFor(() => expect(gateway.requests).toHaveLength(1));
    const { signal } = gateway.first();
    client.destroy();
    await vi.waitFor(() => expect(signal.aborted).toBe(true));

    release.resolve();
    await host.handled();

    expect(body.iterator.next).not.toHaveBeenCalled();
    expect(body.iterator.return).toHaveBeenCalledTimes(kind === "complete" ? 0 : 1);
  });

  it("has an aborted signal even if the gateway checks it late", async () => {
    const gone = Promise.withResolvers<void>();
    const gateway = createGatewayWith(async () => {
      await gone.promise;
      return ok("late");
    });
    const host = await serve(gateway, (_req, res) => void res.once("close", () => gone.resolve()));
    const client = connect(host);
    await vi.waitFor(() => expect(gateway.requests).toHaveLength(1));

    client.destroy();
    await host.handled();

    expect(gateway.first().signal.aborted).toBe(true);
  });
});

describe("a client that stays", () => {
  it("has a signal that is never aborted", async () => {
    const gateway = createGatewayWith(({ signal }) => ok(String(signal.aborted)));
    const host = await serve(gateway);
    const ended = Promise.withResolvers<void>();
    const client = connect(host);

    expect(await text(await responseTo(client))).toBe("false");
    client.once("close", () => ended.resolve());
    await ended.promise;
    expect(gateway.first().signal.aborted).toBe(false);
  });
});

describe("a host that has already responded", () => {
  it.each(["complete", "produced"])("keeps its own response: a %s body", async (kind) => {
    const body = createBody(async () => ({ done: false, value: encoder.encode("late") }));
    const host = await serve(
      createGatewayWith(() => ok(kind === "complete" ? "late" : body)),
      (_req, res) => void res.end("the host's"),
    );

    expect(await text(await responseTo(connect(host)))).toBe("the host's");
    await host.handled();
    expect(body.iterator.next).not.toHaveBeenCalled();
    expect(body.iterator.return).toHaveBeenCalledTimes(kind === "complete" ? 0 : 1);
  });
});

describe("the request that the gateway gets", () => {
  it("has the method, path and headers of the socket", async () => {
    const gateway = createGatewayWith(() => ok("x"));
    const host = await serve(gateway);
    const headers = { Accept: ["text/html", "text/plain"], "X-Single": "1" };
    await responseTo(connect(host, { path: "/v1/images?x=1", method: "PUT", headers }));

    const asked = gateway.first();
    expect(asked).toMatchObject({ method: "PUT", url: "/v1/images?x=1", bodyConsumed: false });
    expect(asked.headers.get("ACCEPT")).toBe("text/html, text/plain");
    expect(asked.headers.get("x-single")).toBe("1");
    expect(asked.headers.get("absent")).toBeNull();
  });

  it.each([
    [undefined, false],
    [false, false],
    [true, true],
  ])("says whether the socket is encrypted: %s", async (encrypted, expected) => {
    const gateway = createGatewayWith(() => ok("x"));
    // A TLS socket has the property `encrypted`.
    const host = await serve(gateway, ({ socket }) => {
      if (encrypted !== undefined) Object.assign(socket, { encrypted });
    });
    await responseTo(connect(host));
    expect(gateway.first().isEncrypted).toBe(expected);
  });

  it("is neither read nor written to if the path is not the gateway's", async () => {
    const host = await serve({ handle: () => null }, (req, res) => {
      setTimeout(() => void text(req).then((body) => res.end(body)), 10);
    });

    const response = await responseTo(connect(host, { method: "POST" }, "for somebody else"));
    expect(await text(response)).toBe("for somebody else");
  });
});

interface Host {
  readonly url: string;
  /** Ends when every request so far was handled to its end; fails when one failed. */
  readonly handled: () => Promise<unknown>;
}

/** Serves a gateway on a free port until the test ends. `before` runs first. */
async function serve(gateway: Pick<Gateway, "handle">, before?: RequestListener): Promise<Host> {
  const handled: Promise<void>[] = [];
  const server = createServer((req, res) => {
    before?.(req, res);
    handled.push(handleNodeRequest(gateway, req, res) ?? Promise.resolve());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, handled: () => Promise.all(handled) };
}

/** A request on a connection of its own, which may break without harm to the test. */
function connect({ url }: Host, options: RequestOptions = {}, body?: string): ClientRequest {
  const client = request(url, { agent: false, ...options });
  client.on("error", () => {});
  return client.end(body);
}

async function responseTo(client: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(client, "response")) as [IncomingMessage];
  return response;
}

function ok(body: GatewayResponseBody): GatewayResponse {
  return { status: 200, headers: { "content-type": "text/event-stream" }, body };
}

/** A gateway with this response, which records its requests. */
function createGatewayWith(respond: (asked: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>) {
  const requests: GatewayRequest[] = [];
  const handle: Gateway["handle"] = async (asked) => {
    requests.push(asked);
    return respond(asked);
  };
  const first = (): GatewayRequest => {
    if (requests[0] === undefined) throw new Error("The gateway was not asked.");
    return requests[0];
  };
  return { handle, requests, first };
}

/** A body by hand: what is asked of it, and what it gives. */
function createBody(next: () => Promise<IteratorResult<Uint8Array, undefined>>) {
  const iterator = {
    next: vi.fn<() => Promise<IteratorResult<Uint8Array, undefined>>>(next),
    return: vi.fn<() => Promise<IteratorResult<Uint8Array, undefined>>>(async () => ({
      done: true,
      value: undefined,
    })),
  };
  return { [Symbol.asyncIterator]: () => iterator, iterator };
}

async function* yieldOnce(): AsyncIterable<Uint8Array> {
  yield encoder.encode("one");
}

async function* yieldOnceAndFail(): AsyncIterable<Uint8Array> {
  yield encoder.encode("one");
  await pause(10);
  throw new Error("the provider broke off");
}

/** Chunks without end, and how many of them were made. */
function produceEndlessly(chunkBytes: number, everyMs = 0) {
  const state = { produced: 0, ended: false };
  async function* produce() {
    try {
      for (;;) {
        await pause(everyMs);
        state.produced += 1;
        yield new Uint8Array(chunkBytes);
      }
    } finally {
      state.ended = true;
    }
  }
  return { body: produce(), state };
}

/** A number once it has stopped growing. */
async function settled(read: () => number): Promise<number> {
  for (;;) {
    const before = read();
    await pause(100);
    if (before > 0 && read() === before) return before;
  }
}
