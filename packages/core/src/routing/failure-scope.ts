import type { AttemptFailure } from "../upstream/attempt-failure.js";
import type { FailureScope } from "../upstream-failure.js";

/** What a failure makes unusable: what the family says, or the default of the failure's kind. */
export function scopeOf({ kind, scope }: Pick<AttemptFailure, "kind" | "scope">): FailureScope {
  switch (kind) {
    case "content":
      return "request";
    case "model":
      return scope ?? "model";
    case "credential":
    case "rate":
    case "quota":
      return scope ?? "key";
    case "overload":
    case "server":
      return scope ?? "channel";
    case "unreachable":
    case "timeout":
    case "broken":
      return "channel";
  }
}

/** True for a failure that says that the model is unusable on the channel whatever key is sent. */
export function isForAllKeys({ kind }: Pick<AttemptFailure, "kind">): boolean {
  return kind !== "credential" && kind !== "rate" && kind !== "quota";
}
