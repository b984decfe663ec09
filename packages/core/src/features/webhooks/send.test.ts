import type { IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { findClosedUrl, type LoopbackServer, serve } from "../../testing/start-server.js";
import { createFetchTransport } from "../../upstream/transport-fetch.js";
import { createTransport as createNodeTransport } from "../../upstream/transport-node.js";
import type { MessageEndpoint } from "./endpoints.js";
import type { SendResult } from "./schedule.js";
import { type SendParts, sendMessage } from "./send.js";
import { decodeSecret } from "./webhook-options.js";

const SECRETS = ["a", "b", "c"].map((letter) => `whsec_${btoa(letter.repeat(32))}`);
const [SECRET = "", OTHER_SECRET = "", UNKNOWN_SECRET = ""] = SECRETS;
const MESSAGE = { id: `msg_${"0".repeat(32)}`, body: '{"type":"image.task.completed","data":{"name":"图"}}' };

const respond = (status: number, headers: Record<string, string> = {}, body = ""): Promise<LoopbackServer> =>
  serve((request, response) => {
    request.resume();
    response.writeHead(status, headers).end(body);
  });

interface SendOptions extends Partial<Omit<MessageEndpoint, "secrets">> {
  readonly secrets?: readonly string[];
  readonly parts?: Partial<SendParts>;
}

async function send(
  url: string,
  { parts, secrets = [SECRET], ...rest }: SendOptions = {},
): Promise<SendResult> {
  const transport = createNodeTransport();
  onTestFinished(() => transport.close());
  const bytes = secrets.flatMap((secret) => decodeSecret(secret) ?? []);
  const endpoint = { url, publicOnly: false, ...rest, secrets: bytes };
  return sendMessage({ transport, now: Date.now, timeoutMs: 5_000, ...parts }, endpoint, MESSAGE);
}

const failed = (error: unknown): unknown => expect.objectContaining({ kind: "failed", error });

describe("a webhook", () => {
  interface Received {
    readonly method: string | undefined;
    readonly url: string | undefined;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }

  async function receive(secrets: readonly string[]): Promise<Received> {
    const received = Promise.withResolvers<Received>();
    const { url } = await serve((request, response) => {
      const { method, url: path, headers } = request;
      text(request).then((body) => received.resolve({ method, url: path, headers, body }), received.reject);
      response.writeHead(204).end();
    });
    expect(await send(`${url}/hooks?a=1`, { secrets })).toEqual({ kind: "delivered" });
    return await received.promise;
  }

  const verify = (secret: string, { body, headers }: Received): unknown =>
    new Webhook(secret).verify(body, headers as Record<string, string>);

  it("is verified by the library of Standard Webhooks", async () => {
    const received = await receive([SECRET]);

    expect(verify(SECRET, received)).toEqual(JSON.parse(MESSAGE.body));
    expect(received).toMatchObject({
      method: "POST",
      url: "/hooks?a=1",
      body: MESSAGE.body,
      headers: {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(MESSAGE.body)),
        "webhook-id": MESSAGE.id,
        "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
        "webhook-signature": expect.stringMatching(/^v1,[A-Za-z\d+/]{43}=$/),
      },
    });
  });

  it("is verified with the old and the new secret while a secret is replaced", async () => {
    const received = await receive([OTHER_SECRET, SECRET]);

    expect(verify(SECRET, received)).toEqual(JSON.parse(MESSAGE.body));
    expect(verify(OTHER_SECRET, received)).toEqual(JSON.parse(MESSAGE.body));
    expect(() => verify(UNKNOWN_SECRET, received)).toThrow("No matching signature found");
  });

  it("is not verified if its body, id or time was changed", async () => {
    const received = await receive([SECRET]);
    const { headers } = received;

    expect(() => verify(SECRET, { ...received, body: `${received.body} ` })).toThrow("signature");
    expect(() => verify(SECRET, { ...received, headers: { ...headers, "webhook-id": "msg_1" } })).toThrow(
      "signature",
    );
    const timestamp = String(Number(headers["webhook-timestamp"]) - 60);
    expect(() =>
      verify(SECRET, { ...received, headers: { ...headers, "webhook-timestamp": timestamp } }),
    ).toThrow("signature");
  });

  it("has the same signature as the library makes with secrets of every length", async () => {
    for (const length of [24, 63, 64]) {
      const secret = `whsec_${btoa("k".repeat(length))}`;
      const { headers, body } = await receive([secret]);
      const time = new Date(Number(headers["webhook-timestamp"]) * 1000);
      expect(headers["webhook-signature"]).toBe(new Webhook(secret).sign(MESSAGE.id, time, body));
    }
  });
});

