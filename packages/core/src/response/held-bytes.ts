const FIRST_BYTES = 1024;

/** Bytes kept while it is not known what becomes of them. Copies: their chunk may go on to the client. */
export interface HeldBytes {
  readonly length: number;
  add(part: Uint8Array): void;
  /** Gives all of them away, to whom the memory belongs from then on. */
  take(): Uint8Array;
}

export function createHeldBytes(): HeldBytes {
  let buffer = new Uint8Array(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(part) {
      if (buffer.length < length + part.length) {
        const larger = new Uint8Array(Math.max(FIRST_BYTES, 2 * buffer.length, length + part.length));
        larger.set(buffer.subarray(0, length));
        buffer = larger;
      }
      buffer.set(part, length);
      length += part.length;
    },
    take() {
      const bytes = buffer.subarray(0, length);
      buffer = new Uint8Array(0);
      length = 0;
      return bytes;
    },
  };
}
