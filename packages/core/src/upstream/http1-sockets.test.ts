import { createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { removeContinue } from "./http1-sockets.js";
import { type Transport, TransportError } from "./transport.js";
import { createTransport } from "./transport-node.js";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
const FINAL = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

describe("the start of a response without its 100 Continue", () => {
  it.each([
    ["one", CONTINUE + FINAL, FINAL],
    ["several", CONTINUE + CONTINUE + CONTINUE + FINAL, FINAL],
    ["one with headers", `HTTP/1.1 100 Go\r\nx: y\r\n\r\n${FINAL}`, FINAL],
    ["one without a reason", `HTTP/1.1 100\r\n\r\n${FINAL}`, FINAL],
    ["one of HTTP/1.0", `HTTP/1.0 100 Continue\r\n\r\n${FINAL}`, FINAL],
    ["one among others", CONTINUE + HINTS + CONTINUE + FINAL, HINTS + FINAL],
    ["none", FINAL, FINAL],
    ["none, and a body that looks like one", FINAL + CONTINUE, FINAL + CONTINUE],
    ["101", `HTTP/1.1 101 Switching\r\n\r\n${CONTINUE}`, `HTTP/1.1 101 Switching\r\n\r\n${CONTINUE}`],
    ["something else", `SSH-2.0 hello\r\n\r\n${CONTINUE}`, `SSH-2.0 hello\r\n\r\n${CONTINUE}`],
    ["a head that is too long", `HTTP/1.1 100 ${"a".repeat(20_000)}`, `HTTP/1.1 100 ${"a".repeat(20_000)}`],
  ])("is correct for %s, split at any byte", (_what, text, expected) => {
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= Math.min(bytes.length, 200); cut++) {
      const first = removeContinue(bytes.subarray(0, cut));
      const second = first.isFinal ? bytes.subarray(cut) : Buffer.concat([first.rest, bytes.subarray(cut)]);
      const passed = first.isFinal ? second : removeContinue(second).passed;
      expect(Buffer.concat([first.passed, passed]).toString()).toBe(expected);
    }
  });

  it("is held while it may become one", () => {
    for (const text of [
      "H",
      "HTTP/1.",
      "HTTP/1.1 1",
      "HTTP/1.1 10",
      "HTTP/1.1 100 Cont",
      "HTTP/1.1 102 x\r\n\r",
    ]) {
      expect(removeContinue(Buffer.from(text))).toMatchObject({ isFinal: false, rest: Buffer.from(text) });
    }
    expect(removeContinue(Buffer.from("HTTP/1.1 2")).isFinal).toBe(true);
  });
});

interface RawServer {
  readonly url: string;
  /** The connections so far. */
  readonly connections: () => number;
}

/** Starts a server that responds to each request with these strings, one write for each. */
async function startRaw(...responses: readonly (readonly string[])[]): Promise<RawServer> {
  let connections = 0;
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => undefined);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (!received.endsWith("done")) return;
      received = "";
      void respond(socket, responses[requests++] ?? []);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, connections: () => connections };
}

async function respond(socket: Socket, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    socket.write(text);
    await pause(5);
  }
}

async function ask(transport: Transport, url: string): Promise<string> {
  const timeouts = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };
  const response = await transport.send({ url, headers: {}, body: "done", timeouts });
  let text = `${response.status} `;
  for await (const chunk of response.body) text += Buffer.from(chunk).toString();
  return text;
}

function openTransport(): Transport {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  return transport;
}

describe("a provider that sends interim responses", () => {
  it.each([
    ["100 in the same segment", [CONTINUE + FINAL]],
    ["100 in a segment of its own", [CONTINUE, FINAL]],
    ["100 byte by byte", [...CONTINUE.split(""), FINAL]],
    ["several of them", [CONTINUE + CONTINUE, HINTS, CONTINUE + FINAL]],
    ["102 and 103", ["HTTP/1.1 102 Processing\r\n\r\n", HINTS, FINAL]],
    ["none", [FINAL]],
  ])("is understood: %s", async (_what, texts) => {
    const server = await startRaw(texts, texts);
    const transport = openTransport();
    expect(await ask(transport, server.url)).toBe("200 {}");
    // The pool gives the connection out again in a moment.
    await pause(50);
    expect(await ask(transport, server.url)).toBe("200 {}");
    // The connection is used again.
    expect(server.connections()).toBe(1);
  });

  it("may send one after a response, which is not part of the next", async () => {
    const server = await startRaw([FINAL + CONTINUE], [CONTINUE + FINAL]);
    const transport = openTransport();
    expect(await ask(transport, server.url)).toBe("200 {}");
    expect(await ask(transport, server.url)).toBe("200 {}");
  });

  it("keeps a body that looks like one", async () => {
    const body = CONTINUE.repeat(3);
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
    const server = await startRaw([CONTINUE, head, ...(CONTINUE.repeat(3).match(/.{25}/gs) ?? [])]);
    expect(await ask(openTransport(), server.url)).toBe(`200 ${body}`);
  });

  it("is broken if nothing follows", async () => {
    const server = await startRaw([CONTINUE]);
    const transport = openTransport();
    const timeouts = { connectMs: 5_000, firstByteMs: 300, idleMs: 300 };
    const sent = transport.send({ url: server.url, headers: {}, body: "done", timeouts });
    await expect(sent).rejects.toBeInstanceOf(TransportError);
  });
});
