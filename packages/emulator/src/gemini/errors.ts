import { jsonResponse } from "../http/responses.js";
import { Refusal } from "../refusal.js";
import { type GeminiErrorCode, geminiFactsOf } from "./error-codes.js";

/** An error body of Google. The delay of a retry is in the body, not in a header. */
export function describeGeminiError({
  code,
  message,
  status,
  retryAfterSeconds,
}: Pick<Refusal, "code" | "message" | "status" | "retryAfterSeconds">) {
  const facts = geminiFactsOf(code);
  const details = [
    ...(facts.reason === undefined
      ? []
      : [{ "@type": typeOf("ErrorInfo"), reason: facts.reason, domain: "googleapis.com" }]),
    ...(facts.quotaId === undefined
      ? []
      : [{ "@type": typeOf("QuotaFailure"), violations: [{ quotaId: facts.quotaId }] }]),
    ...(retryAfterSeconds === undefined
      ? []
      : [{ "@type": typeOf("RetryInfo"), retryDelay: `${retryAfterSeconds}s` }]),
  ];
  return {
    error: {
      code: status ?? facts.status,
      message: message || facts.message,
      status: facts.wireStatus ?? code,
      ...(details.length === 0 ? {} : { details }),
    },
  };
}

function typeOf(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`;
}

export function renderGeminiRefusal(refusal: Refusal): Response {
  return jsonResponse(describeGeminiError(refusal), refusal.status ?? geminiFactsOf(refusal.code).status);
}

/** A refusal with one of Google's errors. Without a message it has the message of the table. */
export function geminiRefusal(code: GeminiErrorCode, message?: string): Refusal {
  return new Refusal({ code, message });
}

export function invalidArgument(message: string): Refusal {
  return geminiRefusal("INVALID_ARGUMENT", message);
}
