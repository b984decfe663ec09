import { type ErrorFacts, fact } from "../error-facts.js";

const overload = "The service is currently unable to handle additional requests. Please retry later.";

/** All codes of Ark's image API, each with its HTTP status and its message, unless a more specific one is sent. */
export const arkErrors = {
  MissingParameter: fact(
    400,
    "The request failed because it is missing one or multiple required parameters.",
  ),
  InvalidParameter: fact(400, "One or more parameters specified in the request are not valid."),
  "InvalidParameter.UnsupportedParameter": fact(400, "A parameter is not supported by the requested model."),
  "InvalidEndpoint.ClosedEndpoint": fact(400, "The request targets an endpoint that is currently closed."),
  SensitiveContentDetected: fact(400, "The request failed because it may contain sensitive information."),
  InputTextSensitiveContentDetected: fact(
    400,
    "The request failed because the input text may contain sensitive information.",
  ),
  InputImageSensitiveContentDetected: fact(
    400,
    "The request failed because the input image may contain sensitive information.",
  ),
  OutputImageSensitiveContentDetected: fact(
    400,
    "The request failed because the output image may contain sensitive information.",
  ),
  "InvalidImageURL.EmptyURL": fact(400, "The request failed because the image URL is empty."),
  "InvalidImageURL.InvalidFormat": fact(
    400,
    "The request failed because the image could not be parsed or its format is not supported.",
  ),
  AuthenticationError: fact(401, "The API key or AK/SK in the request is missing or invalid."),
  InvalidAccountStatus: fact(401, "The account is in an abnormal state."),
  AccountOverdueError: fact(403, "The request failed because your account has an overdue balance."),
  AccessDenied: fact(403, "The request failed because you do not have access to the requested resource."),
  "OperationDenied.ServiceNotOpen": fact(403, "The model service is not open. Please activate it first."),
  "OperationDenied.ServiceOverdue": fact(
    403,
    "The model service is suspended because of an overdue balance.",
  ),
  "InvalidEndpointOrModel.NotFound": fact(
    404,
    "The model or endpoint does not exist or you do not have access to it.",
  ),
  ModelNotOpen: fact(
    404,
    "Your account has not activated the model. Please activate the model service first.",
  ),
  UnsupportedModel: fact(404, "The requested model does not support this operation."),
  ModelAccountIpmRateLimitExceeded: fact(
    429,
    "The images per minute (IPM) limit of the account for this model has been exceeded.",
  ),
  ModelAccountRpmRateLimitExceeded: fact(
    429,
    "The requests per minute (RPM) limit of the account for this model has been exceeded.",
  ),
  "RateLimitExceeded.EndpointRPMExceeded": fact(
    429,
    "The requests per minute (RPM) limit of the endpoint has been exceeded.",
  ),
  AccountRateLimitExceeded: fact(
    429,
    "The requests per minute (RPM) limit of the account has been exceeded.",
  ),
  ServerOverloaded: fact(429, overload),
  RequestBurstTooFast: fact(429, "The request rate increased too quickly. Please slow down and retry."),
  QuotaExceeded: fact(429, "The quota of the account has been exhausted."),
  SetLimitExceeded: fact(429, "The account has reached the set inference limit for the model."),
  InternalServiceError: fact(500, "The service encountered an unexpected internal error."),
} as const satisfies Readonly<Record<string, ErrorFacts>>;

/** A documented error code of Volcengine Ark. */
export type ArkErrorCode = keyof typeof arkErrors;

export function isArkErrorCode(code: string): code is ArkErrorCode {
  return Object.hasOwn(arkErrors, code);
}
