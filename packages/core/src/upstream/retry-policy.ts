import type { AttemptFailure } from "./attempt-failure.js";

/**
 * Whether an image may have been made although the attempt failed. A refusal by the provider says that none was, also
 * one that another channel cannot help with (`content`).
 */
export function mayHaveMadeImage(kind: AttemptFailure["kind"]): boolean {
  return kind === "server" || kind === "timeout" || kind === "broken";
}

/**
 * Whether a request may be sent again, with another key or on another channel. Only where nothing can have been
 * made: no connection, a refusal of our key, account, quota or model, or the provider too busy to take it.
 * `retryUnsafe` is the operator's word that a duplicate image is worth less than a failed request.
 */
export function maySendAgain(kind: AttemptFailure["kind"], retryUnsafe: boolean): boolean {
  switch (kind) {
    case "unreachable":
    case "credential":
    case "model":
    case "rate":
    case "quota":
    case "overload":
      return true;
    case "server":
    case "timeout":
    case "broken":
      return retryUnsafe;
    case "content":
      return false;
  }
}
