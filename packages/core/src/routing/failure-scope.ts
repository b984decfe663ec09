import type { AttemptFailure } from "../upstream/attempt-failure.js";

/** Whose failure it is: the request's, that of the key it was sent with, or the channel's with all its keys. */
export function scopeOf(kind: AttemptFailure["kind"]): "request" | "key" | "channel" {
  switch (kind) {
    case "content":
      return "request";
    case "credential":
    case "rate":
    case "quota":
      return "key";
    case "unreachable":
    case "overload":
    case "server":
    case "timeout":
    case "broken":
      return "channel";
  }
}
