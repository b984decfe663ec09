import type { Route, Timeouts } from "../channels/channel.js";
import type { UpstreamCall } from "../families/upstream-call.js";
import type { HeaderReader } from "../http.js";
import type { ProducedBody } from "../images/produced-body.js";
import { toPlainError } from "../redact.js";

/** A call to a provider. */
export interface TransportRequest {
  /** Default `POST`. */
  readonly method?: UpstreamCall["method"];
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whose key is added when the request is sent. Default: `headers` are complete. */
  readonly route?: Pick<Route, "channel" | "key"> | undefined;
  /** Default: none. */
  readonly body?: string | ProducedBody | undefined;
  readonly timeouts: Timeouts;
  /**
   * Refuses a host name with an address that is not public. Works only where the runtime shows addresses, as Node does.
   * Default `false`.
   */
  readonly publicOnly?: boolean | undefined;
}

/** The head of an upstream response, and its body. The body must be read to its end, or be left or cancelled. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: HeaderReader;
  /** Fails with a {@link TransportError} if the connection breaks or stalls. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the connection. A pending read fails. */
  cancel(): void;
}

/** A GET of a result link. Redirects are not followed. */
export interface DownloadRequest {
  readonly url: string;
  readonly timeouts: Timeouts;
  /** Refuses a host name with an address that is not public. Works only where the runtime shows addresses, as Node does. */
  readonly publicOnly: boolean;
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The connections to the providers. */
export interface Transport {
  /** @throws TransportError */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** @throws TransportError */
  download(request: DownloadRequest): Promise<TransportResponse>;
  /** Ends idle connections. Requests in progress finish. */
  close(): Promise<void>;
  /** Ends all connections. Requests in progress fail. Absent if the connections belong to the runtime. */
  abort?(): Promise<void>;
}

/** Why there is no complete upstream response. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly reason: "unreachable" | "timeout" | "broken";

  /**
   * @param reason `unreachable`: there was no connection, so nothing was sent. `timeout`: the request was sent, and no
   * response came in time. `broken`: the request was sent, and the connection ended before the response was complete.
   */
  constructor(reason: TransportError["reason"], cause: unknown) {
    // Errors of undici and of the operator's `fetch` may contain the request with its key, or bytes of the response.
    super(
      `The provider's connection: ${reason}`,
      cause === undefined ? undefined : { cause: toPlainError(cause) },
    );
    this.reason = reason;
  }
}

/** What went wrong. An error that is not one of the connection means that the response cannot be used. */
export function reasonOf(error: unknown): TransportError["reason"] {
  return error instanceof TransportError ? error.reason : "broken";
}

/** Error codes of connections that were never established. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** True if an error with this code means that no connection was established, so that the request may be sent again. */
export function isUnreachableCode(code: unknown): boolean {
  return UNREACHABLE.has(code);
}
