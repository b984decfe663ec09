const FIRST_BYTES = 1024;
const NONE = new Uint8Array(0);

/** Bytes kept while it is not known what becomes of them. Copies: their chunk may go on to the client. */
export interface HeldBytes {
  readonly length: number;
  add(part: Uint8Array): void;
  /** Removes this number of bytes from the end. */
  removeEnd(bytes: number): void;
  /** Returns all bytes. The array is valid until the next change. */
  view(): Uint8Array;
  /** Gives all of them away, to whom the memory belongs from then on. */
  take(): Uint8Array;
}

export function createHeldBytes(): HeldBytes {
  return new GrowingBytes();
}

/** A class, as an object with a getter of its own takes ten times the memory, and there is one for each line that is cut. */
class GrowingBytes implements HeldBytes {
  #buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (this.#buffer.length < length) {
      const larger = new Uint8Array(Math.max(FIRST_BYTES, 2 * this.#buffer.length, length));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(part, this.#length);
    this.#length = length;
  }

  removeEnd(bytes: number): void {
    this.#length -= bytes;
  }

  view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  take(): Uint8Array {
    const bytes = this.#buffer.subarray(0, this.#length);
    this.#buffer = NONE;
    this.#length = 0;
    return bytes;
  }
}
