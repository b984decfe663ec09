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
