/** Reads headers by name, letter case aside. `Headers` has this shape. */
export interface HeaderReader {
  get(name: string): string | null;
}

/**
 * What the gateway reads of a request: the seam between a host and the core.
 *
 * A Web `Request` has this shape already; `@calotype/node` gives a socket's request the same shape
 * without building Web objects.
 */
export interface GatewayRequest {
  readonly method: string;
  /** The whole path, as an absolute URL (`https://host/ai/v1/…`) or from the root (`/ai/v1/…`). A query is ignored. */
  readonly url: string;
  /**
   * The path below which the host passes every request to the gateway, such as `/ai`, or `/` for all paths. If
   * absent, the host has its own routes, and calls the gateway for each request to find out whether the path is the
   * gateway's.
   */
  readonly mountPath?: string | undefined;
  readonly headers: HeaderReader;
  /** The bytes of the body in order, or `null` where there is none. Read at most once. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /**
   * What a body parser of the host made of the body, when it ran first and took the bytes:
   * parsed JSON, a string, or the bytes. `undefined` when the bytes are still in `body`.
   */
  readonly parsedBody?: unknown;
  /** True when something before the gateway took the bytes and left nothing of them. */
  readonly bodyConsumed?: boolean;
  /** Tells whether the client has left. A provider call once sent runs on. An `AbortSignal` has this shape. */
  readonly signal: Pick<AbortSignal, "aborted">;
  /** Keeps the host alive for work that goes on after the answer, where a host needs that. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** The body of an answer: complete, or produced as it is read. */
export type GatewayResponseBody = string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;

/** The gateway's answer, for the host to write. Header names are in lower case. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: GatewayResponseBody;
  /**
   * Registers a listener for a client that has read nothing of a streamed `body` for `responseIdleSeconds`. The
   * listener closes the client's connection and returns `false`: the gateway then treats the client as disconnected,
   * and further reads of the body fail with the given error. The listener returns `true` if the client cannot read
   * yet, because its pipelined response waits for an earlier one; the time limit then starts again. `onIdle` is
   * absent for a complete body.
   */
  readonly onIdle?: ((listener: (error: Error) => boolean) => void) | undefined;
}
