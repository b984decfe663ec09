import { jsonResponse, retryAfter } from "../http/responses.js";
import { Refusal } from "../refusal.js";
import { type DashscopeErrorCode, dashscopeErrors, isDashscopeErrorCode } from "./error-codes.js";

export function renderDashscopeRefusal(refusal: Refusal, requestId: string): Response {
  const { code } = refusal;
  const known = isDashscopeErrorCode(code) ? dashscopeErrors[code] : { status: 400, message: code };
  const body = { request_id: requestId, code, message: refusal.message || known.message };
  return jsonResponse(body, refusal.status ?? known.status, retryAfter(refusal.retryAfterSeconds));
}

const codesOfStatus: Readonly<Record<number, string>> = { 429: "Throttling.RateQuota" };

/** The first code of the table with this status, unless another one is more usual. */
export function dashscopeCodeForStatus(status: number): string {
  const found = Object.entries(dashscopeErrors).find(([, facts]) => facts.status === status);
  return codesOfStatus[status] ?? found?.[0] ?? (status < 500 ? "InvalidParameter" : "InternalError");
}

/** A refusal with one of DashScope's codes. Without a message it has the message of the table. */
export function dashscopeRefusal(code: DashscopeErrorCode, message?: string): Refusal {
  return new Refusal({ code, message });
}

export function invalidParameter(message: string): Refusal {
  return dashscopeRefusal("InvalidParameter", message);
}
