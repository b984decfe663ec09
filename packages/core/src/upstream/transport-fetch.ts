import type { Timeouts } from "../channels/channel.js";
import type { ProducedBody } from "../images/produced-body.js";
import { isUnreachableCode, type Transport, TransportError, type TransportResponse } from "./transport.js";

/** The part of `fetch` that the gateway calls. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** The transport of runtimes other than Node, over the global `fetch`. */
export function createTransport(): Transport {
  return createFetchTransport((input, init) => globalThis.fetch(input, { ...init, ...forThisRuntime(init) }));
}

/**
 * Options for single runtimes, without effect on others. Deno sends strings and bytes a second time if the connection
 * breaks, and an image would be charged twice; it sends a Blob once. Bun gives up after five silent minutes unless
 * `timeout` is false.
 */
function forThisRuntime({ body }: RequestInit): RequestInit & { readonly timeout: false } {
  return { timeout: false, ...(isWhole(body) && { body: new Blob([body]) }) };
}

function isWhole(body: RequestInit["body"]): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}

/**
 * Creates a transport over a `fetch`. If the runtime does not tell whether a connection was refused or broken, the request
 * counts as sent.
 */
export function createFetchTransport(fetch: Fetch): Transport {
  return {
    async send({ method = "POST", url, headers, body, timeouts }) {
      const init: RequestInit = { method, headers: { ...headers } };
      if (body !== undefined) init.body = typeof body === "string" ? body : await collect(body);
      return await exchange(fetch, url, init, timeouts);
    },
    download: ({ url, timeouts, headers }) =>
      exchange(fetch, url, headers === undefined ? {} : { headers: { ...headers } }, timeouts),
    async close() {
      // The runtime owns the connections of its fetch.
    },
  };
}

/** Collects a produced body. `fetch` would also hold all of it if it got a stream. @throws TransportError */
async function collect(body: ProducedBody): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(body.byteLength);
  let length = 0;
  try {
    for await (const chunk of body) {
      bytes.set(chunk, length);
      length += chunk.length;
    }
  } catch (error) {
    throw new TransportError("broken", error);
  }
  return bytes;
}

async function exchange(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  timeouts: Timeouts,
): Promise<TransportResponse> {
  const controller = new AbortController();
  const cancel = (): void => controller.abort();
  try {
    // Not every `fetch` obeys its signal.
    const sent = fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    const response = await within(sent, timeouts.connectMs + timeouts.firstByteMs);
    const body = readWithin(response.body, timeouts.idleMs);
    return { status: response.status, headers: response.headers, body, cancel };
  } catch (error) {
    cancel();
    throw error;
  }
}

/** Returns the chunks of a body. Fails if a chunk takes longer than `idleMs`. */
async function* readWithin(
  body: ReadableStream<Uint8Array> | null,
  idleMs: number,
): AsyncIterable<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), idleMs);
      if (done) return;
      yield value;
    }
  } finally {
    // Ends the connection if the reader leaves early.
    void reader.cancel().catch(ignoreCancelled);
  }
}

/** The result of a promise, if it settles in time. @throws TransportError */
async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TransportError("timeout", undefined)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw error instanceof TransportError ? error : toTransportError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The reader of the body already got its error. */
function ignoreCancelled(): void {}

function toTransportError(error: unknown): TransportError {
  const cause = error instanceof Error ? error.cause : undefined;
  return new TransportError(isUnreachable(error) || isUnreachable(cause) ? "unreachable" : "broken", error);
}

/** Node has the code in the error's cause, Bun in the error itself, and Deno has only a message. */
function isUnreachable(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  if ("code" in error && isUnreachableCode(error.code)) return true;
  return "message" in error && /\bclient error \(Connect\)/.test(String(error.message));
}
