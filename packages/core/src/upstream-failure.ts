/**
 * What kind of refusal an error answer of a provider is. It decides whether another channel may be
 * tried, whether the channel is to blame, and what the client sees.
 *
 * - `content`: the request itself is refused; the same request fails everywhere.
 * - `credential`: our key or account is refused; the client's request may be fine.
 * - `rate`: too many requests for now.
 * - `quota`: an account's allowance is used up; waiting does not help.
 * - `overload`: the provider says it did not take the request (503).
 * - `server`: the provider failed; an image may or may not have been made.
 */
export type UpstreamFailureKind = "content" | "credential" | "rate" | "quota" | "overload" | "server";

/** An error answer of a provider, classified by its family. */
export interface UpstreamFailure {
  readonly kind: UpstreamFailureKind;
  /** The provider's error code, when it gave one. */
  readonly code?: string | undefined;
  /** The provider's message, when it gave one. */
  readonly message?: string | undefined;
  /** The field that the provider blames, when it names one. */
  readonly param?: string | undefined;
  /** The provider's request id as it stands in the body; the header is read elsewhere. */
  readonly requestId?: string | undefined;
}
