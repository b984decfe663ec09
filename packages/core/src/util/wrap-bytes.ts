import { ChunkReader, openFlow, StagedFlow } from "./chunk-flow.js";
import { encodeText } from "./utf8.js";

/** What {@link wrapBytes} adds to bytes. */
export interface ByteWrapping {
  readonly before: string;
  readonly after: string;
  /** Converts each chunk. Default: chunks stay as they are. */
  readonly convert?: ((chunk: Uint8Array) => Uint8Array) | undefined;
}

/**
 * Returns bytes with a string before and after them. Nothing of the source is read before the string was. `return()` ends
 * the source at once, also while a read is pending: an async generator would end it after the read.
 */
export function wrapBytes(
  source: AsyncIterable<Uint8Array>,
  { before, after, convert = (chunk) => chunk }: ByteWrapping,
): AsyncIterableIterator<Uint8Array, undefined> {
  const flow = new StagedFlow(openFlow(source), {
    push: convert,
    end: () => [encodeText(after)],
  });
  flow.unread([encodeText(before)]);
  return new ChunkReader(flow);
}
