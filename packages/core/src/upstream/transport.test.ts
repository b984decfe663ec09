import type { ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Timeouts } from "../channels/channel.js";
import type { ProducedBody } from "../images/produced-body.js";
import { findClosedUrl, serve } from "../testing/start-server.js";
import type { Transport, TransportResponse } from "./transport.js";
import {
  createTransport as createFetchTransport,
  createFetchTransport as createTransportOver,
} from "./transport-fetch.js";
import { createTransport as createNodeTransport } from "./transport-node.js";

const PATIENT: Timeouts = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };

async function readText({ body }: TransportResponse): Promise<string> {
  const chunks = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const failure = (reason: string): unknown => expect.objectContaining({ name: "TransportError", reason });

describe.each([
  ["undici", createNodeTransport],
  ["the global fetch", createFetchTransport],
])("the transport over %s", (_name, create) => {
  const open = (): Transport => {
    const transport = create();
    onTestFinished(() => transport.close());
    return transport;
  };

  const send = (
    url: string,
    timeouts: Partial<Timeouts> = {},
    transport = open(),
  ): Promise<TransportResponse> =>
    transport.send({
      url: `${url}/path?x=1`,
      headers: { "content-type": "application/json", authorization: "Bearer k" },
      body: '{"prompt":"雪"}',
      timeouts: { ...PATIENT, ...timeouts },
    });

  it("posts the body with its headers and returns the response", async () => {
    const server = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { method, url, headers } = request;
        response.writeHead(201, { "X-Request-Id": "r1", "content-type": "application/json" });
        response.end(
          JSON.stringify({
            method,
            url,
            type: headers["content-type"],
            key: headers.authorization,
            length: headers["content-length"],
            body: Buffer.concat(chunks).toString(),
          }),
        );
      });
    });
    const response = await send(server.url);
    expect(response.status).toBe(201);
    expect(response.headers.get("x-request-id")).toBe("r1");
    expect(response.headers.get("X-REQUEST-ID")).toBe("r1");
    expect(response.headers.get("x-absent")).toBeNull();
    expect(JSON.parse(await readText(response))).toEqual({
      method: "POST",
      url: "/path?x=1",
      type: "application/json",
      key: "Bearer k",
      length: "16",
      body: '{"prompt":"雪"}',
    });
  });

  it("posts a produced body with its length, and posts it again", async () => {
    const bodies: string[] = [];
    const server = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        bodies.push(`${request.headers["content-length"]} ${Buffer.concat(chunks).length} ${chunks[0]?.[0]}`);
        response.end("ok");
      });
    });
    const body: ProducedBody = {
      byteLength: 3_000_000,
      async *[Symbol.asyncIterator]() {
        for (let count = 0; count < 30; count++) yield new Uint8Array(100_000).fill(7);
      },
    };
    const transport = open();
    for (let count = 0; count < 2; count++) {
      const request = { url: server.url, headers: {}, body, timeouts: PATIENT };
      expect(await readText(await transport.send(request))).toBe("ok");
    }
    expect(bodies).toEqual(["3000000 3000000 7", "3000000 3000000 7"]);
  });

  it("fails as broken if a produced body fails", async () => {
    const server = await serve((request) => void request.resume().on("error", () => undefined));
    const body: ProducedBody = {
      byteLength: 3_000_000,
      async *[Symbol.asyncIterator]() {
        yield new Uint8Array(100_000);
        throw new Error("The file cannot be read.");
      },
    };
    const sent = open().send({ url: server.url, headers: {}, body, timeouts: PATIENT });
    await expect(sent).rejects.toEqual(failure("broken"));
  });

  it("fails as unreachable if no server listens", async () => {
    await expect(send(await findClosedUrl())).rejects.toEqual(failure("unreachable"));
  });

  it("fails as unreachable if the name does not exist", async () => {
    await expect(send("http://calotype.invalid")).rejects.toEqual(failure("unreachable"));
  });

  it("fails as broken when the connection is reset before a response", async () => {
    const server = await serve((request) => void request.socket.resetAndDestroy());
    await expect(send(server.url)).rejects.toEqual(failure("broken"));
  });

  it("fails as broken when the server closes the connection before a response", async () => {
    const server = await serve((request) => void request.socket.end());
    await expect(send(server.url)).rejects.toEqual(failure("broken"));
  });

  it("fails as broken if the response is not HTTP", async () => {
    const server = await serve((request) => void request.socket.end("hello\r\n\r\n"));
    await expect(send(server.url)).rejects.toEqual(failure("broken"));
  });

  it("times out if no response begins", async () => {
    const server = await serve(() => {});
    await expect(send(server.url, { connectMs: 100, firstByteMs: 100 })).rejects.toEqual(failure("timeout"));
  });

  it("fails as broken while the body is read, if the connection is cut", async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => setTimeout(() => response.destroy(), 20));
    });
    const response = await send(server.url);
    expect(response.status).toBe(200);
    await expect(readText(response)).rejects.toEqual(failure("broken"));
  });

  it("times out while the body is read, if it stalls", async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200);
      response.write("half");
    });
    await expect(readText(await send(server.url, { idleMs: 100 }))).rejects.toEqual(failure("timeout"));
  });

  it("follows no redirect", async () => {
    const paths: (string | undefined)[] = [];
    const server = await serve(({ url }, response) => {
      paths.push(url);
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    expect((await send(server.url)).status).toBe(302);
    expect(paths).toEqual(["/path?x=1"]);
  });

  it("reuses connections", async () => {
    const server = await serve((request, response) => {
      request.on("end", () => response.end("ok")).resume();
    });
    const transport = open();
    for (let count = 0; count < 10; count++) {
      expect(await readText(await send(server.url, {}, transport))).toBe("ok");
    }
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  it("closes the connection when the reader leaves an endless response", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      pour(response);
    });
    for await (const chunk of (await send(server.url)).body) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await expect(closed.promise).resolves.toBeUndefined();
  });

  it("closes the connection when the response is cancelled", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200);
      response.write("half");
    });
    const response = await send(server.url);
    const reading = readText(response);
    response.cancel();
    await expect(reading).rejects.toEqual(expect.objectContaining({ name: "TransportError" }));
    await expect(closed.promise).resolves.toBeUndefined();
  });

  it("closes the connection when the response is cancelled before its body is read", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(302, { location: "/elsewhere" });
      response.write("half");
    });
    (await send(server.url)).cancel();
    await expect(closed.promise).resolves.toBeUndefined();
  });

  it("can be closed twice", async () => {
    const server = await serve((_request, response) => void response.end("ok"));
    const transport = create();
    await readText(await send(server.url, {}, transport));
    await transport.close();
    await expect(transport.close()).resolves.not.toThrow();
  });
});

