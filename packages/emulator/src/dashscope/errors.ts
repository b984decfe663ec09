import { jsonResponse, retryAfter } from "../http/json-response.js";
import type { Refusal } from "../refusal.js";
import { dashscopeErrors, isDashscopeErrorCode } from "./error-codes.js";

export function renderDashscopeRefusal(refusal: Refusal, requestId: string): Response {
  const { code } = refusal;
  const known = isDashscopeErrorCode(code) ? dashscopeErrors[code] : { status: 400, message: code };
  const body = { request_id: requestId, code, message: refusal.message || known.message };
  return jsonResponse(body, refusal.status ?? known.status, retryAfter(refusal.retryAfterSeconds));
}

const codesOfStatus: Readonly<Record<number, string>> = { 429: "Throttling.RateQuota" };

/** The first code of the table with this status, save where another is the usual one. */
export function dashscopeCodeForStatus(status: number): string {
  const found = Object.entries(dashscopeErrors).find(([, facts]) => facts.status === status);
  return codesOfStatus[status] ?? found?.[0] ?? (status < 500 ? "InvalidParameter" : "InternalError");
}
