import type { ServerResponse } from "node:http";
import { freeChunk, isFreeable } from "@calotype/core/adapter";
import { createSourceCheck } from "./source-check.js";

/**
 * Writes a chunk, and frees its memory when the write has ended. See `free-chunk.ts` of the core for the gain. The simple
 * version is `res.write(chunk)`.
 *
 * @returns false if the response should be drained before the next write
 */
export function writeChunk(res: ServerResponse, chunk: Uint8Array): boolean {
  if (!isFreeable(chunk) || !isWrittenByNode(res)) return res.write(chunk);
  return res.write(chunk, (error) => {
    // The socket may still hold a chunk that was not written.
    if (!error) freeChunk(chunk);
  });
}

/**
 * True if only Node's own code gets the chunks that are written to this response. If a compression, a recorder or a
 * tracer has replaced `write` of the response, of its socket or of their prototypes, that code may keep a chunk for
 * longer than the write.
 */
function isWrittenByNode(res: ServerResponse): boolean {
  const { socket } = res;
  // oxlint-disable-next-line typescript/unbound-method -- Their source is read, and they are never called.
  return socket !== null && isOwnWrite(res.write) && isOwnSocketWrite(socket.write);
}

const isOwnWrite = createSourceCheck(/\bwrite_\(this,/);
const isOwnSocketWrite = createSourceCheck(/\b_write\(this,/);
