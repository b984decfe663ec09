import type { ServerResponse } from "node:http";
import { freeChunk, isFreeable } from "@calotype/core/adapter";

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
 * longer than the write. Node's functions are recognized by their source: they may have been replaced before this
 * file was loaded, so there is no original to compare them with. If a release of Node has a different source, this
 * returns false, and only memory is wasted.
 */
function isWrittenByNode(res: ServerResponse): boolean {
  const { socket } = res;
  // oxlint-disable-next-line typescript/unbound-method -- Their source is read, and they are never called.
  return socket !== null && isOwnWrite(res.write) && isOwnSocketWrite(socket.write);
}

const isOwnWrite = createSourceCheck(/\bwrite_\(this,/);
const isOwnSocketWrite = createSourceCheck(/\b_write\(this,/);

/** Reads the source of each function once. */
function createSourceCheck(marker: RegExp): (candidate: (...values: never[]) => unknown) => boolean {
  const known = new WeakMap<object, boolean>();
  return (candidate) => {
    let isOwn = known.get(candidate);
    if (isOwn === undefined) {
      // The source of a bound function or a proxy is `[native code]`.
      isOwn = marker.test(Function.prototype.toString.call(candidate));
      known.set(candidate, isOwn);
    }
    return isOwn;
  };
}
