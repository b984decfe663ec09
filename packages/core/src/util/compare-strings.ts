/** Compares by Unicode code points, as databases compare UTF-8 bytes. The operator `<` compares UTF-16 units. */
export function compareStrings(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at === length
    ? one.length - other.length
    : rankOf(one.charCodeAt(at)) - rankOf(other.charCodeAt(at));
}

/** Half of a surrogate pair stands for a code point above all that need no pair. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}
