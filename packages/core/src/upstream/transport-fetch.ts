import { createFetchTransport } from "./fetch-transport.js";
import type { Transport } from "./transport.js";

/** The transport of runtimes other than Node: the global `fetch`. */
export function createTransport(): Transport {
  return createFetchTransport((input, init) => globalThis.fetch(input, { ...init, ...forThisRuntime(init) }));
}

/**
 * What keeps a runtime's own habits out of a call, and is of no effect elsewhere. Deno sends texts and
 * bytes a second time when the connection breaks after the first, and with it would buy an image twice;
 * a Blob it sends once. Bun gives up after five silent minutes unless told that the gateway counts.
 */
function forThisRuntime({ body }: RequestInit): RequestInit & { readonly timeout: false } {
  return { timeout: false, ...(isWhole(body) && { body: new Blob([body]) }) };
}

function isWhole(body: RequestInit["body"]): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}
