import type { HeaderReader } from "../http.js";
import type { ProducedBody } from "../images/json-body.js";
import { toPlainError } from "../redact.js";
import type { JsonObject } from "../util/json.js";

/** How long a provider may take, in milliseconds. */
export interface Timeouts {
  /** To accept the connection. */
  readonly connectMs: number;
  /** From the request sent to the first byte of the answer; images take a minute and more. */
  readonly firstByteMs: number;
  /** Between two pieces of the answer. */
  readonly idleMs: number;
}

/** One POST to a provider. */
export interface TransportRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ProducedBody;
  readonly timeouts: Timeouts;
}

/** The head of a provider's answer; the body is read to its end or abandoned by leaving the loop. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: HeaderReader;
  /** Fails with a {@link TransportError} when it is cut or stalls. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Frees the memory of a chunk that nobody reads any more. Absent where the chunks may be somebody else's. */
  readonly freeChunk?: ((chunk: Uint8Array) => void) | undefined;
  /** The value of the body if it was already parsed, because parsing it again would cost as much as the first time. */
  readonly parsed?: { readonly text: string; readonly value: JsonObject } | undefined;
  /** Gives the answer up: the connection ends, and a pending read fails. */
  cancel(): void;
}

/** A GET of a result link. Redirects are not followed. */
export interface DownloadRequest {
  readonly url: string;
  readonly timeouts: Timeouts;
  /** Refuse names with an address that is not public, where the runtime shows addresses (Node does). */
  readonly publicOnly: boolean;
}

/** The way to the providers. */
export interface Transport {
  /** @throws TransportError */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** @throws TransportError */
  download(request: DownloadRequest): Promise<TransportResponse>;
  /** Ends idle connections; requests under way finish. */
  close(): Promise<void>;
  /** Ends all connections; requests under way fail. Only where the connections are the transport's own. */
  abort?(): Promise<void>;
}

/** Why a provider could not be heard. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly reason: "unreachable" | "timeout" | "broken";

  /**
   * @param reason `unreachable`: no connection, so nothing was sent; `timeout`: sent, and no answer
   * in time; `broken`: sent, and the connection ended before the answer did.
   */
  constructor(reason: TransportError["reason"], cause: unknown) {
    // What undici and the operator's `fetch` throw may hold the request and its key, or the answer's bytes.
    super(
      `The provider's connection: ${reason}`,
      cause === undefined ? undefined : { cause: toPlainError(cause) },
    );
    this.reason = reason;
  }
}
