import type { Visit } from "../admission/entrance.js";
import type { GatewayResponse } from "../exchange.js";

/** Smaller ones are written at once, and a client that does not read them holds little. */
const LARGE_BYTES = 256 * 1024;

/**
 * Lets the visit leave when a complete body is off our hands: at once for a small one, and for a large one when it was
 * read or given up; then perhaps more than once.
 */
export function afterBody(response: GatewayResponse, visit: Pick<Visit, "leave">): GatewayResponse {
  const { headers, body } = response;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new TypeError("A body that is produced tells its end itself.");
  }
  if (body.length < LARGE_BYTES) {
    visit.leave();
    return response;
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const withLength = { ...headers, "content-length": String(bytes.length) };
  return { ...response, headers: withLength, body: toSingleChunk(bytes, visit) };
}

/** No generator: one that is given up before it began runs none of its code, and would tell nobody. */
function toSingleChunk(bytes: Uint8Array, visit: Pick<Visit, "leave">): AsyncIterable<Uint8Array> {
  let rest: Uint8Array | undefined = bytes;
  const end = (): Promise<IteratorResult<Uint8Array>> => {
    rest = undefined;
    visit.leave();
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
