import type { IncomingMessage, ServerResponse } from "node:http";
import process from "node:process";
import { type ChunkFlow, type ChunkSink, type GatewayResponse, openFlow } from "@calotype/core/adapter";
import { writeChunk } from "./write-chunk.js";

/**
 * Writes the gateway's response to the socket. A complete body takes one write. A streamed body is written chunk by
 * chunk, as fast as the client reads it. Headers that the host set on the response stay.
 */
export function sendResponse(
  req: IncomingMessage,
  res: ServerResponse,
  response: GatewayResponse,
): Promise<void> | undefined {
  const { status, headers, body } = response;
  if (typeof body !== "string" && !(body instanceof Uint8Array))
    return sendStream(res, { ...response, body });
  // Responses without a body have no length (RFC 9110, section 8.6). A response to HEAD states the length of the body that
  // GET would get.
  const hasLength = status !== 204 && status !== 304;
  const complete = {
    status,
    body,
    headers: hasLength ? { "content-length": `${Buffer.byteLength(body)}`, ...headers } : headers,
  };
  if (!isUploaded(req)) return sendDuringUpload(req, res, complete);
  if (canSend(res)) sendComplete(res, complete);
  return undefined;
}

interface CompleteResponse extends GatewayResponse {
  readonly body: string | Uint8Array<ArrayBuffer>;
}

function sendComplete(res: ServerResponse, { status, headers, body }: CompleteResponse): void {
  writeHead(res, status, headers).end(body);
}

const MAX_DRAIN_MS = 1_000;

/**
 * Sends a response while the client may still be sending its body. Closing the connection at once would reset it before
 * the client has read the response, so the rest of the upload is read and discarded for at most a second.
 */
async function sendDuringUpload(
  req: IncomingMessage,
  res: ServerResponse,
  response: CompleteResponse,
): Promise<void> {
  // Node emits the end of a request only after the code that got its head has returned.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  if (!canSend(res)) return;
  if (isUploaded(req)) return sendComplete(res, response);
  writeHead(res, response.status, { ...response.headers, connection: "close" }).write(response.body);
  req.resume();
  if (!req.destroyed && !req.readableEnded) await waitForEvent(req, "end", MAX_DRAIN_MS);
  res.end();
}

/**
 * True if no byte of the request is still to come. A request that gets its response in the same turn is not `complete`
 * yet. It has no body if it has neither of these headers (RFC 9112, section 6.3).
 */
function isUploaded({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
}

interface StreamedResponse extends GatewayResponse {
  readonly body: AsyncIterable<Uint8Array>;
}

async function sendStream(
  res: ServerResponse,
  { status, headers, body, onIdle }: StreamedResponse,
): Promise<void> {
  const chunks = openFlow(body);
  if (!canSend(res)) {
    await chunks.leave();
    return;
  }
  try {
    writeHead(res, status, headers).flushHeaders();
  } catch (error) {
    // Node throws if headers that the host set cannot be sent. The body must then not wait for a reader.
    await chunks.leave();
    throw error;
  }
  onIdle?.(createDisconnect(res));
  // Not awaited: this function would hold the head of the response until its end.
  return sendChunks(res, chunks);
}

/**
 * Writes chunks with backpressure. If the client disconnects, the body is left at once, even if the next chunk would come
 * minutes later. If the body fails, the connection is reset, so that the client does not take an incomplete response for
 * a complete one.
 */
function sendChunks(res: ServerResponse, chunks: ChunkFlow): Promise<void> {
  return new Promise((resolve) => {
    new ChunkWriter(res, chunks, resolve).write();
  });
}

/**
 * Writes the chunks of a flow. It takes them without a promise for each: with the body's iterator, a stream of small events
 * takes a tenth more CPU time.
 */
class ChunkWriter implements ChunkSink {
  readonly #res: ServerResponse;
  readonly #chunks: ChunkFlow;
  readonly #resolve: () => void;
  #isWaiting = false;
  #isJoining = false;

  /** @param resolve called when nothing more is written */
  constructor(res: ServerResponse, chunks: ChunkFlow, resolve: () => void) {
    this.#res = res;
    this.#chunks = chunks;
    this.#resolve = resolve;
  }

  write(): void {
    this.#res.on("drain", this.#onDrain);
    this.#res.on("close", this.#onClose);
    this.#chunks.flow(this);
  }

  chunk(chunk: Uint8Array): boolean {
    if (this.#res.destroyed) return false;
    try {
      this.#joinWrites();
      this.#isWaiting = !writeChunk(this.#res, chunk);
      return !this.#isWaiting;
    } catch {
      // The body is not made of bytes.
      this.#res.destroy();
      return false;
    }
  }

  /**
   * Writes what comes in this turn at once. Node does this too, but only until the promises of the turn run, and the end of a body waits
   * for one.
   */
  #joinWrites(): void {
    const { socket } = this.#res;
    if (this.#isJoining || socket === null) return;
    this.#isJoining = true;
    socket.cork();
    const uncork = (): void => {
      this.#isJoining = false;
      socket.uncork();
    };
    queueMicrotask(() => process.nextTick(uncork));
  }

  end(): void {
    this.#finish();
    if (!this.#res.destroyed) this.#res.end();
  }

  /** The code that produced the body has already reported the failure; here only the connection is reset. */
  fail(): void {
    this.#finish();
    this.#res.destroy();
  }

  readonly #onDrain = (): void => {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#chunks.flow(this);
  };

  readonly #onClose = (): void => {
    this.#finish();
    void this.#leave();
  };

  #finish(): void {
    this.#res.off("drain", this.#onDrain);
    this.#res.off("close", this.#onClose);
    this.#resolve();
  }

  async #leave(): Promise<void> {
    try {
      await this.#chunks.leave();
    } catch {
      // Nobody reads the body any more, so its failure does not matter.
    }
  }
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

/** False if the client has left, or if another handler has sent a response. */
function canSend(res: ServerResponse): boolean {
  return !res.destroyed && !res.headersSent;
}

/** Lists that a middleware of the host, such as one for CORS or compression, may have set too. */
const LISTS = ["access-control-expose-headers", "vary"];

/**
 * Adds the gateway's lists to those that the host has set. Every other header of the gateway replaces the host's of the
 * same name.
 */
function writeHead(
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  let merged = headers;
  for (const name of LISTS) {
    const own = headers[name];
    const before = own === undefined ? undefined : res.getHeader(name);
    if (own !== undefined && before !== undefined) merged = { ...merged, [name]: joinLists(before, own) };
  }
  return res.writeHead(status, merged);
}

/** Joins lists of names, each name once in any letter case. */
function joinLists(...lists: readonly (string | number | readonly string[])[]): string {
  const names = lists.flat().flatMap((list) => String(list).split(","));
  const unique = new Map(names.map((name) => [name.trim().toLowerCase(), name.trim()]));
  return [...unique.values()].join(", ");
}

/** Resolves when the stream emits the event, when it closes, or after the time limit if there is one. */
function waitForEvent(
  stream: IncomingMessage | ServerResponse,
  event: string,
  maxMs?: number,
): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      stream.off(event, settle);
      stream.off("close", settle);
      resolve();
    };
    const timer = maxMs === undefined ? undefined : setTimeout(settle, maxMs);
    stream.on(event, settle);
    stream.on("close", settle);
  });
}
