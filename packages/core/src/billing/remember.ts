/** What is asked for is a client's and a provider's, so there may be any number of it. */
const MOST_REMEMBERED = 1_000;

/** The same pure function, which works out once what it is asked for again and again. An answer is never `undefined`. */
export function remember<Key, Answer>(answer: (key: Key) => Answer): (key: Key) => Answer {
  const known = new Map<Key, Answer>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const found = answer(key);
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(key, found);
    return found;
  };
}
