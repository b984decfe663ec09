import type { HeaderReader } from "../http.js";
import type { FailureScope, UpstreamFailureKind } from "../types.js";
import type { JsonObject } from "../util/json.js";

/** An error response of a provider. */
export interface FailedResponse {
  /** 200 to 299 if `fromUpstream` found a `failure` without a `kind`, and no image, in a successful response. */
  readonly status: number;
  readonly headers: HeaderReader;
  /** The parsed body; `undefined` if it is not a JSON object. */
  readonly body: JsonObject | undefined;
}

/** An error response of a provider, classified by its family. */
export interface UpstreamFailure {
  readonly kind: UpstreamFailureKind;
  /**
   * What cools after the failure. Default: `request` for `content`, `model` for `model`, `key` for `credential`,
   * `rate` and `quota`, `channel` for `overload` and `server`.
   */
  readonly scope?: FailureScope | undefined;
  /** The provider's error code, if there is one. */
  readonly code?: string | undefined;
  /** The provider's message, if there is one. */
  readonly message?: string | undefined;
  /** The wrong field, if the provider names one. */
  readonly param?: string | undefined;
  /** The provider's request id in the body. The header is read elsewhere. */
  readonly requestId?: string | undefined;
  /**
   * How long the provider asks to wait, in seconds, if the body or a header of its own says so. Default: what the headers
   * `retry-after-ms` and `retry-after` say.
   */
  readonly retryAfterSeconds?: number | undefined;
}

/** Why one attempt failed: an error response of the provider, or a failed connection. */
export interface AttemptFailure extends Omit<UpstreamFailure, "kind"> {
  readonly kind: UpstreamFailureKind | "unreachable" | "timeout" | "broken";
  /** The HTTP status, if the provider responded. */
  readonly status?: number | undefined;
  /** The provider's unchanged error body, if it is JSON. */
  readonly body?: string | undefined;
  readonly cause?: unknown;
}
