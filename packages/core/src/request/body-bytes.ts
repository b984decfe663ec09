/** The first allocation for a body that arrives in several chunks. */
const FIRST_BYTES = 64 * 1024;
/** When a body needs more memory, its allocation grows by this factor. Pages that are not written to take no memory. */
const GROWTH = 4;
/**
 * Once this part of the declared bytes has arrived, the array gets its final size. So at most a third of a body is
 * copied again as the array grows. With growth alone it may be nearly all of it, and the body is held twice meanwhile.
 */
const FINAL_SIZE_FROM = 1 / 16;

/**
 * Collects the bytes of a body. Chunks are copied into one array, so that many small chunks take no more memory than
 * their bytes. The array grows with the bytes that have arrived. It grows to at most `declared`, or, if more bytes
 * arrive, by as little as possible. So a client that declares many bytes and sends few of them uses little memory.
 */
export class BodyBytes {
  readonly #declared: number;
  /** The first chunk, while it is the only one. It is not copied. */
  #only: Uint8Array | undefined;
  #whole: Uint8Array | undefined;
  #length = 0;

  /** @param declared the content-length; may be wrong or NaN */
  constructor(declared: number) {
    this.#declared = declared;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.#length === 0) this.#only = chunk;
    else this.#copy(chunk);
    this.#length += chunk.length;
  }

  /** All bytes as one array. */
  take(): Uint8Array {
    return this.#only ?? this.#whole?.subarray(0, this.#length) ?? new Uint8Array();
  }

  #copy(chunk: Uint8Array): void {
    const whole = this.#reserve(this.#length + chunk.length);
    whole.set(chunk, this.#length);
  }

  /** Returns the array with the bytes so far, and with room for `needed` bytes. */
  #reserve(needed: number): Uint8Array {
    const present = this.#only ?? this.#whole;
    if (this.#whole !== undefined && this.#whole.length >= needed) return this.#whole;
    const grown = new Uint8Array(this.#sizeFor(needed));
    if (present !== undefined) grown.set(present.subarray(0, this.#length));
    this.#only = undefined;
    this.#whole = grown;
    return grown;
  }

  /** How large the array becomes when it must hold `needed` bytes. */
  #sizeFor(needed: number): number {
    const wanted = Math.max(FIRST_BYTES, this.#length * GROWTH, needed);
    // Also if nothing was declared.
    if (!(needed <= this.#declared)) return wanted;
    return this.#length >= this.#declared * FINAL_SIZE_FROM
      ? this.#declared
      : Math.min(this.#declared, wanted);
  }
}
