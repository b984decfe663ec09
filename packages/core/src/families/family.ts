import type { ImageRequest, ImageResult, Operation, ResponseFormat } from "../image-request.js";
import type { JsonObject } from "../json.js";
import type { UpstreamFailure } from "../upstream-failure.js";
import type { ModelLimits } from "./model-limits.js";

/** What a family is told of a request beside its fields. */
export interface NormalizeContext {
  readonly operation: Operation;
  /** The service model name, as the client sent it. */
  readonly model: string;
  /** The model's row of limits; absent: nothing is checked against it. */
  readonly limits: ModelLimits | undefined;
  /** The default response format of the caller, the model or the gateway. */
  readonly defaultResponseFormat: ResponseFormat | undefined;
}

/** One call of a provider, without address and key. */
export interface UpstreamCall {
  /** Appended to the channel's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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
  /** The row of the limits table that a name finds, if any. */
  findLimits(name: string): ModelLimits | undefined;
  /**
   * Fields of a client (`model` and `null`s taken out) to a valid request.
   * @throws GatewayError `invalid_request_error`
   */
  normalize(fields: JsonObject, context: NormalizeContext): ImageRequest;
  toUpstream(request: ImageRequest, upstreamModel: string): UpstreamCall;
  /** A successful answer of the provider (HTTP 200, a JSON object). */
  fromUpstream(body: JsonObject, request: ImageRequest): ImageResult;
  /** An error answer of the provider. `body` is its parsed JSON, or `undefined` when it is none. */
  toFailure(status: number, body: JsonObject | undefined): UpstreamFailure;
}
