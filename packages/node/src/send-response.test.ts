import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sendResponse } from "./send-response.js";

const MAX_STALL_MS = 250;
/** More than the buffers of both sockets hold. */
const LARGE = new Uint8Array(24 * 1024 * 1024);

describe("a client that stops reading without closing", () => {
  it("is disconnected after the limit, and the body is given up", async () => {
    const source = track(produce(() => LARGE));
    const host = await serve(source.body);
    const answer = await ask(host);

    await vi.waitFor(() => expect(source.ended).toHaveBeenCalled(), 5_000);
    await host.sent();
    await expect(readAtPace(answer, Infinity)).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("is disconnected also after it has read for a while", async () => {
    const source = track(produce(() => LARGE));
    const host = await serve(source.body);
    const answer = await ask(host);
    answer.resume();
    await pause(2 * MAX_STALL_MS);
    expect(source.ended).not.toHaveBeenCalled();

    answer.pause();

    await vi.waitFor(() => expect(source.ended).toHaveBeenCalled(), 5_000);
    await host.sent();
  });

  it("is not blamed while a pipelined answer waits for the one before it", async () => {
    const first = Promise.withResolvers<null>();
    const second = track(produce(() => LARGE));
    const host = await serve(
      produce(() => first.promise),
      second.body,
    );
    const client = connect(Number(new URL(host.url).port), "127.0.0.1").pause();
    client.on("error", () => {});
    client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2));

    await pause(4 * MAX_STALL_MS);
    expect(second.started).toHaveBeenCalled();
    expect(second.ended).not.toHaveBeenCalled();

    first.resolve(null);
    await vi.waitFor(() => expect(second.ended).toHaveBeenCalled(), 5_000);
    await host.sent();
  });

  it("has the time that the host's own timeout gives", async () => {
    const source = track(produce(() => LARGE));
    const host = await serve(source.body);
    host.server.timeout = 60_000;
    await ask(host);

    await pause(4 * MAX_STALL_MS);

    expect(source.ended).not.toHaveBeenCalled();
  });
});

describe("a client that reads on", () => {
  it("is not cut, though one chunk takes it many times the limit", async () => {
    const host = await serve(produce((index) => (index === 0 ? LARGE : null)));
    const answer = await ask(host);
    const start = performance.now();

    expect(await readAtPace(answer, LARGE.length / (6 * MAX_STALL_MS))).toBe(LARGE.length);

    expect(performance.now() - start).toBeGreaterThan(4 * MAX_STALL_MS);
    await host.sent();
  });

  // Over TLS the progress within one write cannot be seen.
  it("gets a large chunk in small writes", async () => {
    const host = await serve(produce((index) => (index === 0 ? LARGE : null)));
    const answer = await ask(host);

    await pause(MAX_STALL_MS / 2);
    expect(host.buffered()).toBeGreaterThan(0);
    expect(host.buffered()).toBeLessThan(256 * 1024);

    expect(await readAtPace(answer, Infinity)).toBe(LARGE.length);
    await host.sent();
  });

  it("is not cut while the provider is silent for longer than the limit", async () => {
    const host = await serve(
      produce(async (index) => {
        if (index === 2) return null;
        if (index === 1) await pause(4 * MAX_STALL_MS);
        return LARGE;
      }),
    );

    expect(await readAtPace(await ask(host), Infinity)).toBe(2 * LARGE.length);
    await host.sent();
  });
});

interface Host {
  readonly url: string;
  readonly server: Server;
  /** Ends when every response so far was sent or given up. */
  readonly sent: () => Promise<unknown>;
  /** Bytes written to the last response that the system has not taken. */
  readonly buffered: () => number;
}

/** Serves these bodies, one to each request, on a free port until the test ends. */
async function serve(...bodies: AsyncIterable<Uint8Array>[]): Promise<Host> {
  const sent: Promise<void>[] = [];
  let last: ServerResponse | undefined;
  const server = createServer((req, res) => {
    last = res;
    const body = bodies[sent.length] ?? "";
    const answer = { status: 200, headers: {}, body };
    sent.push(Promise.resolve(sendResponse(req, res, answer, { maxStallMs: MAX_STALL_MS })));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server,
    sent: () => Promise.all(sent),
    buffered: () => last?.writableLength ?? 0,
  };
}

/** An answer of which nothing is read yet. */
async function ask({ url }: Host): Promise<IncomingMessage> {
  const client = request(url, { agent: false }).end();
  client.on("error", () => {});
  const [answer] = (await once(client, "response")) as [IncomingMessage];
  // The test ends by breaking the connection of an answer that it leaves unread.
  answer.on("error", () => {});
  return answer;
}

/** Reads to the end, no faster than so; gives the number of bytes. */
async function readAtPace(answer: IncomingMessage, bytesPerMs: number): Promise<number> {
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytesPerMs < Infinity) await pause(part.length / bytesPerMs);
  }
  return bytes;
}

/** Chunks until there is none. */
async function* produce(make: (index: number) => Uint8Array | null | Promise<Uint8Array | null>) {
  for (let index = 0; ; index += 1) {
    const chunk = await make(index);
    if (chunk === null) return;
    yield chunk;
  }
}

/** A body, and whether it is being read, and was read to its end or given up. */
function track(chunks: AsyncIterable<Uint8Array>) {
  const [started, ended] = [vi.fn<() => void>(), vi.fn<() => void>()];
  async function* relay() {
    started();
    try {
      yield* chunks;
    } finally {
      ended();
    }
  }
  return { body: relay(), started, ended };
}
