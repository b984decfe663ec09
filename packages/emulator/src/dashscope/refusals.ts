import { Refusal } from "../refusal.js";
import type { DashscopeErrorCode } from "./error-codes.js";

/** A refusal with one of DashScope's codes; the message of the table where none is given. */
export function dashscopeRefusal(code: DashscopeErrorCode, message?: string): Refusal {
  return new Refusal({ code, message });
}

export function invalidParameter(message: string): Refusal {
  return dashscopeRefusal("InvalidParameter", message);
}
