import type { IncomingMessage } from "node:http";
import { allowFreeing } from "@calotype/core/adapter";
import { createSourceCheck } from "./source-check.js";

/** Smaller chunks are not freed, so they need no check. */
const MIN_BYTES = 16 * 1024;

/** Marks a chunk of a request's body, so that the core frees its memory, if no other code gets the chunk. */
export function markOwnChunk(req: IncomingMessage, chunk: Uint8Array): void {
  if (chunk.length >= MIN_BYTES && isFromParser(req) && isOnlyReader(req)) allowFreeing(chunk);
}

/**
 * True if the request comes from the parser of Node's HTTP/1.1 server, which gives each chunk memory of its own. Requests
 * that a framework or a test makes may give memory that they use again.
 */
function isFromParser(req: IncomingMessage): boolean {
  const socket: object = req.socket;
  const parser: unknown = "parser" in socket ? socket.parser : undefined;
  return typeof parser === "object" && parser !== null && "incoming" in parser && parser.incoming === req;
}

/** True if only the gateway listens, and if no recorder or tracer has replaced the functions that pass chunks on. */
function isOnlyReader(req: IncomingMessage): boolean {
  if (req.listenerCount("data") !== 1 || req.listenerCount("readable") !== 0) return false;
  // oxlint-disable-next-line typescript/unbound-method -- Their source is read, and they are never called.
  return isOwnOn(req.on) && isOwnEmit(req.emit) && isOwnPush(req.push);
}

const isOwnOn = createSourceCheck(/\bStream\.prototype\.on\b/);
const isOwnEmit = createSourceCheck(/\bkErrorMonitor\b/);
const isOwnPush = createSourceCheck(/\breadableAddChunk/);
