/** Smaller bodies come in a chunk or two, which are cheaper joined at the end. */
const LARGE_BYTES = 65_536;

/**
 * The bytes of a body, as they come. Where a large one says how long it is, each chunk is copied to its place as it
 * comes, so that the body is not held twice at its end.
 */
export class BodyBytes {
  readonly #declared: number;
  readonly #freeChunk: ((chunk: Uint8Array) => void) | undefined;
  #chunks: Uint8Array[] | undefined;
  #whole: Uint8Array | undefined;
  #length = 0;

  /**
   * @param declared how many bytes are to come; there may be others, and it may be no number
   * @param freeChunk called for chunks that were copied
   */
  constructor(declared: number, freeChunk?: (chunk: Uint8Array) => void) {
    this.#declared = declared;
    this.#freeChunk = freeChunk;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    // Of one that is freed there is no length.
    const added = chunk.length;
    if (!this.#place(chunk)) this.#keep(chunk);
    this.#length += added;
  }

  /** One array of them all. */
  take(): Uint8Array {
    return this.#whole?.subarray(0, this.#length) ?? join(this.#chunks ?? [], this.#length);
  }

  #place(chunk: Uint8Array): boolean {
    const isLarge = this.#declared > LARGE_BYTES;
    if (!isLarge || this.#chunks !== undefined || this.#length + chunk.length > this.#declared) return false;
    // Not for a chunk that is all of it.
    if (chunk.length === this.#declared) return false;
    this.#whole ??= new Uint8Array(this.#declared);
    this.#whole.set(chunk, this.#length);
    this.#freeChunk?.(chunk);
    return true;
  }

  #keep(chunk: Uint8Array): void {
    // More than was declared.
    if (this.#whole !== undefined) this.#chunks = [this.#whole.subarray(0, this.#length)];
    this.#whole = undefined;
    if (this.#chunks === undefined) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }
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
