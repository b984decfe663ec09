/** What a name matched: the entry, and the part of the name that its `*` stood for. */
interface SeriesMatch<T> {
  /** The name itself, or the series that it belongs to. */
  readonly key: string;
  readonly value: T;
  /** The part of the name that `*` stood for; empty for an exact entry. */
  readonly rest: string;
}

/** A table whose keys are names or series of names. */
export interface SeriesMap<T> {
  find(name: string): SeriesMatch<T> | undefined;
}

/** True for a key that names a series, such as `image-edit*`. */
export function isSeries(key: string): boolean {
  return key.endsWith("*");
}

/** True when every name of `inner`, a name or a series, is a name of `outer`. */
export function covers(outer: string, inner: string): boolean {
  if (!isSeries(outer)) return outer === inner;
  const start = isSeries(inner) ? inner.slice(0, -1) : inner;
  return start.startsWith(outer.slice(0, -1));
}

/** True when some name belongs to both keys. Series are prefixes, so one of the two then covers the other. */
export function overlaps(keyA: string, keyB: string): boolean {
  return covers(keyA, keyB) || covers(keyB, keyA);
}

/** A table in which an exact name wins, then the longest prefix (`image-2.0-pro*` before `image-2.0*`). */
export function createSeriesMap<T>(entries: Readonly<Record<string, T>>): SeriesMap<T> {
  const exact = new Map<string, SeriesMatch<T>>();
  const series: { key: string; prefix: string; value: T }[] = [];
  for (const [key, value] of Object.entries(entries)) {
    if (isSeries(key)) series.push({ key, prefix: key.slice(0, -1), value });
    else exact.set(key, { key, value, rest: "" });
  }
  series.sort((a, b) => b.prefix.length - a.prefix.length);
  return {
    find(name) {
      const match = exact.get(name);
      if (match !== undefined) return match;
      const found = series.find(({ prefix }) => name.startsWith(prefix));
      return found && { key: found.key, value: found.value, rest: name.slice(found.prefix.length) };
    },
  };
}

/** True when a list of names and series holds the name. */
export function includesName(names: readonly string[], name: string): boolean {
  return names.some((key) => (isSeries(key) ? name.startsWith(key.slice(0, -1)) : key === name));
}
