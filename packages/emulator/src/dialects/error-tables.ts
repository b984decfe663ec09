import type { ErrorFacts } from "../error-facts.js";

/** An error of a service with a dialect of OpenAI's images API. */
export interface DialectErrorFacts extends ErrorFacts {
  /** The code on the wire, if it is not the name of the entry. */
  readonly wireCode?: string;
  /** `error.type` on the wire, if the service has it. */
  readonly type?: string;
}

export type ErrorTable = Readonly<Record<string, DialectErrorFacts>>;

/**
 * The errors of the services with a dialect of OpenAI's images API, by the names that faults use. Few of these services
 * document their errors. Where a code has no name on the wire, the name is the emulator's own.
 */
export const xaiErrors: ErrorTable = {
  invalid_argument: wired(400, "Client specified an invalid argument", "The request is invalid."),
  content_moderated: wired(
    400,
    "Client specified an invalid argument",
    "Generated image rejected by content moderation.",
  ),
  unauthenticated: wired(
    401,
    "The request does not have valid authentication credentials",
    "Incorrect API key provided. You can obtain an API key from https://console.x.ai.",
  ),
  permission_denied: wired(
    403,
    "The caller does not have permission to execute the specified operation",
    "Your team does not have access to the model.",
  ),
  not_found: wired(
    404,
    "Some requested entity was not found",
    "The model does not exist or your team has no access to it.",
  ),
  resource_exhausted: wired(
    429,
    "Some resource has been exhausted",
    "Your team has either used all available credits or reached its monthly spending limit.",
  ),
  rate_limited: wired(
    429,
    "Some resource has been exhausted",
    "Too many requests for the team. Please retry later.",
  ),
  internal: wired(500, "Internal error", "The service encountered an error."),
  unavailable: wired(
    503,
    "The service is currently unavailable",
    "The service is at capacity. Please retry later.",
  ),
};

/** OpenRouter's code on the wire is the status as a number. */
export const openrouterErrors: ErrorTable = {
  bad_request: { status: 400, message: "Bad Request" },
  unauthorized: { status: 401, message: "No auth credentials found" },
  insufficient_credits: {
    status: 402,
    message: "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
  },
  moderation: { status: 403, message: "Your input was flagged by the moderation of the provider." },
  no_endpoints: { status: 404, message: "No endpoints found that support image output." },
  payload_too_large: { status: 413, message: "Payload too large" },
  rate_limited: { status: 429, message: "Rate limit exceeded" },
  internal_server_error: { status: 500, message: "Internal Server Error" },
  bad_gateway: { status: 502, message: "Provider returned error" },
  service_unavailable: {
    status: 503,
    message: "No provider is available that meets the routing requirements",
  },
  provider_timeout: { status: 524, message: "The provider did not respond in time" },
  provider_overloaded: { status: 529, message: "The provider is overloaded" },
};

export const togetherErrors: ErrorTable = {
  invalid_request: { status: 400, message: "Invalid request.", type: "invalid_request_error" },
  nsfw_content: {
    status: 422,
    message: "NSFW content detected in the image.",
    type: "invalid_request_error",
  },
  invalid_api_key: { status: 401, message: "Invalid API key provided.", type: "authentication_error" },
  credit_limit: { status: 402, message: "Credit limit exceeded.", type: "credit_limit" },
  model_not_available: { status: 404, message: "Unable to access the model.", type: "invalid_request_error" },
  rate_limit: { status: 429, message: "You have reached the rate limit of this model.", type: "rate_limit" },
  server_error: { status: 500, message: "Internal server error.", type: "server_error" },
  overloaded: { status: 503, message: "The server is overloaded.", type: "overloaded_error" },
};

/** SiliconFlow's codes are numbers. */
export const siliconflowErrors: ErrorTable = {
  "20012": { status: 400, message: "Model does not exist. Please check it carefully." },
  "20015": { status: 400, message: "The parameter is invalid. Please check it again." },
  "20021": { status: 400, message: "The prompt may contain sensitive content." },
  "20001": { status: 401, message: "Invalid token" },
  "30001": { status: 403, message: "Sorry, your account balance is insufficient" },
  "50602": { status: 429, message: "Request was rejected due to rate limiting." },
  "50501": { status: 500, message: "An unknown error occurred." },
  "50603": { status: 503, message: "System is too busy now. Please try again later." },
};

/** Zhipu's codes are strings of digits. */
export const zhipuErrors: ErrorTable = {
  "1214": { status: 400, message: "The parameters of the interface are invalid." },
  "1211": { status: 400, message: "The model does not exist. Please check the model code." },
  "1301": {
    status: 400,
    message: "The system detected that the input or the generated content may be unsafe or sensitive.",
  },
  "1000": { status: 401, message: "Authentication failed." },
  "1220": { status: 403, message: "You do not have permission to access the interface." },
  "1302": { status: 429, message: "Your requests exceed the concurrency limit of the interface." },
  "1303": { status: 429, message: "Your requests exceed the rate limit of the interface." },
  "1113": { status: 429, message: "Your account is in arrears. Please recharge and try again." },
  "1305": { status: 429, message: "The interface has too many requests. Please try again later." },
  "500": { status: 500, message: "Internal error." },
};

