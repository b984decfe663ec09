import { createSeriesMap, isSeries } from "../series.js";

/**
 * Converts A to Z to lower case and nothing else, so that the length stays the same. Model names are compared in this
 * form if case does not count.
 */
export function foldCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Returns the configured spelling of a name, ignoring case: the spelling of a configured name, or the prefix of the
 * longest configured series with the rest unchanged. The result differs from the name only if the name differs in
 * case from the configuration.
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
    // Two series may differ only in case. Then the one with the exact spelling of the name is used.
    const series = same?.key.length === folded.key.length ? same.key : folded.value;
    return series.slice(0, -1) + name.slice(series.length - 1);
  };
}
