import { Refusal } from "../refusal.js";
import type { ArkErrorCode } from "./error-codes.js";

/** A refusal with one of Ark's codes; the message of the table where none is given. */
export function arkRefusal(code: ArkErrorCode, message?: string, param = ""): Refusal {
  return new Refusal({ code, message, param });
}

export function invalidParameter(param: string, reason: string): Refusal {
  return arkRefusal(
    "InvalidParameter",
    `The parameter \`${param}\` specified in the request is not valid: ${reason}.`,
    param,
  );
}

export function missingParameter(param: string): Refusal {
  return arkRefusal(
    "MissingParameter",
    `The request failed because it is missing \`${param}\` parameter.`,
    param,
  );
}

export function unknownModel(model: string): Refusal {
  const message = `The model or endpoint ${model} does not exist or you do not have access to it.`;
  return arkRefusal("InvalidEndpointOrModel.NotFound", message);
}
