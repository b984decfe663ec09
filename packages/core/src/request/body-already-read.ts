import { GatewayError } from "../errors.js";

/** The error of a request whose body was read before the gateway came to it. */
export function bodyAlreadyRead(): GatewayError {
  return new GatewayError(
    "body_already_read",
    "A body parser of this server took the request's body before the image gateway. The operator must mount the gateway before it.",
    { shouldRetry: false },
  );
}
