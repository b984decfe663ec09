/** What is asked for is a client's and a provider's, so there may be any number of it. */
const MOST_REMEMBERED = 1_000;

/**
 * The same pure function, which works out once what it is asked for again and again. An answer is never `undefined`.
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
    if (answers.size >= MOST_REMEMBERED) answers.clear();
    const found = answer(input);
    answers.set(key, found);
    return found;
  };
}
