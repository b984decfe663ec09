import type { ImageRequest, ImageResult, ResponseFormat } from "../types.js";
import type { Awaitable } from "../util/async.js";
import type { JsonObject } from "../util/json.js";
import type { FailedResponse, UpstreamFailure } from "./failure.js";
import type { JobProtocol } from "./job.js";
import type { ResponseShape, StreamReader, StreamShape } from "./response-shape.js";
import type { CallToSign, UpstreamCall } from "./upstream-call.js";

/**
 * How one service speaks the wire format of a family: its address, its calls, its responses and its errors. A family is
 * itself the dialect of its channels, and names those of other services in `Family.dialects`. Every function is pure.
 */
export interface Dialect {
  /** The base URL of channels without `baseUrl`. `undefined`: such channels need one. */
  readonly defaultBaseUrl: string | undefined;
  /** The path of a `baseUrl` without a path, such as `/v1`. Default: the path of `defaultBaseUrl`. */
  readonly defaultPath?: string | undefined;
  /**
   * Hosts besides that of the base URL that get the key, for calls whose path is a whole URL. `*.example.com` means all
   * hosts below `example.com`. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /**
   * The headers that carry the key. Default: `authorization: Bearer <key>`. Called once for each key, without `call`. With
   * `signs` it is called for each call, when that is sent, and may await cryptography.
   */
  authorize?(apiKey: string, call?: CallToSign): Awaitable<Readonly<Record<string, string>>>;
  /**
   * Set if `authorize` signs each call. With `"body"`, the call has the SHA-256 of its body, which is read once more for it.
   * Default: the headers depend on the key only.
   */
  readonly signs?: "call" | "body" | undefined;
  /** The header with the provider's id of a request. Default `x-request-id`. */
  readonly requestIdHeader?: string | undefined;

  /**
   * The formats in which the service returns images, its own one first: that is what a client gets if nothing asks for a
   * format. The gateway makes base64 from links, and links from base64 if there is a results store.
   */
  readonly delivers: readonly [own: ResponseFormat, ...others: ResponseFormat[]];
  /** False if the service reports no tokens. `per-token` prices then fail at startup. */
  readonly reportsTokens: boolean;
  /**
   * True if the service reports what it charges, in `cost_usd` of the usage. `costs: "reported"` needs it. Clients do not see what
   * the operator pays: of `usage` they get no member with `cost` in its name, and streams with a `streamShape` are sent in OpenAI's
   * format. Default false.
   */
  readonly reportsCost?: boolean | undefined;
  /**
   * True if the call for this request has reference images as bytes. The gateway then downloads those that are links before
   * the call, and `toUpstream` gets each of `images`, `mask` and `markup` as an `UploadedImage`. Links in `upstreamFields`
   * stay. Default: never.
   */
  needsImageBytes?(request: ImageRequest): boolean;

  /**
   * Describes the call for a request. Called for each attempt.
   *
   * @throws GatewayError `invalid_request_error` if this service cannot take the request. Nothing is sent then, and another
   *   channel is tried; if there is none, the client gets this error.
   */
  toUpstream(request: ImageRequest, upstreamModel: string): UpstreamCall;
  /** Set if the response to the call of `toUpstream` is the id of a job, and not the result. */
  readonly jobs?: JobProtocol | undefined;
  /** @deprecated Use {@link jobs}. */
  readonly tasks?: JobProtocol | undefined;

  /**
   * True if `fromUpstream` needs only the first 131,072 characters of base64, and returns it unchanged as `b64_json`. The rest
   * of longer strings is then not in `body`: the gateway keeps it in the chunks in which it arrived, which takes a fifth of
   * the memory. Without effect with `responseShape`. Default false.
   */
  readonly cutsBase64?: boolean | undefined;
  /**
   * Where the base64 of images is in a response, with `cutsBase64`: the names of members from the top, and `*` for the items
   * of a list. Long strings there are stored while they arrive, if the images are stored. Those that `fromUpstream` does not
   * return as images, such as drafts, are then not kept. Default: a response is held until its end.
   */
  readonly base64Path?: readonly string[] | undefined;
  /** Reads a successful response (HTTP 200, a JSON object). */
  fromUpstream(body: JsonObject, request: ImageRequest): ImageResult;
  /**
   * Where the parts of a successful response are, so that a response of megabytes can be read while it is relayed, without
   * holding it in memory. Absent: every response is read as a whole.
   */
  readonly responseShape?: ResponseShape | undefined;
  /**
   * Returns a reader for the events of one response. `undefined` if the service does not stream. The reader lives as long as
   * the stream, so it should keep what it needs of the request and not the request itself.
   */
  readonly readStream?: ((request: ImageRequest) => StreamReader) | undefined;
  /**
   * Which events have images. Absent: a stream of the provider is relayed unchanged, also to a client that has the stream
   * format `openai`.
   */
  readonly streamShape?: StreamShape | undefined;
  /** Classifies an error response. */
  toFailure(response: FailedResponse): UpstreamFailure;
}
