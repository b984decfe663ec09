import type { ProducedBody } from "../images/json-body.js";
import { type Timeouts, type Transport, TransportError, type TransportResponse } from "./transport.js";
import { isUnreachableCode } from "./unreachable.js";

/** The part of `fetch` that the gateway calls. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/**
 * A transport over a `fetch`. It cannot tell a refused connection from a cut one where the runtime
 * does not say, so it counts as sent what may have been sent.
 */
export function createFetchTransport(fetch: Fetch): Transport {
  return {
    async send({ url, headers, body, timeouts }) {
      const init = {
        method: "POST",
        headers: { ...headers },
        body: typeof body === "string" ? body : await collect(body),
      };
      return await exchange(fetch, url, init, timeouts);
    },
    download: ({ url, timeouts }) => exchange(fetch, url, {}, timeouts),
    async close() {
      // The runtime owns the connections of its fetch.
    },
  };
}

/** All of it: given a stream, `fetch` holds no less. @throws TransportError */
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
    // Not every `fetch` heeds its signal, so the wait ends without it too.
    const sent = fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    const response = await within(sent, timeouts.connectMs + timeouts.firstByteMs);
    const body = readWithin(response.body, timeouts.idleMs);
    return { status: response.status, headers: response.headers, body, cancel };
  } catch (error) {
    cancel();
    throw error;
  }
}

/** The chunks of a body; one that is later than `idleMs` ends it with an error. */
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
    // Leaving early gives the connection up; after the end it does nothing.
    void reader.cancel().catch(ignoreCancelled);
  }
}

/** What a promise gives, if it does so in time. @throws TransportError */
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

/** A body that already failed has told so to its reader. */
function ignoreCancelled(): void {}

function toTransportError(error: unknown): TransportError {
  const cause = error instanceof Error ? error.cause : undefined;
  return new TransportError(isUnreachable(error) || isUnreachable(cause) ? "unreachable" : "broken", error);
}

/** Node has the code in the error's cause, Bun in the error itself, Deno words only. */
function isUnreachable(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  if ("code" in error && isUnreachableCode(error.code)) return true;
  return "message" in error && /\bclient error \(Connect\)/.test(String(error.message));
}
