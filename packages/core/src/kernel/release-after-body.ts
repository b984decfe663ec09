import type { Slot } from "../admission/slot.js";
import type { GatewayResponse } from "../http.js";
import { ChunkReader } from "../util/chunk-flow.js";
import { toBytes } from "../util/utf8.js";

/** In bytes. A smaller body is written at once, and uses little memory if its client does not read it. */
const LARGE_BODY_BYTES = 256 * 1024;

/**
 * Releases the slot when a complete body has left the gateway. For a small body this is at once. A large body becomes
 * a streamed one, whose slot is released when it was read or abandoned.
 */
export function releaseAfterBody(response: GatewayResponse, slot: Pick<Slot, "release">): GatewayResponse {
  const { headers, body } = response;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return response;
  if (body.length < LARGE_BODY_BYTES) {
    slot.release();
    return response;
  }
  const bytes = toBytes(body);
  const withLength = { ...headers, "content-length": String(bytes.length) };
  return { ...response, headers: withLength, body: toSingleChunk(bytes, slot) };
}

function toSingleChunk(bytes: Uint8Array, slot: Pick<Slot, "release">): ChunkReader {
  let rest: Uint8Array | undefined = bytes;
  const leave = (): void => {
    rest = undefined;
    slot.release();
  };
  return new ChunkReader({
    flow(sink) {
      const chunk = rest;
      rest = undefined;
      if (chunk !== undefined && !sink.chunk(chunk)) return;
      leave();
      sink.end();
    },
    leave,
  });
}
