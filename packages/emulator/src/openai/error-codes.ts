import type { ErrorFacts } from "../error-facts.js";

/** An error of OpenAI or of Azure. */
export interface OpenaiErrorFacts extends ErrorFacts {
  readonly type: string;
  /** What the body has as its `code`, if it is not the name of the entry. */
  readonly wireCode?: string | null;
}

const invalid = "invalid_request_error";
const quota = "You exceeded your current quota, please check your plan and billing details.";

/**
 * The codes of OpenAI's images API, each with its HTTP status, its type, and its message, unless a more specific one is
 * sent. Some errors have no code on the wire. Their names here are the emulator's own, for faults.
 */
export const openaiErrors = {
  invalid_value: fact(400, invalid, "Invalid value."),
  invalid_type: fact(400, invalid, "Invalid type."),
  unknown_parameter: fact(400, invalid, "Unknown parameter."),
  missing_required_parameter: fact(400, invalid, "Missing required parameter."),
  integer_above_max_value: fact(400, invalid, "Integer above maximum value."),
  integer_below_min_value: fact(400, invalid, "Integer below minimum value."),
  string_above_max_length: fact(400, invalid, "String above maximum length."),
  invalid_image_file: fact(
    400,
    invalid,
    "Invalid image file or mode for image 1, please check your image file.",
  ),
  moderation_blocked: fact(
    400,
    "image_generation_user_error",
    "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID {request_id}. safety_violations=[violence].",
  ),
  billing_hard_limit_reached: fact(400, invalid, "Billing hard limit has been reached."),
  invalid_api_key: fact(
    401,
    invalid,
    "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
  ),
  not_in_organization: {
    ...fact(401, invalid, "You must be a member of an organization to use the API."),
    wireCode: null,
  },
  organization_not_verified: {
    ...fact(
      403,
      invalid,
      "Your organization must be verified to use the model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.",
    ),
    wireCode: null,
  },
  unsupported_country_region_territory: fact(
    403,
    "request_forbidden",
    "Country, region, or territory not supported",
  ),
  model_not_found: fact(404, invalid, "The model does not exist or you do not have access to it."),
  rate_limit_exceeded: fact(
    429,
    "requests",
    "Rate limit exceeded for images per minute in organization org-emulator. Limit: 5/1min. Please try again in 12 seconds.",
  ),
  insufficient_quota: fact(429, "insufficient_quota", quota),
  credit_balance_exhausted: fact(429, "insufficient_quota", "Your credit balance is exhausted."),
  organization_spend_limit_exceeded: fact(
    429,
    "insufficient_quota",
    "The organization has reached its spend limit.",
  ),
  project_spend_limit_exceeded: fact(429, "insufficient_quota", "The project has reached its spend limit."),
  organization_usage_limit_exceeded: fact(
    429,
    "insufficient_quota",
    "The organization has reached its usage limit.",
  ),
  server_error: fact(
    500,
    "server_error",
    "The server had an error while processing your request. Sorry about that! If this persists, contact us through our help center and include the request ID {request_id}.",
  ),
  server_is_overloaded: fact(
    503,
    "service_unavailable_error",
    "Our servers are currently overloaded. Please try again later.",
  ),
} as const satisfies Readonly<Record<string, OpenaiErrorFacts>>;

/** A code of OpenAI's images API, or the emulator's name for an error without one. */
export type OpenaiErrorCode = keyof typeof openaiErrors;

/** The codes that only Azure has. It sends most of OpenAI's codes too. */
export const azureErrors = {
  ...openaiErrors,
  content_policy_violation: fact(
    400,
    "image_generation_user_error",
    "Your request was rejected as a result of our safety system.",
  ),
  contentFilter: fact(400, invalid, "Your task failed as a result of our safety system."),
  "401": fact(
    401,
    "",
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
  ),
  Forbidden: fact(
    403,
    "",
    "Your resource has been temporarily blocked because we detected behavior that may violate our content policy.",
  ),
  "404": fact(404, "", "Resource not found"),
  DeploymentNotFound: fact(
    404,
    "",
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
  ),
  RateLimitReached: fact(
    429,
    "",
    "Your requests to the image model have exceeded the call rate limit of your current tier. Please retry after 12 seconds.",
  ),
} as const satisfies Readonly<Record<string, OpenaiErrorFacts>>;

/** The facts of a code. A code that no table has counts as an invalid value. */
export function factsOf(table: Readonly<Record<string, OpenaiErrorFacts>>, code: string): OpenaiErrorFacts {
  return (Object.hasOwn(table, code) ? table[code] : undefined) ?? fact(400, invalid, code);
}

/** The first code of the table with this status. */
export function codeForStatus(table: Readonly<Record<string, OpenaiErrorFacts>>, status: number): string {
  const preferred = usualCodes[status];
  if (preferred !== undefined) return preferred;
  const found = Object.entries(table).find(([, facts]) => facts.status === status);
  return found?.[0] ?? (status < 500 ? "invalid_value" : "server_error");
}

/** `Object.entries` sorts names of digits first. */
const usualCodes: Readonly<Record<number, string>> = {
  401: "invalid_api_key",
  403: "organization_not_verified",
  404: "model_not_found",
};

function fact(status: number, type: string, message: string): OpenaiErrorFacts {
  return { status, type, message };
}
