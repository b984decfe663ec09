/** So many names are kept, none longer than this: clients send what they like, and a series has endless names. */
const CAPACITY = 1_000;
const MAX_NAME_LENGTH = 256;

/** The same function, which remembers what it found by the latest names. What it did not find is not kept. */
export function rememberFound<T>(find: (name: string) => T): (name: string) => T {
  const found = new Map<string, T>();
  return (name) => {
    const known = found.get(name);
    if (known !== undefined) return known;
    const value = find(name);
    if (value === undefined || name.length > MAX_NAME_LENGTH) return value;
    const [oldest] = found.keys();
    if (found.size >= CAPACITY && oldest !== undefined) found.delete(oldest);
    found.set(name, value);
    return value;
  };
}
