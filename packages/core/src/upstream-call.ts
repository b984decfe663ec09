/**
 * A body whose bytes are made while they are sent, such as JSON with the files of a form in it. It is made anew
 * each time it is iterated, since a call that failed is sent again to another channel.
 */
export interface ProducedBody extends AsyncIterable<Uint8Array> {
  /** All that it will give, in bytes. */
  readonly byteLength: number;
}

/** One call of a provider, without address and key. */
export interface UpstreamCall {
  /** Appended to the channel's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Made by `toJsonBody`, or any text. */
  readonly body: string | ProducedBody;
}
