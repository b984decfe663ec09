import { jsonResponse, retryAfter } from "../http/responses.js";
import type { FieldProblem } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import {
  azureErrors,
  factsOf,
  type OpenaiErrorCode,
  type OpenaiErrorFacts,
  openaiErrors,
} from "./error-codes.js";

/** The two services whose errors have this shape. */
export type OpenaiService = "openai" | "azure";

/** The table of codes of a service. */
export function errorsOf(service: OpenaiService): Readonly<Record<string, OpenaiErrorFacts>> {
  return service === "azure" ? azureErrors : openaiErrors;
}

/** The contents of `error`. */
export function describeOpenaiError(
  { code, message, type, param }: Pick<Refusal, "code" | "message" | "type"> & { param?: string },
  { service, requestId }: { service: OpenaiService; requestId: string },
) {
  const facts = factsOf(errorsOf(service), code);
  return {
    message: (message || facts.message).replace("{request_id}", requestId),
    type: type ?? facts.type,
    param: param === undefined || param === "" ? null : param,
    code: facts.wireCode === undefined ? code : facts.wireCode,
  };
}

export function renderOpenaiRefusal(refusal: Refusal, service: OpenaiService, requestId: string): Response {
  const facts = factsOf(errorsOf(service), refusal.code);
  const error = describeOpenaiError(refusal, { service, requestId });
  // Azure's own layer in front of the models knows only `code` and `message`.
  const body = { error: error.type === "" ? { code: error.code, message: error.message } : error };
  return jsonResponse(body, refusal.status ?? facts.status, retryAfter(refusal.retryAfterSeconds));
}

/** A refusal with one of OpenAI's codes. Without a message it has the message of the table. */
export function openaiRefusal(code: OpenaiErrorCode, message?: string, param = ""): Refusal {
  return new Refusal({ code, message, param });
}

export function invalidValue(param: string, message: string): Refusal {
  return openaiRefusal("invalid_value", message, param);
}

/** The refusal for a field that is missing, unknown, or wrong. */
export function refuseField({ kind, name, expected, value }: FieldProblem): Refusal {
  switch (kind) {
    case "missing":
      return openaiRefusal("missing_required_parameter", `Missing required parameter: '${name}'.`, name);
    case "unknown":
      return openaiRefusal("unknown_parameter", `Unknown parameter: '${name}'.`, name);
    case "wrong-type": {
      const message = `Invalid type for '${name}': expected ${expected}, but got ${describeType(value)} instead.`;
      return openaiRefusal("invalid_type", message, name);
    }
    case "wrong-value": {
      const message = `Invalid value: '${String(value)}'. Supported values are: ${expected}.`;
      return openaiRefusal("invalid_value", message, name);
    }
    case "too-small":
    case "too-large": {
      const [bound, sign] = kind === "too-small" ? ["below minimum", ">="] : ["above maximum", "<="];
      const message = `Invalid '${name}': integer ${bound} value. Expected a value ${sign} ${expected}, but got ${String(value)} instead.`;
      const code = kind === "too-small" ? "integer_below_min_value" : "integer_above_max_value";
      return openaiRefusal(code, message, name);
    }
    case "too-long": {
      const message = `Invalid '${name}': string too long. Expected a string with maximum length ${expected}, but got a string with length ${String(value).length} instead.`;
      return openaiRefusal("string_above_max_length", message, name);
    }
  }
}

function describeType(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal number";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
