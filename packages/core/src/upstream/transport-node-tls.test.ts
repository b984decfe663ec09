import { createSecureServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isFreeable } from "../util/free-chunk.js";
import type { Transport } from "./transport.js";
import { createTransport } from "./transport-node.js";

/** For localhost, made for this test, valid until 2126. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUfzpWvwY/zGL98GoVvh/w3VK4W4gwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjAzNDMxOVoYDzIxMjYxMDI5
MDM0MzE5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT/ty26L158U3y7AJkxKN2KmgBTXfXY6AoabyecF7PV7Az4dS2eRTJI
K94axEyVT6tef8eBfGHnsz35jplQuIduo28wbTAdBgNVHQ4EFgQUl+c1CyaWD7Kj
xeKp7ISxry9s0vowHwYDVR0jBBgwFoAUl+c1CyaWD7KjxeKp7ISxry9s0vowDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhANttcBg2NoLVXewgi/q/r4k1LI5U5tl64g0Ss81Y6eMBAiEA
6b8SnNpnZGjU/T1vCULZrqgxoNX8/y4DBez99KXvd9w=
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcTnm1VJdkt3LNgSr
HNFzPlmpgCkxWgUSbQtge+fi5AahRANCAAT/ty26L158U3y7AJkxKN2KmgBTXfXY
6AoabyecF7PV7Az4dS2eRTJIK94axEyVT6tef8eBfGHnsz35jplQuIdu
-----END PRIVATE KEY-----`;

/** The common part of the listeners of both servers. */
type RequestListener = (
  request: unknown,
  response: {
    writeContinue(): unknown;
    writeEarlyHints(hints: Record<string, string>): unknown;
    end(text: string): unknown;
  },
) => void;

const known = getCACertificates("default");
beforeAll(() => setDefaultCACertificates([...known, CERTIFICATE]));
afterAll(() => setDefaultCACertificates(known));

const TLS = { cert: CERTIFICATE, key: KEY };

const speakHttp2 = (): Server =>
  createHttp2Server(TLS, ({ httpVersion }, response) => void response.end(httpVersion));
const hangOverHttp2 = (): Server => createHttp2Server(TLS, () => {});

/** A provider behind a proxy that can drop all open connections silently. */
async function startProvider(create: () => Server) {
  const server = create();
  const sockets: Socket[] = [];
  const proxy = createServer((client) => {
    const provider = connect(portOf(server));
    sockets.push(client, provider);
    client.pipe(provider).pipe(client);
    for (const socket of [client, provider]) socket.on("error", () => undefined);
  });
  for (const listener of [server, proxy]) {
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  }
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    proxy.close();
  });
  return {
    origin: `https://localhost:${portOf(proxy)}`,
    connections: () => sockets.length / 2,
    loseConnections: () => {
      for (const socket of sockets) socket.unpipe().resume();
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function open(): Transport {
  const transport = createTransport();
  onTestFinished(async () => await transport.abort?.());
  return transport;
}

async function ask(transport: Transport, origin: string, firstByteMs: number): Promise<string> {
  const timeouts = { connectMs: 5_000, firstByteMs, idleMs: 5_000 };
  const { body } = await transport.send({ url: `${origin}/`, headers: {}, body: "{}", timeouts });
  const chunks = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("the transport over undici", () => {
  it.each([
    ["HTTP/2", (listener: RequestListener) => createHttp2Server(TLS, listener)],
    ["HTTP/1.1 over TLS", (listener: RequestListener) => createHttpsServer(TLS, listener)],
  ])("understands 100, 102 and 103 before a response over %s", async (_name, create) => {
    const { origin } = await startProvider(() =>
      create((_request, response) => {
        response.writeContinue();
        response.writeEarlyHints({ link: "</x>; rel=preload" });
        response.writeContinue();
        response.end("made");
      }),
    );
    const transport = open();
    expect(await ask(transport, origin, 5_000)).toBe("made");
    expect(await ask(transport, origin, 5_000)).toBe("made");
  });

  it("replaces an HTTP/2 connection that was dropped silently", async () => {
    const { origin, connections, loseConnections } = await startProvider(speakHttp2);
    const transport = open();
    expect(await ask(transport, origin, 5_000)).toBe("2.0");
    loseConnections();
    await expect(ask(transport, origin, 100)).rejects.toThrow("timeout");
    expect(await ask(transport, origin, 2_500)).toBe("2.0");
    expect(connections()).toBe(2);
  });

  it("times out a request on the first HTTP/2 connection", async () => {
    const { origin } = await startProvider(hangOverHttp2);
    await expect(ask(open(), origin, 300)).rejects.toThrow("timeout");
  });
});

describe("the memory of a large chunk", () => {
  const CHUNK = Buffer.alloc(60 * 1024);

  it.each([
    [
      "may be freed over HTTP/1.1",
      () => createHttpsServer(TLS, (_request, response) => response.end(CHUNK)),
      true,
    ],
    [
      "must not be freed over HTTP/2, because chunks may share it",
      () => createHttp2Server(TLS, (_request, response) => void response.end(CHUNK)),
      false,
    ],
  ])("%s", async (_name, create, isExpected) => {
    const { origin } = await startProvider(create);
    const timeouts = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };
    const response = await open().send({ url: `${origin}/`, headers: {}, body: "{}", timeouts });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    expect(chunks.some(isFreeable)).toBe(isExpected);
  });
});
