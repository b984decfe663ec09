import type { JsonObject } from "../../json.js";
import type { UpstreamFailure, UpstreamFailureKind } from "../../upstream-failure.js";
import { failureKindOfStatus } from "../failure-kind.js";
import { readText } from "../read-values.js";

/** Codes of DashScope that mean something else than their HTTP status says. */
const KINDS: ReadonlyMap<string | undefined, UpstreamFailureKind> = new Map([
  ["Arrearage", "credential"],
  ["PrepaidBillOverdue", "quota"],
  ["PostpaidBillOverdue", "quota"],
  ["CommodityNotPurchased", "quota"],
]);

/** An error answer of DashScope: `{"request_id","code","message"}`. */
export function toQwenImageFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const code = readText(body?.["code"]);
  return {
    kind: KINDS.get(code) ?? failureKindOfStatus(status),
    code,
    message: readText(body?.["message"]),
    requestId: readText(body?.["request_id"]),
  };
}
