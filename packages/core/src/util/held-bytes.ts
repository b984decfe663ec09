const FIRST_BYTES = 1024;
const NONE = new Uint8Array(0);

/** Counts the bytes that a request holds. */
export interface ByteCount {
  /** Counts bytes that are held already, such as a provider's response, even if they exceed the budget. */
  addAnyway(bytes: number): void;
  /** Stops counting bytes that are no longer held, such as bytes that were written to a disk. */
  remove(bytes: number): void;
}

/** Collects copies of bytes. The chunks that they come from may go on to the client and be freed. */
export interface HeldBytes {
  readonly length: number;
  add(part: Uint8Array): void;
  /** Removes this number of bytes from the end. */
  removeEnd(bytes: number): void;
  /** Returns all bytes. The array is valid until the next change. */
  view(): Uint8Array;
  /** Returns all bytes and starts again with none. The caller owns the array. */
  take(): Uint8Array;
}

export function createHeldBytes(): HeldBytes {
  return new GrowingBytes();
}

/** A class, because thousands of streams may hold one: an object with its own getter takes ten times the memory. */
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
