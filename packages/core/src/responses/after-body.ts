import type { Slot } from "../admission/slot.js";
import type { GatewayResponse } from "../http.js";

/** In bytes. A smaller body is written at once, and uses little memory if its client does not read it. */
const LARGE_BYTES = 256 * 1024;

/**
 * Releases the slot of a call when its complete body has left the gateway. For a small body this is at
 * once. A large body is converted into a streamed one; its slot is released when the body was read or abandoned. Then
 * `release` may be called more than once.
 */
export function afterBody(response: GatewayResponse, slot: Pick<Slot, "release">): GatewayResponse {
  const { headers, body } = response;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new TypeError("A produced body reports its end itself.");
  }
  if (body.length < LARGE_BYTES) {
    slot.release();
    return response;
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const withLength = { ...headers, "content-length": String(bytes.length) };
  return { ...response, headers: withLength, body: toSingleChunk(bytes, slot) };
}

/**
 * Not a generator: if a generator is abandoned before its first read, none of its code runs, so it could not call
 * `release`.
 */
function toSingleChunk(bytes: Uint8Array, slot: Pick<Slot, "release">): AsyncIterable<Uint8Array> {
  let rest: Uint8Array | undefined = bytes;
  const end = (): Promise<IteratorResult<Uint8Array>> => {
    rest = undefined;
    slot.release();
    return Promise.resolve({ done: true, value: undefined });
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        if (rest === undefined) return end();
        const value = rest;
        rest = undefined;
        return Promise.resolve({ done: false, value });
      },
      return: end,
    }),
  };
}
