import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { GatewayResponse } from "@calotype/core";
import { drainUpload } from "./drain-upload.js";
import { isWrittenByNode } from "./is-written-by-node.js";

/**
 * Writes the gateway's response to the socket. A complete body takes one write. A streamed body is written chunk by
 * chunk, as fast as the client reads it. Headers that the host set on the response stay.
 *
 * @returns `undefined` if everything is already written
 */
export function sendResponse(
  req: IncomingMessage,
  res: ServerResponse,
  response: GatewayResponse,
): Promise<void> | undefined {
  const { status, headers, body } = response;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    return sendProduced(res, { ...response, body });
  }
  if (!canResponse(res)) return undefined;
  const answer = {
    status,
    headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
    body,
  };
  if (!isUploaded(req)) return answerDuringUpload(req, res, answer);
  sendWhole(res, answer);
  return undefined;
}

/** An answer with all of its body. */
interface WholeResponse extends GatewayResponse {
  readonly body: string | Uint8Array<ArrayBuffer>;
}

function sendWhole(res: ServerResponse, { status, headers, body }: WholeResponse): void {
  writeHead(res, status, headers).end(body);
}

/**
 * Adds the gateway's list of exposed headers to the one that a CORS middleware has set. Every other header of the gateway
 * replaces the host's of the same name.
 */
function writeHead(res: ServerResponse, status: number, headers: OutgoingHttpHeaders): ServerResponse {
  const exposed = headers[EXPOSED];
  const before = exposed === undefined ? undefined : res.getHeader(EXPOSED);
  if (exposed === undefined || before === undefined) return res.writeHead(status, headers);
  return res.writeHead(status, { ...headers, [EXPOSED]: [before, exposed].flat().join(", ") });
}

const EXPOSED = "access-control-expose-headers";

/** An answer whose body is produced as it is read. */
interface ProducedResponse extends GatewayResponse {
  readonly body: AsyncIterable<Uint8Array>;
}

async function sendProduced(
  res: ServerResponse,
  { status, headers, body, freeChunk, onIdle }: ProducedResponse,
): Promise<void> {
  if (!canResponse(res)) {
    await body[Symbol.asyncIterator]().return?.();
    return;
  }
  try {
    writeHead(res, status, headers).flushHeaders();
  } catch (error) {
    // Node throws if headers that the host set cannot be sent. The body must then not wait for a reader.
    await body[Symbol.asyncIterator]().return?.();
    throw error;
  }
  onIdle?.(createDisconnect(res));
  // Not awaited here: that would hold the head of the response until its end.
  return sendChunks(res, body, freeChunk);
}

/** How many times a pipelined response gets the whole time limit again while it waits for its turn. */
const MAX_TURNS_WAITED = 15;

/**
 * Ends the connection of a client that does not read, unless the response has no socket yet: a pipelined response
 * gets its socket when the response before it has ended.
 */
function createDisconnect(res: ServerResponse): () => boolean {
  let waited = 0;
  return () => {
    const waitsForSocket = res.socket === null && !res.destroyed && waited < MAX_TURNS_WAITED;
    if (waitsForSocket) waited++;
    else res.destroy();
    return waitsForSocket;
  };
}

/** False when the client left or another handler has answered. */
function canResponse(res: ServerResponse): boolean {
  return !res.destroyed && !res.headersSent;
}

/**
 * True when nothing of the request is still to come. A request answered in the same turn is not yet
 * `complete` even without a body; it has none without either header (RFC 9112, section 6.3).
 */
function isUploaded({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

/**
 * An answer while the client is still sending, or its end is not yet told: of what came in one piece Node tells the
 * head, the body and the end one after another. Closing at once would reset the connection before the client has read
 * the answer, so the rest of the upload is taken in for a moment.
 */
async function answerDuringUpload(
  req: IncomingMessage,
  res: ServerResponse,
  answer: WholeResponse,
): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  if (!canResponse(res)) return;
  if (isUploaded(req)) return sendWhole(res, answer);
  writeHead(res, answer.status, { ...answer.headers, connection: "close" }).write(answer.body);
  await drainUpload(req);
  res.end();
}

/**
 * Writes chunks with backpressure. If the client disconnects, `return` of the body's iterator ends the body at once,
 * even if the next chunk would come minutes later. If the body fails, the connection is reset, so that the client
 * does not take an incomplete response for a complete one.
 */
async function sendChunks(
  res: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  freeChunk: GatewayResponse["freeChunk"],
): Promise<void> {
  const chunks = body[Symbol.asyncIterator]();
  const stop = (): void => void chunks.return?.().catch(ignoreFailedReturn);
  res.once("close", stop);
  try {
    for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) {
      if (res.destroyed) break;
      if (!write(res, chunk, freeChunk)) await waitForDrain(res);
      if (res.destroyed) break;
    }
  } catch {
    // The code that produced the body has already reported the failure; here only the connection is reset.
    res.destroy();
  }
  res.off("close", stop);
  if (!res.destroyed) res.end();
}

/** In bytes. Freeing a smaller chunk is not worth its cost. */
const MIN_FREED_BYTES = 16 * 1024;

/** Frees a chunk once it is written, under the conditions of docs/decisions/0015. */
function write(res: ServerResponse, chunk: Uint8Array, freeChunk: GatewayResponse["freeChunk"]): boolean {
  if (freeChunk === undefined || chunk.length < MIN_FREED_BYTES || !isWrittenByNode(res)) {
    return res.write(chunk);
  }
  return res.write(chunk, (error) => {
    // The socket may still hold a chunk that was not written.
    if (!error) freeChunk(chunk);
  });
}

/** Resolves when the client has read what was written, or is gone. */
function waitForDrain(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      res.off("drain", settle);
      res.off("close", settle);
      resolve();
    };
    res.on("drain", settle);
    res.on("close", settle);
    // A response that was closed before the listeners were added emits no event any more.
    if (res.destroyed) settle();
  });
}

/** Nobody reads on; the failure is of no use to anyone here. */
function ignoreFailedReturn(): void {}
