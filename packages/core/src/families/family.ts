import type { ResponseShape } from "../answer-shape.js";
import type {
  FailureReason,
  ImageRequest,
  ImageResult,
  Operation,
  ResponseFormat,
  Usage,
} from "../image-request.js";
import type { JsonObject } from "../json.js";
import type { UpstreamCall } from "../upstream-call.js";
import type { UpstreamFailure } from "../upstream-failure.js";
import type { ModelLimits } from "./model-limits.js";

/** What a family is told of a request beside its fields. */
export interface NormalizeContext {
  readonly operation: Operation;
  /** The service model name, as the client sent it. */
  readonly model: string;
  /** The model's names at the channels that serve it. Absent: not known. */
  readonly upstreamModels?: readonly string[] | undefined;
  /** The model's row of limits; absent: nothing is checked against it. */
  readonly limits: ModelLimits | undefined;
  /** The default response format of the caller, the model or the gateway. */
  readonly defaultResponseFormat: ResponseFormat | undefined;
}

/** Reads what the events of one stream say was made and used. */
export interface StreamReader {
  read(event: { readonly event?: string | undefined; readonly data: string }): void;
  /**
   * True when the last event that counts has come, so that the client sees it only once it is settled. Absent: the
   * client sees each event at once, and only the end of the stream waits.
   */
  readonly isOver?: boolean;
  /** What is known so far; at the end of the stream, what is charged. */
  result(): StreamResult;
}

/** What came over a stream. */
export interface StreamResult {
  /** The number of different images in the stream. */
  readonly images: number;
  /** `undefined` when nothing was made as far as the stream tells. */
  readonly usage: Usage | undefined;
  /**
   * True if the tokens of some images are not in `usage`, because their sizes are unknown. If tokens have a price,
   * the record is marked `unpriced`. Default false.
   */
  readonly hasUnknownTokens?: boolean | undefined;
  /**
   * The error that ended the stream, with the provider's code and message. If it has a `kind` and the stream has no
   * image, the failure counts in the health of the channel, key or model.
   */
  readonly failure: (FailureReason & Partial<Pick<UpstreamFailure, "kind" | "scope">>) | undefined;
  /**
   * The reason of the first image of the batch that failed. If the stream has no image, this is the error of the
   * stream.
   */
  readonly imageFailure?: FailureReason | undefined;
}

/**
 * One provider's wire format. A family knows bodies and codes, and nothing of sockets, money or
 * channels. Every function is pure.
 */
export interface Family {
  /** The name in `models[…].family` and `channels[].family`. */
  readonly name: string;
  /** Where channels without `baseUrl` send to. A base URL without a path gets this one's path. */
  readonly defaultBaseUrl: string;
  readonly operations: ReadonlySet<Operation>;
  /** False when the provider reports no tokens, so that `per-token` pricing is refused at start. */
  readonly reportsTokens: boolean;
  /** The row of the family's table of limits that a name finds, where it has a table. */
  findLimits?(name: string): ModelLimits | undefined;
  /**
   * True where `normalize` takes an `UploadedImage` wherever a data URL may stand as `image`, or in a list that is
   * `image`, so that long ones stay the bytes that came. Absent: data URLs of JSON are texts.
   */
  readonly takesImageBytes?: boolean;
  /**
   * Fields of a client to a valid request. `model` is taken out, and so are `null`s, but for the
   * operation `native`, whose fields are as the client sent them.
   * @throws GatewayError `invalid_request_error`
   */
  normalize(fields: JsonObject, context: NormalizeContext): ImageRequest;
  toUpstream(request: ImageRequest, upstreamModel: string): UpstreamCall;
  /** A successful answer of the provider (HTTP 200, a JSON object). */
  fromUpstream(body: JsonObject, request: ImageRequest): ImageResult;
  /**
   * Where things stand in a successful answer, so that one of megabytes is relayed and understood without being
   * held. Absent: every answer is read whole.
   */
  readonly responseShape?: ResponseShape;
  /**
   * A reader for the events of one response. Absent if the provider does not stream. The reader lives as long as the
   * stream, so it should keep what it needs of the request and not the request itself.
   */
  readStream?(request: ImageRequest): StreamReader;
  /**
   * Classifies an error response of the provider. `body` is its parsed JSON, or `undefined` if it is not JSON. The
   * status is 200 to 299 if {@link fromUpstream} found a `failure` and no image in a successful response.
   */
  toFailure(status: number, body: JsonObject | undefined): UpstreamFailure;
}
