import { GatewayError } from "../errors.js";

/** The error of a request whose body was read before the gateway got it. */
export function bodyAlreadyRead(): GatewayError {
  return new GatewayError(
    "body_already_read",
    "A body parser of this server read the request's body before the image gateway. The operator must mount the gateway before the body parser.",
    { shouldRetry: false },
  );
}