describe("an endpoint that responds with", () => {
  it.each([200, 201, 202, 204, 299])("%i has the message", async (status) => {
    expect(await send((await respond(status)).url)).toEqual({ kind: "delivered" });
  });

  it.each([
    [200, { "content-type": "text/html" }, "<html>"],
    [200, { "content-type": "application/json" }, "{"],
    [200, { "content-encoding": "gzip" }, "not gzip"],
    [200, { "set-cookie": "a=b" }, ""],
  ])("%i and %j has the message, whatever its body is: %j", async (status, headers, body) => {
    expect(await send((await respond(status, headers, body)).url)).toEqual({ kind: "delivered" });
  });

  it("410 wants no further message", async () => {
    expect(await send((await respond(410)).url)).toEqual({
      kind: "gone",
      error: "The endpoint responded with status 410.",
    });
  });

  it.each([301, 302, 307, 308])("%i is not followed", async (status) => {
    const target = await respond(200);
    const { url } = await respond(status, { location: target.url });

    expect(await send(url)).toEqual(failed(`The endpoint responded with status ${status}.`));
    expect(target.connections()).toBe(0);
  });

  it.each([400, 401, 404, 422, 429, 500, 502, 503, 504])("%i does not have the message", async (status) => {
    expect(await send((await respond(status)).url)).toEqual(
      failed(`The endpoint responded with status ${status}.`),
    );
  });

  it.each<[number, string, string, number | undefined]>([
    [429, "30", "30 s", 30_000],
    [503, "30", "30 s", 30_000],
    [503, "Fri, 15 Jan 2027 08:01:00 GMT", "60 s", 60_000],
    [503, "Fri, 15 Jan 2027 07:59:00 GMT", "no time", undefined],
    [503, "soon", "no time", undefined],
    [503, "-1", "no time", undefined],
    [503, "99999999999999", "no time", undefined],
    [500, "30", "no time", undefined],
  ])("%i and retry-after %j asks to wait for %s", async (status, header, _wait, retryAfterMs) => {
    const { url } = await respond(status, { "retry-after": header });
    expect(await send(url, { parts: { now: () => Date.parse("2027-01-15T08:00:00Z") } })).toEqual({
      kind: "failed",
      error: `The endpoint responded with status ${status}.`,
      retryAfterMs,
    });
  });
});

