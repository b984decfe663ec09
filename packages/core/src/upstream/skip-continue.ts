import type { Socket } from "node:net";
import type { buildConnector } from "undici";

const NOTHING = Buffer.alloc(0);
/** The start of an interim response; 101 is none, because it ends HTTP on the connection. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d/;
const INTERIM_LENGTH = "HTTP/1.1 100".length;
const HEAD_END = "\r\n\r\n";
/** A longer head is left to the parser of HTTP, which refuses it. */
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * Hides `100 Continue` from undici, on a connection of HTTP/1.1. A server may send it although nobody asked for it, and a
 * client must ignore it then (RFC 9110, 15.2.1). undici 8.12 ends the connection instead, and the image is lost. It has no
 * option for this, so the bytes are taken out of what it reads, and only where the head of a response is due.
 */
function skipContinue(socket: Socket): void {
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
      if (!isHeadDue || !Buffer.isBuffer(chunk)) return chunk;
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const { passed, rest, isFinal } = removeContinue(bytes);
      held = rest;
      isHeadDue = !isFinal;
      // As if nothing had come yet.
      return passed.length > 0 ? passed : null;
    },
  });
}

/** The same connector, whose connections skip `100 Continue`. HTTP/2 has its own way to tell it apart. */
export function skippingContinue(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      const [error, socket] = outcome;
      if (error === null && !("alpnProtocol" in socket && socket.alpnProtocol === "h2")) skipContinue(socket);
      callback(...outcome);
    });
}

/** undici writes the head of a request as one string. Bodies are bytes. */
function isRequestHead(data: unknown): boolean {
  return typeof data === "string" && (data.startsWith("POST ") || data.startsWith("GET "));
}

/** Bytes from the start of a response, without each `100 Continue`. */
export interface WithoutContinue {
  /** What goes to the parser. */
  readonly passed: Buffer;
  /** The beginning of a head, which is held until its end comes. */
  readonly rest: Buffer;
  /** The final response has begun: what follows is passed as it is. */
  readonly isFinal: boolean;
}

/** Removes each `100 Continue` and keeps all other interim responses, such as 102 and 103. */
export function removeContinue(bytes: Buffer): WithoutContinue {
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
