import { isJsonObject, type JsonObject } from "../../json.js";
import type { UpstreamFailure, UpstreamFailureKind } from "../../upstream-failure.js";
import { failureKindOfStatus } from "../failure-kind.js";
import { readText } from "../read-values.js";

/** Codes of Ark that mean something else than their HTTP status says. */
const KINDS: ReadonlyMap<string | undefined, UpstreamFailureKind> = new Map([
  ["InvalidAccountStatus", "credential"],
  ["ModelNotOpen", "credential"],
  ["QuotaExceeded", "quota"],
  ["SetLimitExceeded", "quota"],
]);

/** An error answer of Ark: `{"error":{"code","message","param","type"}}`; some 404s are empty. */
export function toSeedreamFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const error = isJsonObject(body?.["error"]) ? body["error"] : {};
  const code = readText(error["code"]);
  const message = readText(error["message"]);
  return {
    kind: KINDS.get(code) ?? failureKindOfStatus(status),
    code,
    message,
    param: readText(error["param"]),
    requestId: /Request id: (\w+)/i.exec(message ?? "")?.[1],
  };
}
