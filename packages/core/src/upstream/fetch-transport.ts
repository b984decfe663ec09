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
    send: ({ url, headers, body, timeouts }) =>
      exchange(fetch, url, { method: "POST", headers: { ...headers }, body }, timeouts),
    download: ({ url, timeouts }) => exchange(fetch, url, {}, timeouts),
    async close() {
      // The runtime owns the connections of its fetch.
    },
  };
}

async function exchange(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  timeouts: Timeouts,
): Promise<TransportResponse> {
  const controller = new AbortController();
  const cancel = (): void => controller.abort();
  const timer = setTimeout(cancel, timeouts.connectMs + timeouts.firstByteMs);
  try {
    const response = await fetch(url, { ...init, redirect: "manual", signal: controller.signal });
    const body = readWithin(response.body, timeouts.idleMs);
    return { status: response.status, headers: response.headers, body, cancel };
  } catch (error) {
    throw toTransportError(error, controller.signal.aborted);
  } finally {
    clearTimeout(timer);
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

async function within<T>(read: Promise<T>, idleMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TransportError("timeout", undefined)), idleMs);
  });
  try {
    return await Promise.race([read, late]);
  } catch (error) {
    throw error instanceof TransportError ? error : toTransportError(error, false);
  } finally {
    clearTimeout(timer);
  }
}

/** A body that already failed has told so to its reader. */
function ignoreCancelled(): void {}

function toTransportError(error: unknown, timedOut: boolean): TransportError {
  if (timedOut) return new TransportError("timeout", error);
  const cause = error instanceof Error ? error.cause : undefined;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return new TransportError(isUnreachableCode(code) ? "unreachable" : "broken", error);
}
