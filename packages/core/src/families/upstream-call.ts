import type { FormPart } from "../images/form-body.js";
import type { ProducedBody } from "../images/produced-body.js";
import type { JsonObject } from "../util/json.js";

/** One call to a provider, without the key. The gateway adds the key, writes the body and sends it. */
export interface UpstreamCall {
  /** Default `POST`. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE" | undefined;
  /**
   * The path, appended to the channel's base URL, such as `/images/generations`. Or a whole URL that the provider gave, such
   * as the `polling_url` of a job: then the key is sent only to the channel's own hosts, see `Dialect.hosts`.
   */
  readonly path: string;
  /** Added to the query of the base URL. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Headers besides those of the key, the channel and the body. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: none. */
  readonly body?: UpstreamBody | undefined;
}

/**
 * The body of a call. The gateway writes it, with its `content-type` and length, and again for each attempt.
 *
 * - `json`: an object. An `UploadedImage` anywhere in it is written as a data URL, and as plain base64 if it is wrapped by
 *   `toBase64`.
 * - `form`: the parts of a `multipart/form-data` body, in order. Files are sent as bytes.
 * - A string or a `ProducedBody`: what the family wrote itself, together with the header `content-type`.
 */
export type UpstreamBody =
  | { readonly json: JsonObject }
  | { readonly form: readonly FormPart[] }
  | string
  | ProducedBody;

/** A call as it is sent, for `authorize` of a service whose calls are signed. */
export interface CallToSign {
  readonly method: NonNullable<UpstreamCall["method"]>;
  /** With the query. */
  readonly url: string;
  /** Those of the family and the channel, by names in lower case. The transport adds `host` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body in hexadecimal; without a body that of no bytes. `undefined` unless `signs` is `"body"`. */
  readonly bodySha256: string | undefined;
  /** The time of the gateway's clock, in milliseconds since 1970. */
  readonly time: number;
}
