/** Smaller bodies come in a chunk or two, which are cheaper joined at the end. */
const LARGE_BYTES = 65_536;

/** The bytes of a body, as they come. */
export interface BodyBytes {
  readonly length: number;
  add(chunk: Uint8Array): void;
  /** One array of them all. */
  take(): Uint8Array;
}

/**
 * Puts the chunks of a body together. Where a large one says how long it is, each chunk is copied to its place as it
 * comes, so that the body is not held twice at its end.
 *
 * @param declared how many bytes are to come; there may be others, and it may be no number
 * @param freeChunk called for chunks that were copied
 */
export function createBodyBytes(declared: number, freeChunk?: (chunk: Uint8Array) => void): BodyBytes {
  let chunks: Uint8Array[] = [];
  let whole: Uint8Array | undefined;
  let length = 0;

  const place = (chunk: Uint8Array): boolean => {
    if (chunks.length > 0 || !(declared > LARGE_BYTES) || length + chunk.length > declared) return false;
    // Not for a chunk that is all of it.
    if (chunk.length === declared) return false;
    whole ??= new Uint8Array(declared);
    whole.set(chunk, length);
    freeChunk?.(chunk);
    return true;
  };

  const keep = (chunk: Uint8Array): void => {
    // More than was declared.
    if (whole !== undefined) chunks = [whole.subarray(0, length)];
    whole = undefined;
    chunks.push(chunk);
  };

  return {
    get length() {
      return length;
    },
    add(chunk) {
      // Of one that is freed there is no length.
      const added = chunk.length;
      if (!place(chunk)) keep(chunk);
      length += added;
    },
    take: () => whole?.subarray(0, length) ?? join(chunks, length),
  };
}

/** No copy where there is only one. */
function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