describe("an endpoint", () => {
  it("that cannot be reached does not have the message", async () => {
    expect(await send(await findClosedUrl())).toEqual(failed("The endpoint cannot be reached: ECONNREFUSED"));
    expect(await send("https://calotype.invalid/")).toEqual(
      failed(expect.stringMatching(/^The endpoint cannot be reached: E/)),
    );
  });

  it("that does not speak TLS does not have the message", async () => {
    const { url } = await respond(200);
    expect(await send(url.replace("http:", "https:"))).toEqual(
      failed(expect.stringMatching(/^The (endpoint cannot|connection to the endpoint)/)),
    );
  });

  it("whose name has an address that is not public is not sent to: the check is made when connecting", async () => {
    const server = await respond(200);
    const url = server.url.replace("127.0.0.1", "localhost");

    expect(await send(url, { publicOnly: true })).toEqual(
      failed("The connection to the endpoint failed: localhost has an address that is not public."),
    );
    expect(server.connections()).toBe(0);
  });

  it("that is allowed is reached on a new connection of its own, not on one that was checked less", async () => {
    const transport = createNodeTransport();
    onTestFinished(() => transport.close());
    const server = await respond(200);
    const url = server.url.replace("127.0.0.1", "localhost");
    const parts = { transport };

    expect(await send(url, { parts })).toEqual({ kind: "delivered" });
    expect(await send(url, { parts, publicOnly: true })).toMatchObject({ kind: "failed" });
  });

  it("that never responds does not have the message when the time is over", async () => {
    const { url } = await serve((request) => void request.resume());
    const startedAt = performance.now();

    expect(await send(url, { parts: { timeoutMs: 200 } })).toEqual(
      failed("The endpoint did not respond in time."),
    );
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it("that sends its headers one by one does not have the message when the time is over", async () => {
    const { url } = await serve(({ socket }) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => socket.write("x-slow: 1\r\n"), 20);
      socket.on("close", () => clearInterval(timer));
    });
    const startedAt = performance.now();

    expect(await send(url, { parts: { timeoutMs: 300 } })).toEqual(
      failed("The endpoint did not respond in time."),
    );
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it("that ends the connection does not have the message", async () => {
    const { url } = await serve(({ socket }) => void socket.destroy());

    expect(await send(url)).toEqual(
      failed(expect.stringMatching(/^The connection to the endpoint failed: UND_ERR/)),
    );
  });

  it("that sends its body byte by byte has the message, and is left when the time is over", async () => {
    const isLeft = Promise.withResolvers<void>();
    const { url } = await serve((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => {
        clearInterval(timer);
        isLeft.resolve();
      });
    });

    expect(await send(url, { parts: { timeoutMs: 300 } })).toEqual({ kind: "delivered" });
    await isLeft.promise;
  });

  it("that sends a body without end has the message, and is left after a few bytes", async () => {
    let written = 0;
    const isLeft = Promise.withResolvers<void>();
    const { url } = await serve((_request, response) => {
      response.writeHead(200);
      const write = (): void => {
        written += 65_536;
        response.write(Buffer.alloc(65_536));
      };
      response.on("drain", write);
      response.on("close", () => isLeft.resolve());
      write();
    });

    expect(await send(url)).toEqual({ kind: "delivered" });
    await isLeft.promise;
    // What the sockets hold has been written too.
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  it("that responds to many messages has one connection", async () => {
    const transport = createNodeTransport();
    onTestFinished(() => transport.close());
    const server = await respond(500, {}, "an error page");
    for (let count = 0; count < 5; count++) await send(server.url, { parts: { transport } });

    expect(server.connections()).toBe(1);
  });
});

describe("over the operator's own fetch", () => {
  it("a message is sent without following redirects", async () => {
    const inits: RequestInit[] = [];
    const transport = createFetchTransport(async (_url, init) => {
      inits.push(init);
      return new Response(null, { status: 200 });
    });

    expect(await send("https://example.com/", { parts: { transport } })).toEqual({ kind: "delivered" });
    expect(inits).toMatchObject([{ method: "POST", redirect: "manual", body: MESSAGE.body }]);
  });

  it.each([
    [
      new Error(`bad\0\uD800${"x".repeat(1_000)}`),
      /^The connection to the endpoint failed: bad\uFFFDx{180,200}$/,
    ],
    ["a string", /^The connection to the endpoint failed: a string$/],
    [undefined, /^The connection to the endpoint failed/],
  ])("what it throws becomes a short reason that every store can keep: %j", async (thrown, reason) => {
    const transport = createFetchTransport(() => Promise.reject(thrown));

    expect(await send("https://example.com/", { parts: { transport } })).toEqual(
      failed(expect.stringMatching(reason)),
    );
  });

  it("a response that comes after the time is over is cancelled", async () => {
    const late = Promise.withResolvers<Response>();
    const isCancelled = Promise.withResolvers<void>();
    const transport = createFetchTransport(() => late.promise);
    const sent = send("https://example.com/", {
      parts: {
        timeoutMs: 20,
        transport: {
          ...transport,
          send: async (request) => {
            const response = await transport.send(request);
            return { ...response, cancel: () => isCancelled.resolve() };
          },
        },
      },
    });

    expect(await sent).toEqual(failed("The endpoint did not respond in time."));
    late.resolve(new Response("late"));
    await isCancelled.promise;
  });
});
