import type { AttemptFailure } from "./attempt-failure.js";

/**
 * Whether a request may be sent again, on another channel. Only where nothing can have been made:
 * no connection, our key refused, the provider too busy to take it. `retryUnsafe` is the operator's
 * word that a doubled image is worth less than a failed request.
 */
export function maySendAgain(kind: AttemptFailure["kind"], retryUnsafe: boolean): boolean {
  switch (kind) {
    case "unreachable":
    case "credential":
    case "rate":
    case "overload":
      return true;
    case "server":
    case "timeout":
    case "broken":
      return retryUnsafe;
    case "content":
    case "quota":
      return false;
  }
}