/** FastAPI's bodies have no code. */
export const vllmErrors: ErrorTable = {
  invalid: { status: 400, message: "The request is invalid." },
  validation: { status: 422, message: "Input should be valid" },
  wrong_model: { status: 404, message: "The model does not exist." },
  failed: { status: 500, message: "Image generation failed." },
  loading: { status: 503, message: "The model is still loading." },
  unauthorized_request: { status: 401, message: "Unauthorized" },
};

/** LocalAI's code is the status as a number. */
export const localaiErrors: ErrorTable = {
  invalid_image_request: { status: 400, message: "The request is invalid." },
  unauthorized_key: { status: 401, message: "An authentication key is required" },
  backend_not_found: { status: 404, message: "Resource not found" },
  backend_failed: { status: 500, message: "could not load model: rpc error" },
};

/** MiniMax's bodies have a type, and its own number at the end of the message. */
export const minimaxErrors: ErrorTable = {
  invalid_params: typed(400, "bad_request_error", "invalid params (2013)"),
  sensitive: typed(400, "bad_request_error", "input new_sensitive (1026)"),
  unknown_model: typed(404, "not_found_error", "unknown model"),
  login_fail: typed(401, "authorized_error", "login fail: Please carry the API secret key (1004)"),
  insufficient_balance: typed(402, "insufficient_balance_error", "insufficient balance (1008)"),
  rate_limit: typed(429, "rate_limit_error", "rate limit exceeded(RPM) (1002)"),
  usage_limit: typed(429, "rate_limit_error", "usage limit exceeded (2056)"),
  internal_error: typed(500, "api_error", "unknown error (1000)"),
  overloaded: typed(529, "overloaded_error", "The server cluster is currently under high load (2064)"),
};

/** Recraft documents no codes. The names are the emulator's own. */
export const recraftErrors: ErrorTable = {
  invalid_request: { status: 400, message: "The request is invalid." },
  content_policy: { status: 400, message: "The prompt was refused by the content policy." },
  unauthorized: { status: 401, message: "Unauthorized" },
  not_enough_credits: { status: 402, message: "Not enough API units." },
  model_not_found: { status: 404, message: "The model does not exist." },
  rate_limit: { status: 429, message: "Too many requests." },
  internal_error: { status: 500, message: "Internal error." },
  unavailable: { status: 503, message: "The service is unavailable." },
};

export const maiErrors: ErrorTable = {
  invalid_value: { status: 400, message: "The request is invalid." },
  content_policy_violation: { status: 400, message: "Your request was rejected by the content filter." },
  "401": { status: 401, message: "Access denied due to invalid subscription key or wrong API endpoint." },
  DeploymentNotFound: { status: 404, message: "The API deployment for this resource does not exist." },
  RateLimitReached: {
    status: 429,
    message: "Your requests have exceeded the rate limit of this deployment.",
  },
  insufficient_quota: { status: 429, message: "You exceeded your current quota." },
  server_error: { status: 500, message: "The server had an error." },
  server_is_overloaded: { status: 503, message: "The server is overloaded." },
};

/** Ideogram's bodies have a text and, for some errors, a `reject_reason`. */
export const ideogramErrors: ErrorTable = {
  invalid_request: { status: 400, message: "Invalid request." },
  unauthorized: { status: 401, message: "Not authorized to generate an image." },
  insufficient_funds: { status: 402, message: "Insufficient funds." },
  not_found: { status: 404, message: "Not found." },
  content_policy_violation: { status: 422, message: "The prompt failed the safety check." },
  too_many_requests: { status: 429, message: "Too many requests in flight." },
  internal_error: { status: 500, message: "Internal error." },
  unavailable: { status: 503, message: "The service is unavailable." },
};

/** TokenHub's statuses are known; the names of most codes are the emulator's own. */
export const tokenhubErrors: ErrorTable = {
  invalid_parameter: { status: 400, message: "Invalid parameter." },
  unauthorized: { status: 401, message: "Invalid API key." },
  insufficient_balance: { status: 402, message: "The balance is not sufficient." },
  model_not_found: { status: 404, message: "The model is not available." },
  content_filter: { status: 422, message: "The content was refused by the safety review." },
  rate_limit: { status: 429, message: "The number of concurrent requests is at its limit." },
  internal_error: { status: 500, message: "Internal error." },
  unavailable: { status: 503, message: "The service is unavailable." },
};

function typed(status: number, type: string, message: string): DialectErrorFacts {
  return { status, type, message };
}

function wired(status: number, wireCode: string, message: string): DialectErrorFacts {
  return { status, wireCode, message };
}
