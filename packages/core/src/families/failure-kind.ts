import type { UpstreamFailureKind } from "../upstream-failure.js";

/** What an HTTP status means where the provider's code says nothing else. */
export function failureKindOfStatus(status: number): UpstreamFailureKind {
  if (status === 401 || status === 403) return "credential";
  if (status === 429) return "rate";
  if (status === 503) return "overload";
  // The provider gave up on a request it had taken; the client must not send it again.
  if (status === 408) return "server";
  return status >= 400 && status < 500 ? "content" : "server";
}
