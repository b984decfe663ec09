import { createSeriesMap, isSeries } from "../series.js";

/**
 * Lower case for A to Z only, so that the length stays the same. Names of models are compared by it if case does not
 * count.
 */
export function foldCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Gives the spelling that the configuration has for a name, case aside: that of a configured name, or the prefix of the
 * longest configured series with the rest as it is. The result differs from the name exactly if the name differs in
 * case only from what is configured.
 *
 * @param keys configured names and series
 */
export function createSpeller(keys: readonly string[]): (name: string) => string {
  const exact = new Set(keys.filter((key) => !isSeries(key)));
  const byFolded = createSeriesMap(Object.fromEntries(keys.map((key) => [foldCase(key), key])));
  const bySpelling = createSeriesMap(Object.fromEntries(keys.map((key) => [key, key])));
  return (name) => {
    if (exact.has(name)) return name;
    const folded = byFolded.find(foldCase(name));
    if (folded === undefined) return name;
    if (!isSeries(folded.key)) return folded.value;
    const same = bySpelling.find(name);
    // Two series may differ in case only: the one that the name is spelled like wins.
    const series = same?.key.length === folded.key.length ? same.key : folded.value;
    return series.slice(0, -1) + name.slice(series.length - 1);
  };
}
