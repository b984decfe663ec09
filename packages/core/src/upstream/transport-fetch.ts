import { createFetchTransport } from "./fetch-transport.js";
import type { Transport } from "./transport.js";

/** The transport of runtimes other than Node: the global `fetch`. */
export function createTransport(): Transport {
  return createFetchTransport((input, init) => globalThis.fetch(input, init));
}
