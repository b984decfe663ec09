import type { ErrorTable } from "../dialects/error-tables.js";

/** BFL's bodies have no code. The names are the emulator's own. */
export const bflErrors: ErrorTable = {
  bad_request: { status: 400, message: "Bad request" },
  validation_error: { status: 422, message: "Input should be valid" },
  insufficient_credits: { status: 402, message: "Insufficient credits. Please add credits to your account." },
  not_authenticated: { status: 403, message: "Not authenticated - Invalid Authentication" },
  unknown_model: { status: 404, message: "Not Found" },
  too_many_tasks: { status: 429, message: "Rate limit exceeded: too many active tasks" },
  internal_error: { status: 500, message: "Internal Server Error" },
  service_unavailable: { status: 503, message: "Service Unavailable" },
};

/** fal's errors by `type` of the detail. */
export const falErrors: ErrorTable = {
  invalid_request: { status: 400, message: "Invalid request" },
  missing: { status: 422, message: "Field required" },
  value_error: { status: 422, message: "Input should be valid" },
  content_policy_violation: {
    status: 422,
    message: "The content could not be processed because it contained material flagged by a content checker.",
  },
  image_load_error: {
    status: 422,
    message: "Failed to load the image. Please ensure the image file is not corrupted.",
  },
  unauthenticated_user: { status: 401, message: "Authentication is required to access this application." },
  exhausted_balance: {
    status: 403,
    message: "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.",
  },
  application_not_found: { status: 404, message: "Application not found" },
  concurrent_requests_limit: { status: 429, message: "Reached concurrent requests limit" },
  internal_server_error: { status: 500, message: "Internal server error" },
  runner_unavailable: { status: 503, message: "The runner is temporarily unavailable" },
  generation_timeout: { status: 504, message: "Generation timeout" },
};

/** A relay's errors by their `type`; the code in the body is the status. The names are those of docs.apimart.ai. */
export const relayErrors: ErrorTable = {
  invalid_request_error: { status: 400, message: "Invalid request parameters" },
  content_policy_violation: { status: 400, message: "The prompt was refused by the safety review" },
  authentication_error: { status: 401, message: "Authentication failed, please check your API key" },
  payment_required: { status: 402, message: "Insufficient account balance, please top up and try again" },
  model_not_found: { status: 404, message: "The model does not exist" },
  rate_limit_error: { status: 429, message: "Too many requests, please try again later" },
  server_error: { status: 500, message: "Internal server error, please try again later" },
  service_unavailable: { status: 503, message: "The service is temporarily unavailable" },
};

/** Replicate's bodies have a title and a detail. The names are the emulator's own. */
export const replicateErrors: ErrorTable = {
  input_validation: { status: 422, message: "input: prompt is required" },
  flagged: {
    status: 400,
    message: "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
  },
  unauthenticated: { status: 401, message: "You did not pass a valid authentication token" },
  insufficient_credit: {
    status: 402,
    message:
      "You have insufficient credit to run this model. Go to replicate.com/account/billing to purchase credit.",
  },
  not_found: { status: 404, message: "The requested resource could not be found." },
  throttled: { status: 429, message: "Request was throttled. Expected available in 1 second." },
  internal_error: { status: 500, message: "Internal server error" },
  service_unavailable: { status: 503, message: "Service unavailable" },
};
