import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Call, ReadResponse } from "./http-client.js";

/** A client without a library that stops sending, or reads, automatically. */
export interface RawClient {
  readonly socket: Socket;
  /** Resolves with the complete response. Rejects if the connection breaks before that. */
  readonly response: () => Promise<ReadResponse>;
}

/** Opens a connection and sends the head of a request. Nothing is read before `response` is called. */
export async function openRaw(
  origin: string,
  { method = "POST", path, headers = {} }: Call,
): Promise<RawClient> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  // A server may reset the connection of a client that continues to send. `response` rejects if this happens
  // too early.
  socket.on("error", () => {});
  const lines = Object.entries({ host: hostname, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return { socket, response: () => readWholeResponse(socket) };
}

/** Sends a piece of a chunked body every few milliseconds until the connection ends. */
export function sendEndlessly(socket: Socket): { readonly sentBytes: () => number } {
  const chunk = toChunk(Buffer.alloc(16 * 1024, 0x20));
  let sent = 0;
  const timer = setInterval(() => {
    socket.write(chunk);
    sent += chunk.length;
  }, 2);
  socket.once("close", () => clearInterval(timer));
  return { sentBytes: () => sent };
}

/** A piece of a body in chunked encoding. */
export function toChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]);
}

function readWholeResponse(socket: Socket): Promise<ReadResponse> {
  return new Promise((resolve, reject) => {
    let received = "";
    socket.setEncoding("utf8").on("data", (text) => {
      received += String(text);
      const response = parseResponse(received);
      if (response !== undefined) resolve(response);
    });
    const fail = (): void => reject(new Error(`The connection ended after: ${received}`));
    socket.once("close", fail);
    if (socket.destroyed) fail();
  });
}

function parseResponse(received: string): ReadResponse | undefined {
  const [head = "", text] = received.split("\r\n\r\n", 2);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [line.split(":", 1)[0]?.toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  if (text === undefined || Buffer.byteLength(text) < Number(headers["content-length"])) return undefined;
  return { status: Number(statusLine.split(" ")[1]), headers, text };
}
