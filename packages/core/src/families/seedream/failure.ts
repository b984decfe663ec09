import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { UpstreamFailure } from "../family.js";
import { classifyFailure, createCodeTable, readText } from "../shared.js";

/** Ark's error codes (November 2026). The same code means the same with any HTTP status, 200 included. */
const CODES = createCodeTable(
  [
    { kind: "model" },
    "InvalidEndpointOrModel.NotFound",
    "InvalidEndpoint.ClosedEndpoint",
    "UnsupportedModel",
  ],
  // The account has not opened the model: its other models work.
  [{ kind: "credential", scope: "model" }, "ModelNotOpen", "OperationDenied.ServiceNotOpen"],
  [
    { kind: "credential" },
    "AuthenticationError",
    "InvalidAccountStatus",
    "AccountOverdueError",
    "AccessDenied",
    "OperationDenied.ServiceOverdue",
  ],
  // Limits of one model or endpoint of the account.
  [
    { kind: "rate", scope: "model" },
    "ModelAccountIpmRateLimitExceeded",
    "ModelAccountRpmRateLimitExceeded",
    "RateLimitExceeded.EndpointRPMExceeded",
  ],
  [{ kind: "rate" }, "AccountRateLimitExceeded", "RequestBurstTooFast"],
  [{ kind: "quota" }, "QuotaExceeded", "SetLimitExceeded"],
  [{ kind: "overload" }, "ServerOverloaded"],
  [{ kind: "server" }, "InternalServiceError"],
);

/** An error response of Ark: `{"error":{"code","message","param","type"}}`; some 404s are empty. */
export function toSeedreamFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const error = isJsonObject(body?.["error"]) ? body["error"] : {};
  const code = readText(error["code"]);
  const message = readText(error["message"]);
  return {
    ...classifyFailure(CODES, status, code),
    code,
    message,
    param: readText(error["param"]),
    requestId: /Request id: (\w+)/i.exec(message ?? "")?.[1],
  };
}