function postByUndici(
  url: string,
  timeouts: Partial<Timeouts> = {},
  body: string | ProducedBody = "{}",
): Promise<TransportResponse> {
  const transport = createNodeTransport();
  onTestFinished(() => transport.close());
  return transport.send({ url, headers: {}, body, timeouts: { ...PATIENT, ...timeouts } });
}

describe("the transport over undici", () => {
  it("waits for the response that follows interim responses", async () => {
    const { url } = await serve((_request, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</style.css>; rel=preload" }, () => response.end("done"));
    });
    const upstreamResponse = await postByUndici(url);
    expect(upstreamResponse.status).toBe(200);
    expect(await readText(upstreamResponse)).toBe("done");
  });

  it("makes the sender wait for a slow reader, and loses no byte", async () => {
    const CHUNK = Buffer.alloc(64 * 1024, "x");
    const COUNT = 1_000;
    let sent = 0;
    const { url } = await serve((_request, response) => {
      const write = (): void => {
        while (sent < COUNT) {
          sent += 1;
          if (!response.write(CHUNK)) return void response.once("drain", write);
        }
        response.end();
      };
      write();
    });
    const upstreamResponse = await postByUndici(url);
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(sent).toBeLessThan(COUNT / 2);
    expect(await readText(upstreamResponse)).toHaveLength(COUNT * CHUNK.length);
  });

  it("closes the connection when a response does not begin in time, and not before", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await serve((request) => void request.socket.on("close", () => closed.resolve()));
    const beganAt = performance.now();
    await expect(postByUndici(server.url, { connectMs: 1_000, firstByteMs: 300 })).rejects.toEqual(
      failure("timeout"),
    );
    expect(performance.now() - beganAt).toBeGreaterThanOrEqual(300);
    await expect(closed.promise).resolves.toBeUndefined();
  });

  it("restarts the timeout for the first byte at each interim response", async () => {
    const server = await serve((_request, response) => {
      let count = 0;
      const timer = setInterval(() => {
        count += 1;
        if (count < 10) return response.writeProcessing();
        clearInterval(timer);
        response.end("done");
      }, 150);
    });
    expect(await readText(await postByUndici(server.url, { firstByteMs: 1_000 }))).toBe("done");
  });

  it("waits for a slow response while bytes arrive", async () => {
    const server = await serve((_request, response) => {
      let count = 0;
      const timer = setInterval(() => {
        count += 1;
        response.write("x");
        if (count < 8) return;
        clearInterval(timer);
        response.end();
      }, 150);
    });
    expect(await readText(await postByUndici(server.url, { idleMs: 1_000 }))).toBe("xxxxxxxx");
  });

  it("does not count the time in which the reader is slower", async () => {
    const CHUNK = Buffer.alloc(64 * 1024, "x");
    const COUNT = 500;
    const server = await serve((_request, response) => {
      for (let count = 0; count < COUNT; count++) response.write(CHUNK);
      response.end();
    });
    const upstreamResponse = await postByUndici(server.url, { idleMs: 600 });
    await wait(900);
    expect(await readText(upstreamResponse)).toHaveLength(COUNT * CHUNK.length);
  });

  it("times out a response that stalls after its reader was slower", async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100000000" });
      response.write(Buffer.alloc(8_000_000));
    });
    const upstreamResponse = await postByUndici(server.url, { idleMs: 200 });
    await wait(300);
    await expect(readText(upstreamResponse)).rejects.toEqual(failure("timeout"));
  });

  it("times out an upload that the provider stops reading", async () => {
    const server = await serve(() => {});
    const left = Promise.withResolvers<void>();
    const body: ProducedBody = {
      byteLength: 64_000_000,
      async *[Symbol.asyncIterator]() {
        try {
          for (let count = 0; count < 640; count++) yield new Uint8Array(100_000);
        } finally {
          left.resolve();
        }
      },
    };
    const sent = postByUndici(server.url, { connectMs: 1_000, firstByteMs: 300 }, body);
    await expect(sent).rejects.toEqual(failure("timeout"));
    // The iterator ends when the connection has closed.
    await expect(left.promise).resolves.toBeUndefined();
  });

  it("waits for an upload while it continues", async () => {
    const server = await serve((request, response) => {
      request.on("end", () => response.end("ok")).resume();
    });
    const body: ProducedBody = {
      byteLength: 8,
      async *[Symbol.asyncIterator]() {
        for (let count = 0; count < 8; count++) {
          await wait(150);
          yield new Uint8Array(1);
        }
      },
    };
    expect(await readText(await postByUndici(server.url, { firstByteMs: 1_000 }, body))).toBe("ok");
  });
});

