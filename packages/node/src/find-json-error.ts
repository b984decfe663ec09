const WHITE_SPACE = /[\t\n\r ]*/y;
/** All but quotes, backslashes and what comes before the space in Unicode. */
const STRING = /"[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uFFFF]*)*"/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?/y;

/**
 * Where a text stops being JSON: an index, the text's length when it ends too early, or `undefined` when it
 * is JSON. The runtime's own messages tell a place for some errors only, and quote the text, keys and all.
 */
export function findJsonError(text: string): number | undefined {
  const closers: string[] = [];
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const taken = pattern.exec(text)?.[0];
    at += taken?.length ?? 0;
    return taken !== undefined;
  };
  const takeSign = (sign: string | undefined): boolean => {
    take(WHITE_SPACE);
    if (sign === undefined || !text.startsWith(sign, at)) return false;
    at += sign.length;
    return true;
  };
  const takeName = (): boolean => {
    take(WHITE_SPACE);
    return take(STRING) && takeSign(":");
  };
  /** A value, or the beginning of one that goes on; `undefined` when there is none. */
  const takeValue = (): "whole" | "begun" | undefined => {
    const closer = takeSign("{") ? "}" : takeSign("[") ? "]" : undefined;
    if (closer === undefined) return take(STRING) || take(SCALAR) ? "whole" : undefined;
    if (takeSign(closer)) return "whole";
    closers.push(closer);
    return closer === "]" || takeName() ? "begun" : undefined;
  };
  for (;;) {
    const value = takeValue();
    if (value === undefined) return at;
    if (value === "begun") continue;
    while (closers.length > 0 && takeSign(closers.at(-1))) closers.pop();
    if (closers.length === 0) {
      take(WHITE_SPACE);
      return at === text.length ? undefined : at;
    }
    if (!takeSign(",") || (closers.at(-1) === "}" && !takeName())) return at;
  }
}
