/** Follows the chunks of a form through its parser, which hands out parts of them, some of them late. */
export interface CopiedChunks {
  /** A chunk goes to the parser. */
  parse(chunk: Uint8Array): void;
  /** A part of a chunk was copied, and is needed no more. A part of other memory is nobody's. */
  copied(part: Uint8Array): void;
}

/**
 * Frees each chunk of which all was copied. Of one that holds more than bytes of files the parser may keep some, so
 * that it is left to the collector.
 *
 * @param free `undefined`: the memory is not ours to free
 */
export function createCopiedChunks(free: ((chunk: Uint8Array) => void) | undefined): CopiedChunks {
  if (free === undefined) return { parse: ignore, copied: ignore };
  const pending = new WeakMap<ArrayBufferLike, { readonly chunk: Uint8Array; left: number }>();
  return {
    parse(chunk) {
      pending.set(chunk.buffer, { chunk, left: chunk.length });
    },
    copied({ buffer, length }) {
      const found = pending.get(buffer);
      if (found === undefined) return;
      found.left -= length;
      if (found.left > 0) return;
      pending.delete(buffer);
      free(found.chunk);
    },
  };
}

function ignore(): void {}
