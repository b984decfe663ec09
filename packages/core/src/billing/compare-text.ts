/** The order of Unicode code points: that of UTF-8 bytes, so the order of the databases too. `<` is not, see emoji. */
export function compareText(one: string, other: string): number {
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

/** The order of holds and records: by their time, then by their id. */
export function compareAge(one: Aged, other: Aged): number {
  return compareText(one.time, other.time) || compareText(one.id, other.id);
}

interface Aged {
  readonly time: string;
  readonly id: string;
}
