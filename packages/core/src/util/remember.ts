/** So many answers are kept, for no key longer than this: clients send what they like, and a series has endless names. */
const CAPACITY = 1_000;
const MAX_KEY_LENGTH = 256;

/**
 * The same pure function, which works out once what it is asked for again and again. Of its answers it keeps the
 * latest; `undefined`, which is what was not found, is not kept.
 *
 * @param keyOf what tells one input from another; the input itself where it is a text or a number
 */
export function remember<Input, Answer>(
  answer: (input: Input) => Answer,
  keyOf: (input: Input) => unknown = (input) => input,
): (input: Input) => Answer {
  const answers = new Map<unknown, Answer>();
  return (input) => {
    const key = keyOf(input);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const found = answer(input);
    if (found === undefined || (typeof key === "string" && key.length > MAX_KEY_LENGTH)) return found;
    const [oldest] = answers.keys();
    if (answers.size >= CAPACITY) answers.delete(oldest);
    answers.set(key, found);
    return found;
  };
}
