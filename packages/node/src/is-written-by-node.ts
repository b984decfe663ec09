import type { ServerResponse } from "node:http";

/**
 * True if only Node's own code gets the chunks that are written to this response. If a compression, a recorder or a
 * tracer has replaced `write` of the response, of its socket or of their prototypes, that code may keep a chunk for
 * longer than the write. Node's functions are recognized by their source: they may have been replaced before this
 * file was loaded, so there is no original to compare them with. If a release of Node has a different source, this
 * returns false, and only memory is wasted.
 */
export function isWrittenByNode(res: ServerResponse): boolean {
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
