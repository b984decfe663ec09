/**
 * Creates a check whether a function is Node's own. Node's functions are recognized by their source: they may have been
 * replaced before this file was loaded, so there is no original to compare them with. If a release of Node has a
 * different source, the check returns false, and only memory is wasted. Reads the source of each function once.
 */
export function createSourceCheck(marker: RegExp): (candidate: (...values: never[]) => unknown) => boolean {
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
