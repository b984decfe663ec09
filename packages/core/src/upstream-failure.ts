/**
 * What kind of refusal an error response of a provider is. The kind decides whether another channel may be
 * tried and what the client sees.
 *
 * - `content`: the request itself is refused; the same request fails everywhere.
 * - `model`: the model or endpoint is gone or closed at this provider.
 * - `credential`: our key or account is refused, or may not use the model; the client's request may be fine.
 * - `rate`: too many requests for now.
 * - `quota`: an account's allowance is used up; waiting does not help.
 * - `overload`: the provider says it did not take the request (503).
 * - `server`: the provider failed; an image may or may not have been made.
 */
export type UpstreamFailureKind =
  | "content"
  | "model"
  | "credential"
  | "rate"
  | "quota"
  | "overload"
  | "server";

/**
 * What a failure makes unusable for some time: nothing (`request`), one model on the channel, one key of the channel,
 * or the whole channel. A failure with scope `model` and kind `credential`, `rate` or `quota` belongs to the account:
 * it affects the model only with that key.
 */
export type FailureScope = "request" | "model" | "key" | "channel";

/** An error response of a provider, classified by its family. */
export interface UpstreamFailure {
  readonly kind: UpstreamFailureKind;
  /**
   * What cools after the failure. Default: `request` for `content`, `model` for `model`, `key` for `credential`,
   * `rate` and `quota`, `channel` for `overload` and `server`.
   */
  readonly scope?: FailureScope | undefined;
  /** The provider's error code, when it gave one. */
  readonly code?: string | undefined;
  /** The provider's message, when it gave one. */
  readonly message?: string | undefined;
  /** The field that the provider blames, when it names one. */
  readonly param?: string | undefined;
  /** The provider's request id as it stands in the body; the header is read elsewhere. */
  readonly requestId?: string | undefined;
}

/** Why one attempt failed: the provider's refusal, or what became of the connection. */
export interface AttemptFailure extends Omit<UpstreamFailure, "kind"> {
  readonly kind: UpstreamFailureKind | "unreachable" | "timeout" | "broken";
  /** The HTTP status, when the provider answered. */
  readonly status?: number | undefined;
  /** Seconds, from the provider's `retry-after`. */
  readonly retryAfterSeconds?: number | undefined;
  /** The provider's error body as it came, when it is JSON. */
  readonly body?: string | undefined;
  readonly cause?: unknown;
}
