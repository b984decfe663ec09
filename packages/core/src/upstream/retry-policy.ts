import type { AttemptFailure } from "../families/family.js";

/**
 * Whether an image may have been made although the attempt failed. A refusal by the provider means that none was
 * made. This includes refusals of the content, which another channel cannot fix.
 */
export function mayHaveMadeImage(kind: AttemptFailure["kind"]): boolean {
  return kind === "server" || kind === "timeout" || kind === "broken";
}

/**
 * Whether a request may be sent again, with another key or on another channel. It may if no image can have been made:
 * no connection, a refusal of our key, account, quota or model, or an overloaded provider. With `retryUnsafe` the
 * operator accepts a duplicate image rather than a failed request.
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
