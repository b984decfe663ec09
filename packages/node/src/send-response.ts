import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { GatewayResponse } from "@calotype/core";
import { drainUpload } from "./drain-upload.js";
import { waitForDrain } from "./wait-for-drain.js";

/**
 * How much is written at once. Over TLS a write shows no progress before all of it is taken, and an
 * image of some megabytes may take a slow client longer than it may stall.
 */
const MAX_WRITE_BYTES = 64 * 1024;

interface SendOptions {
  /** How long a client may take nothing of a produced body, in milliseconds. Default: a minute. */
  readonly maxStallMs?: number;
}

interface SendChunksOptions extends SendOptions {
  readonly freeChunk: GatewayResponse["freeChunk"];
}

/**
 * Writes the gateway's answer to the socket: a complete body in one write, a produced one chunk by
 * chunk as fast as the client reads it, if it reads at all. Headers that the host set on the response stay.
 *
 * @returns `undefined` where all is written already
 */
export function sendResponse(
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body, freeChunk }: GatewayResponse,
  options: SendOptions = {},
): Promise<void> | undefined {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    return sendProduced(res, { status, headers, body, freeChunk }, options);
  }
  if (!canAnswer(res)) return undefined;
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
  { status, headers, body, freeChunk }: ProducedResponse,
  options: SendOptions,
): Promise<void> {
  if (!canAnswer(res)) {
    await body[Symbol.asyncIterator]().return?.();
    return;
  }
  try {
    writeHead(res, status, headers).flushHeaders();
  } catch (error) {
    // The host's own headers may be none that can be sent; whoever makes the body must not wait for a reader.
    await body[Symbol.asyncIterator]().return?.();
    throw error;
  }
  // Not awaited here, where the head of the answer would be held until its end.
  return sendChunks(res, body, { ...options, freeChunk: hasPlainWrite(res) ? freeChunk : undefined });
}

// oxlint-disable-next-line typescript/unbound-method -- It is compared, and never called.
const plainWrite = ServerResponse.prototype.write;

/** Whatever stands between, such as a compression or a recorder, may hold a chunk longer than its write takes. */
function hasPlainWrite(res: ServerResponse): boolean {
  return res.write === plainWrite;
}

/** False when the client left or another handler has answered. */
function canAnswer(res: ServerResponse): boolean {
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
  if (!canAnswer(res)) return;
  if (isUploaded(req)) return sendWhole(res, answer);
  writeHead(res, answer.status, { ...answer.headers, connection: "close" }).write(answer.body);
  await drainUpload(req);
  res.end();
}

/**
 * Writes chunks with backpressure. A client that leaves, or stops reading, ends the body by the `return` of its
 * iterator, at once even where the next chunk is minutes away. A body that fails resets the
 * connection: the client must not take what it has for the whole.
 */
async function sendChunks(
  res: ServerResponse,
  body: AsyncIterable<Uint8Array>,
  { maxStallMs, freeChunk }: SendChunksOptions,
): Promise<void> {
  const chunks = body[Symbol.asyncIterator]();
  const stop = (): void => void chunks.return?.().catch(ignoreFailedReturn);
  res.once("close", stop);
  try {
    for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) {
      if (res.destroyed) break;
      if (chunk.length > MAX_WRITE_BYTES) await sendInParts(res, chunk, maxStallMs);
      else if (!write(res, chunk, freeChunk)) await waitForDrain(res, maxStallMs);
      if (res.destroyed) break;
    }
  } catch {
    // Whoever made the body has reported why it failed; here only the client is told.
    res.destroy();
  }
  res.off("close", stop);
  if (!res.destroyed) res.end();
}

/** A smaller one is not worth it. */
const MIN_FREED_BYTES = 16 * 1024;

function write(res: ServerResponse, chunk: Uint8Array, freeChunk: GatewayResponse["freeChunk"]): boolean {
  if (freeChunk === undefined || chunk.length < MIN_FREED_BYTES) return res.write(chunk);
  return res.write(chunk, (error) => {
    // One that was not written may be held by the socket still.
    if (!error) freeChunk(chunk);
  });
}

async function sendInParts(
  res: ServerResponse,
  chunk: Uint8Array,
  maxStallMs: number | undefined,
): Promise<void> {
  for (let start = 0; start < chunk.length && !res.destroyed; start += MAX_WRITE_BYTES) {
    // Not copied.
    if (!res.write(chunk.subarray(start, start + MAX_WRITE_BYTES))) await waitForDrain(res, maxStallMs);
  }
}

/** Nobody reads on; the failure is of no use to anyone here. */
function ignoreFailedReturn(): void {}