describe("a fetch that fails before there is a connection", () => {
  it.each([
    ["Node", new TypeError("fetch failed", { cause: withCode("ECONNREFUSED") })],
    ["Bun", withCode("ECONNREFUSED")],
    [
      "Deno",
      new TypeError("fetch failed", {
        cause: new Error(
          "error sending request for url (http://x/): client error (Connect): tcp connect error",
        ),
      }),
    ],
  ])("is recognized as unreachable by the error of %s", async (_runtime, error) => {
    const transport = createTransportOver(() => Promise.reject(error));
    const sent = transport.send({ url: "http://x/", headers: {}, body: "", timeouts: PATIENT });
    await expect(sent).rejects.toEqual(failure("unreachable"));
  });
});

describe("the global fetch", () => {
  it("gets a body that Deno does not send twice, and an option against the timeout of Bun", async () => {
    const fetch = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response());
    onTestFinished(async () => fetch.mockRestore());
    await createFetchTransport().send({ url: "http://x/", headers: {}, body: "{}", timeouts: PATIENT });

    const [, init] = fetch.mock.calls[0] ?? [];
    expect(init).toMatchObject({ timeout: false, body: expect.any(Blob) });
    expect(await new Response(init?.body).text()).toBe("{}");
  });
});

function withCode(code: string): Error {
  return Object.assign(new TypeError(`${code}: unable to connect`), { code });
}

/** Writes until the reader leaves. */
function pour(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024);
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
}

describe("the transport over an operator's fetch", () => {
  it("times out if the fetch ignores its signal", async () => {
    let signal: AbortSignal | null | undefined;
    const transport = createTransportOver((_url, init) => {
      ({ signal } = init);
      return new Promise(() => undefined);
    });
    const request = {
      url: "http://localhost/",
      headers: {},
      body: "{}",
      timeouts: { ...PATIENT, connectMs: 10, firstByteMs: 10 },
    };
    await expect(transport.send(request)).rejects.toEqual(failure("timeout"));
    expect(signal?.aborted).toBe(true);
  });
});
