import type { ReportedFailure } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { UpstreamFailure } from "../failure.js";
import { classifyFailure, createCodeTable, readText } from "../shared.js";

/** The values of `error.status` (Google's APIs, November 2026). The same name means the same with any HTTP status. */
const STATUSES = createCodeTable(
  // A country that is not served, or an account without billing.
  [{ kind: "credential" }, "UNAUTHENTICATED", "PERMISSION_DENIED", "FAILED_PRECONDITION"],
  [{ kind: "model" }, "NOT_FOUND"],
  [{ kind: "rate" }, "RESOURCE_EXHAUSTED"],
  [{ kind: "overload" }, "UNAVAILABLE"],
  [{ kind: "server" }, "INTERNAL", "UNKNOWN", "ABORTED", "DEADLINE_EXCEEDED", "DATA_LOSS"],
);

/** Reasons of an `ErrorInfo` that refuse the key or its project, also with the status `INVALID_ARGUMENT`. */
const KEY_REASON =
  /^(?:API_KEY_|CONSUMER_|SERVICE_DISABLED$|BILLING_DISABLED$|ACCESS_TOKEN_|USER_PROJECT_DENIED$)/;

/** An error response of Google: `{"error":{"code","message","status","details"}}`. */
export function toGeminiFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const error = isJsonObject(body?.["error"]) ? body["error"] : {};
  const code = readText(error["status"]);
  const message = readText(error["message"]);
  return { ...classify(status, code, error), code, message };
}

/** An error in a response with a 2xx status. */
export function readGeminiError(status: number, error: JsonObject): ReportedFailure {
  const { kind, scope, code = "upstream_error", message } = toGeminiFailure(status, { error });
  return { kind, scope, code, message: message ?? "The provider reported an error without a message." };
}

function classify(
  status: number,
  code: string | undefined,
  error: JsonObject,
): Pick<UpstreamFailure, "kind" | "scope" | "retryAfterSeconds"> {
  const details = Array.isArray(error["details"]) ? error["details"].filter(isJsonObject) : [];
  const detail = (type: string): JsonObject | undefined =>
    details.find((each) => readText(each["@type"])?.endsWith(`.${type}`));
  if (KEY_REASON.test(readText(detail("ErrorInfo")?.["reason"]) ?? "")) return { kind: "credential" };
  const meaning = classifyFailure(STATUSES, status, code);
  const retryAfterSeconds = readDelay(detail("RetryInfo")?.["retryDelay"]);
  if (meaning.kind !== "rate") return { ...meaning, retryAfterSeconds };
  const quotas = readQuotas(detail("QuotaFailure")?.["violations"]);
  const scope =
    quotas.length > 0 && quotas.every((id) => /PerModel/.test(id)) ? ({ scope: "model" } as const) : {};
  // Google states a delay of seconds with a quota of the day too. It is of no use.
  if (quotas.some((id) => /PerDay/.test(id))) return { kind: "quota", ...scope };
  return { ...meaning, ...scope, retryAfterSeconds };
}

function readQuotas(violations: unknown): readonly string[] {
  if (!Array.isArray(violations)) return [];
  return violations.flatMap((violation: unknown) =>
    isJsonObject(violation) ? (readText(violation["quotaId"]) ?? []) : [],
  );
}

/** The seconds of a delay such as `34s` or `34.07s`. */
function readDelay(delay: unknown): number | undefined {
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(readText(delay) ?? "") ?? [];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds));
}
