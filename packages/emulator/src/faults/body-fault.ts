import type { Amount } from "./amount.js";

/** How the bytes of an answer travel, whatever they say: JSON, errors and streams alike. */
export interface BodyFault {
  /** Milliseconds between the headers and the first byte: of a stream, before its first event. */
  delayMs?: Amount;
  /**
   * The body is sent in chunks of exactly this size, wherever events begin and end. A list is used over and
   * over, a range draws every chunk anew. Through `listen()` each is an HTTP chunk and a packet of its own, of
   * which a busy client may still read several at once.
   */
  chunkBytes?: Amount | readonly number[];
  /** Milliseconds of rest after each chunk: `{ chunkBytes: 100, pauseMs: 50 }` is a trickle. */
  pauseMs?: Amount;
  /**
   * After so many bytes the connection is cut: a reset through `listen()`, an erroring body through `fetch`.
   * 0 cuts right after the headers. A shorter answer arrives whole.
   */
  cutAfterBytes?: Amount;
}
