import { jsonResponse, retryAfter } from "../http/responses.js";
import { Refusal } from "../refusal.js";
import { type ArkErrorCode, arkErrors, isArkErrorCode } from "./error-codes.js";

/** Why an image was not made. */
export interface Failure {
  readonly code: string;
  /** `undefined`: the message of the table. */
  readonly message: string | undefined;
}

const types: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  429: "TooManyRequests",
};

/** The status of a code. A code that is not in the table counts as a refusal of the content. */
export function statusOf(code: string): number {
  return isArkErrorCode(code) ? arkErrors[code].status : 400;
}

/** The contents of `error`. All messages end with the request id. */
export function describeError({ code, message }: Failure, requestId: string) {
  const fromTable = isArkErrorCode(code) ? arkErrors[code].message : code;
  return { code, message: `${message || fromTable} Request id: ${requestId}` };
}

export function renderArkRefusal(refusal: Refusal, requestId: string): Response {
  const status = refusal.status ?? statusOf(refusal.code);
  const { code, message } = describeError(refusal, requestId);
  const kind = status < 400 ? statusOf(refusal.code) : status; // An error in a 200 keeps its own type.
  const type = types[kind] ?? (kind >= 500 ? "InternalServerError" : "BadRequest");
  const body = { error: { code, message, param: refusal.param, type } };
  return jsonResponse(body, status, retryAfter(refusal.retryAfterSeconds));
}

/** The first code of the table with this status. */
export function arkCodeForStatus(status: number): string {
  const found = Object.entries(arkErrors).find(([, facts]) => facts.status === status);
  return found?.[0] ?? (status < 500 ? "InvalidParameter" : "InternalServiceError");
}

/** A refusal with one of Ark's codes. Without a message it has the message of the table. */
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

/** A parameter that the model does not have, or a value of it that only other models have. */
export function unsupportedParameter(param: string, model: string, hint = ""): Refusal {
  return arkRefusal(
    "InvalidParameter.UnsupportedParameter",
    `The parameter \`${param}\` specified in the request is not supported by model ${model}${hint}.`,
    param,
  );
}

export function unknownModel(model: string): Refusal {
  const message = `The model or endpoint ${model} does not exist or you do not have access to it.`;
  return arkRefusal("InvalidEndpointOrModel.NotFound", message);
}
