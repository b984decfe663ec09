import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import { allowFreeing } from "../util/free-chunk.js";

/**
 * Wraps a connector so that its HTTP/1.1 connections skip `100 Continue`, and so that the memory of large chunks may be
 * freed when they have been written. HTTP/2 needs neither: it marks interim responses itself, and its chunks may share
 * memory.
 */
export function watchHttp1Sockets(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      const [error, socket] = outcome;
      if (error === null && !("alpnProtocol" in socket && socket.alpnProtocol === "h2")) watchSocket(socket);
      callback(...outcome);
    });
}

const NOTHING = Buffer.alloc(0);
/** Matches the start of an interim response. 101 is not one, because it ends HTTP on the connection. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d/;
const INTERIM_LENGTH = "HTTP/1.1 100".length;
const HEAD_END = "\r\n\r\n";
/** The maximum length of a head. The HTTP parser gets a longer head, and refuses it. */
const MAX_HEAD_BYTES = 16 * 1024;

/** Subscribers get each chunk of a body, and may keep it. */
const chunkReceived = channel("undici:request:bodyChunkReceived");

/**
 * Hides `100 Continue` from undici. A server may send it without being asked, and a client must then ignore it (RFC 9110,
 * 15.2.1). undici 8.12 ends the connection instead, and the image is lost. undici has no option for this, so the bytes
 * are removed from its input, but only while the head of a response is expected.
 */
function watchSocket(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket);
  let isHeadDue = false;
  let held: Buffer = NOTHING;

  Object.assign(socket, {
    write(...args: Parameters<Socket["write"]>): boolean {
      if (isRequestHead(args[0])) isHeadDue = true;
      return write(...args);
    },
    read(size?: number): unknown {
      const chunk: unknown = read(size);
      if (!Buffer.isBuffer(chunk)) return chunk;
      if (!chunkReceived.hasSubscribers) allowFreeing(chunk);
      if (!isHeadDue) return chunk;
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const { passed, rest, isFinal } = removeContinue(bytes);
      held = rest;
      isHeadDue = !isFinal;
      // Equivalent to no bytes having arrived.
      return passed.length > 0 ? passed : null;
    },
  });
}

/** undici writes the head of a request as one string. Bodies are bytes. */
function isRequestHead(data: unknown): boolean {
  return typeof data === "string" && (data.startsWith("POST ") || data.startsWith("GET "));
}

/** Bytes from the start of a response, without each `100 Continue`. */
export interface WithoutContinue {
  /** Returns the bytes for the parser. */
  readonly passed: Buffer;
  /** The beginning of a head, held until its end arrives. */
  readonly rest: Buffer;
  /** The final response has begun; the following bytes are passed on unchanged. */
  readonly isFinal: boolean;
}

const STATUS_AT = "HTTP/1.1 ".length;
const DIGIT_1 = 0x31;

/** Removes each `100 Continue` and keeps all other interim responses, such as 102 and 103. */
export function removeContinue(bytes: Buffer): WithoutContinue {
  const digit = bytes[STATUS_AT];
  if (digit !== undefined && digit !== DIGIT_1) return { passed: bytes, rest: NOTHING, isFinal: true };
  const kept: Buffer[] = [];
  let from = 0;
  for (;;) {
    const head = bytes.subarray(from);
    const start = head.toString("latin1", 0, INTERIM_LENGTH);
    const end = head.indexOf(HEAD_END);
    const mayBeInterim = start.length < INTERIM_LENGTH ? isStartOfInterim(start) : INTERIM.test(start);
    if (mayBeInterim && end === -1 && head.length <= MAX_HEAD_BYTES) {
      return { passed: Buffer.concat(kept), rest: head, isFinal: false };
    }
    if (!mayBeInterim || end === -1) {
      return {
        passed: kept.length === 0 ? head : Buffer.concat([...kept, head]),
        rest: NOTHING,
        isFinal: true,
      };
    }
    const next = end + HEAD_END.length;
    if (!start.endsWith("100")) kept.push(head.subarray(0, next));
    from += next;
  }
}

function isStartOfInterim(start: string): boolean {
  return (
    INTERIM.test(start + "HTTP/1.1 100".slice(start.length)) ||
    INTERIM.test(start + "HTTP/1.0 102".slice(start.length))
  );
}
