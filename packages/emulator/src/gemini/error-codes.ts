import { type ErrorFacts, fact } from "../error-facts.js";

interface GeminiErrorFacts extends ErrorFacts {
  /** `error.status` on the wire, if it is not the name of the entry. */
  readonly wireStatus?: string;
  /** The reason of the `ErrorInfo` in `error.details`. */
  readonly reason?: string;
  /** The `quotaId` of the `QuotaFailure` in `error.details`. */
  readonly quotaId?: string;
}

const exhausted =
  "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";

/** The errors of the Gemini API by `error.status`, and those that are told apart by their details. */
export const geminiErrors = {
  INVALID_ARGUMENT: fact(400, "Request contains an invalid argument."),
  API_KEY_INVALID: {
    ...fact(400, "API key not valid. Please pass a valid API key."),
    wireStatus: "INVALID_ARGUMENT",
    reason: "API_KEY_INVALID",
  },
  FAILED_PRECONDITION: fact(400, "User location is not supported for the API use."),
  UNAUTHENTICATED: {
    ...fact(401, "Request had invalid authentication credentials. Expected OAuth 2 access token."),
    reason: "ACCESS_TOKEN_EXPIRED",
  },
  PERMISSION_DENIED: fact(403, "The caller does not have permission."),
  NOT_FOUND: fact(
    404,
    "The model is not found for API version v1beta, or is not supported for generateContent.",
  ),
  RESOURCE_EXHAUSTED: { ...fact(429, exhausted), quotaId: "GenerateRequestsPerMinutePerProjectPerModel" },
  RESOURCE_EXHAUSTED_PER_DAY: {
    ...fact(429, exhausted),
    wireStatus: "RESOURCE_EXHAUSTED",
    quotaId: "GenerateRequestsPerDayPerProjectPerModel",
  },
  INTERNAL: fact(
    500,
    "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
  ),
  UNAVAILABLE: fact(503, "The model is overloaded. Please try again later."),
  DEADLINE_EXCEEDED: fact(504, "Deadline expired before operation could complete."),
} as const satisfies Readonly<Record<string, GeminiErrorFacts>>;

/** An error of the Gemini API. */
export type GeminiErrorCode = keyof typeof geminiErrors;

/** The facts of an error. One that is not in the table counts as an invalid argument. */
export function geminiFactsOf(code: string): GeminiErrorFacts {
  const table: Readonly<Record<string, GeminiErrorFacts>> = geminiErrors;
  return (Object.hasOwn(table, code) ? table[code] : undefined) ?? fact(400, code);
}

/** The first error with this status. */
export function geminiCodeForStatus(status: number): string {
  const found = Object.entries(geminiErrors).find(([, facts]) => facts.status === status);
  return found?.[0] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
}
