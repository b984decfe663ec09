import type { AttemptFailure } from "../upstream-failure.js";
import type { FailureScope } from "../upstream-failure.js";

/** Returns what a failure makes unusable: the family's scope, or the default scope of the failure's kind. */
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

/** True if the failure means that the model is unusable on the channel with every key. */
export function isForAllKeys({ kind }: Pick<AttemptFailure, "kind">): boolean {
  return kind !== "credential" && kind !== "rate" && kind !== "quota";
}
