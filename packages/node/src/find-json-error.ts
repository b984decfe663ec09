const WHITE_SPACE = /[\t\n\r ]*/y;
/** A string of any characters except control characters, with escaped quotes and backslashes. */
const STRING = /"[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uFFFF]*)*"/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?/y;

/**
 * Returns the index of the first character that is not valid JSON, the length of the text if it ends too early, or
 * `undefined` if the text is JSON. The runtime's own messages contain a position for some errors only, and they quote the
 * text, which may contain keys.
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
  /** Reads a value, or the beginning of an object or array. Returns `undefined` if there is none. */
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
