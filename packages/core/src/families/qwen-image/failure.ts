import type { JsonObject } from "../../util/json.js";
import type { UpstreamFailure } from "../family.js";
import { classifyFailure, createCodeTable, readText } from "../shared.js";

/** DashScope's error codes (November 2026). The same code means the same with any HTTP status, 200 included. */
const CODES = createCodeTable(
  [{ kind: "model" }, "ModelNotFound"],
  // The account may not use this model, or has used up the model's free images. The account's other models work.
  [
    { kind: "credential", scope: "model" },
    "Model.AccessDenied",
    "AccessDenied.Unpurchased",
    "AllocationQuota.FreeTierOnly",
  ],
  [{ kind: "credential" }, "InvalidApiKey", "AccessDenied", "Arrearage"],
  // DashScope limits each model of an account separately.
  [{ kind: "rate", scope: "model" }, "Throttling.RateQuota", "Throttling.AllocationQuota", "LimitRequests"],
  [{ kind: "rate" }, "Throttling"],
  [{ kind: "quota" }, "PrepaidBillOverdue", "PostpaidBillOverdue", "CommodityNotPurchased"],
  [{ kind: "overload" }, "ModelUnavailable"],
  [{ kind: "server" }, "InternalError", "InternalError.Timeout", "SystemError", "RequestTimeOut"],
);

/** An error response of DashScope: `{"request_id","code","message"}`. */
export function toQwenImageFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const code = readText(body?.["code"]);
  return {
    ...classifyFailure(CODES, status, code),
    code,
    message: readText(body?.["message"]),
    requestId: readText(body?.["request_id"]),
  };
}
