/** What {@link wrapBytes} adds to bytes. */
export interface ByteWrapping {
  readonly before: string;
  readonly after: string;
  /** Converts each chunk. Default: chunks stay as they are. */
  readonly convert?: ((chunk: Uint8Array) => Uint8Array) | undefined;
}

type Chunk = IteratorResult<Uint8Array, undefined>;

const DONE: Chunk = { done: true, value: undefined };
const encoder = new TextEncoder();

/**
 * Returns bytes with a string before and after them. Nothing of the source is read before the string was. `return()` ends
 * the source at once, also while a read is pending: an async generator would end it after the read.
 */
export function wrapBytes(
  source: AsyncIterable<Uint8Array>,
  { before, after, convert = (chunk) => chunk }: ByteWrapping,
): AsyncIterableIterator<Uint8Array, undefined> {
  const chunks = source[Symbol.asyncIterator]();
  let hasBegun = false;
  let hasEnded = false;
  const body: AsyncIterableIterator<Uint8Array, undefined> = {
    [Symbol.asyncIterator]: () => body,
    async next() {
      if (hasEnded) return DONE;
      if (!hasBegun) {
        hasBegun = true;
        return { done: false, value: encoder.encode(before) };
      }
      const { done, value } = await chunks.next().catch((error: unknown) => {
        // A source that failed has ended, and must not look complete to a further read.
        hasEnded = true;
        throw error;
      });
      // The client may have left during the read, or an earlier read may have found the end.
      if (hasEnded) return DONE;
      if (done !== true) return { done: false, value: convert(value) };
      hasEnded = true;
      return { done: false, value: encoder.encode(after) };
    },
    async return() {
      hasEnded = true;
      await chunks.return?.();
      return DONE;
    },
  };
  return body;
}
