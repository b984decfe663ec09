import type { ServerResponse } from "node:http";

/**
 * True if nothing but Node's own code gets what is written to this response now. A compression, a recorder or a tracer
 * that replaced `write` of the response, of its socket or of their prototypes may keep a chunk longer than its write
 * takes. The functions are told by their source: they may have been replaced before this file was loaded, so there is
 * nothing to compare them with. If a release of Node writes them differently, this is false and only memory is lost.
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
      // Of a bound function and of a proxy the source is `[native code]`.
      isOwn = marker.test(Function.prototype.toString.call(candidate));
      known.set(candidate, isOwn);
    }
    return isOwn;
  };
}
