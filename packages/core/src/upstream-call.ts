import type { ChunksOptions } from "./images/reference-image.js";

/**
 * A body whose bytes are made while they are sent, such as JSON with the files of a form in it. It is made anew
 * each time it is iterated, since a call that failed is sent again to another channel.
 */
export interface ProducedBody extends AsyncIterable<Uint8Array> {
  /** All that it will give, in bytes. */
  readonly byteLength: number;
  /** The same bytes; with `reuse`, chunks of at least 64 KiB are done with when the next one is asked for. */
  readonly chunks?: (options?: ChunksOptions) => AsyncIterable<Uint8Array>;
}

/** One call of a provider, without address and key. */
export interface UpstreamCall {
  /** Appended to the channel's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Made by `toJsonBody`, or any text. */
  readonly body: string | ProducedBody;
}
