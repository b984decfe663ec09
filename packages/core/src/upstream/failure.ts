import { type ErrorCode, GatewayError } from "../errors.js";
import type { AttemptFailure } from "../families/failure.js";
import { type Redaction, toPlainError } from "../redact.js";
import type { FailureReason, ImageRequest, ReportedFailure } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";

/** The maximum length of a provider's message in responses, events and logs. */
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * Redacts keys in a provider's message, because some providers quote the key that they refuse. Then shortens the
 * message. Shortening first could cut a key in two.
 */
export function redactFailure(failure: AttemptFailure, redact: Redaction): AttemptFailure {
  const { code, message, param, requestId, body, cause } = failure;
  return {
    ...failure,
    code: code && redact(code),
    message: message && redact(message).slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    param: param && redact(param),
    requestId: requestId && redact(requestId),
    body: body && redact(body),
    // An operator's own `fetch` may quote the request.
    cause: cause === undefined ? undefined : toPlainError(cause, redact),
  };
}

/** Returns the provider's message, or that of the error of the connection. Empty if there is none. */
export function findShownMessage({ message, cause }: Pick<AttemptFailure, "message" | "cause">): string {
  return message ?? findInnermost(cause);
}

/** The innermost message is the cause in the network. */
function findInnermost(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  return findInnermost(cause.cause) || cause.message;
}

/** A data URL, or base64 that is longer than every id. */
const DATA = /data:[\w.+-]+\/[\w.+-]+;base64,[\w+/=-]*|[\w+/-]{200,}={0,2}/g;
/** A shorter prompt could be a word of any message. */
const MIN_PROMPT_LENGTH = 4;
/** How much of a prompt a message must quote. Providers shorten what they quote. */
const QUOTED_LENGTH = 16;

/**
 * Removes what a provider's message quotes of the request, for the log: prompts and images are the data of end users. From
 * where the message begins to quote the prompt it is cut.
 */
export function hideContent(message: string, { prompt }: Pick<ImageRequest, "prompt">): string {
  const withoutImages = message.replaceAll(DATA, "[data]");
  if (prompt.length < MIN_PROMPT_LENGTH) return withoutImages;
  const quoted = prompt.slice(0, QUOTED_LENGTH);
  // As it is, and as JSON writes it.
  const starts = [quoted, JSON.stringify(quoted).slice(1, -1)].map((text) => withoutImages.indexOf(text));
  const start = Math.min(...starts.filter((index) => index !== -1));
  return start === Infinity ? withoutImages : `${withoutImages.slice(0, start)}[prompt]`;
}

/**
 * Whether an image may have been made although the attempt failed. A refusal by the provider means that none was
 * made. This includes refusals of the content, which another channel cannot fix.
 */
export function mayHaveMadeImage(kind: AttemptFailure["kind"]): boolean {
  return kind === "server" || kind === "timeout" || kind === "broken";
}

/**
 * Whether a request may be sent again, with another key or on another channel. It may if no image can have been made:
 * no connection, a refusal of our key, account, quota or model, or an overloaded provider. With `retryUnsafe` the
 * operator accepts a duplicate image rather than a failed request.
 */
export function maySendAgain(kind: AttemptFailure["kind"], retryUnsafe: boolean): boolean {
  switch (kind) {
    case "unreachable":
    case "credential":
    case "model":
    case "rate":
    case "quota":
    case "overload":
      return true;
    case "server":
    case "timeout":
    case "broken":
      return retryUnsafe;
    case "content":
      return false;
  }
}

interface UpstreamErrorKind {
  readonly code: ErrorCode;
  /** The message for the client if the provider gave none. */
  readonly message: string;
  /** False if a repeat could be charged twice or cannot succeed. */
  readonly shouldRetry: boolean;
}

const ERROR_KINDS: Readonly<Record<AttemptFailure["kind"], UpstreamErrorKind>> = {
  model: {
    code: "upstream_rejected",
    message: "The provider does not serve this model at the moment.",
    shouldRetry: true,
  },
  content: { code: "upstream_rejected", message: "The provider refused the request.", shouldRetry: true },
  credential: {
    code: "upstream_authentication_failed",
    message:
      "No channel of this model is accepted by its provider at the moment. The operator has been told.",
    shouldRetry: false,
  },
  rate: {
    code: "upstream_rate_limited",
    message: "The provider's rate limit is reached.",
    shouldRetry: true,
  },
  quota: {
    code: "upstream_quota_exceeded",
    message: "The provider account's quota is used up.",
    shouldRetry: false,
  },
  overload: { code: "upstream_error", message: "The provider is overloaded.", shouldRetry: true },
  server: { code: "upstream_error", message: "The provider failed.", shouldRetry: false },
  unreachable: {
    code: "upstream_unreachable",
    message: "The provider cannot be reached.",
    shouldRetry: true,
  },
  timeout: {
    code: "upstream_timeout",
    message: "The provider did not respond in time.",
    shouldRetry: false,
  },
  broken: {
    code: "upstream_invalid_response",
    message: "The provider's response broke off.",
    shouldRetry: false,
  },
};

const DEFAULT_RETRY_AFTER_SECONDS = 5;

/**
 * Converts a failed attempt to the error that the client gets. It keeps the provider's code and message, unless the
 * provider refused our key: the client cannot change that.
 */
export function toUpstreamError(failure: AttemptFailure): GatewayError {
  const { code, message, shouldRetry } = ERROR_KINDS[failure.kind];
  const hidesProvider = failure.kind === "credential";
  const { retryAfterSeconds = failure.kind === "rate" ? DEFAULT_RETRY_AFTER_SECONDS : undefined } = failure;
  return new GatewayError(code, hidesProvider ? message : (failure.message ?? message), {
    status: findStatus(failure),
    upstreamCode: hidesProvider ? undefined : failure.code,
    param: hidesProvider ? undefined : failure.param,
    upstreamRequestId: failure.requestId,
    upstreamBody: hidesProvider ? undefined : failure.body,
    retryAfterSeconds,
    shouldRetry: shouldRetry ? undefined : false,
    cause: failure.cause,
  });
}

/** A refusal of the request or of the model keeps the provider's status if that is a 4xx. */
function findStatus({ kind, status = 0 }: AttemptFailure): number | undefined {
  const isKept = (kind === "content" || kind === "model") && status >= 400 && status < 500;
  if (isKept) return status;
  return kind === "model" ? 404 : undefined;
}

/** What a response with a 2xx status contains besides images. */
interface ImagelessResponse {
  readonly failure?: ReportedFailure | undefined;
  /** The reasons why images failed. The first one is used. */
  readonly errors: readonly FailureReason[];
  readonly upstreamRequestId?: string | undefined;
}

/**
 * Returns the error of a response with a 2xx status that contains no image, or that reports a failure, in the provider's
 * words. Returns `undefined` for any other response.
 */
export function findNoImageError(
  images: number,
  { failure, errors, upstreamRequestId }: ImagelessResponse,
): GatewayError | undefined {
  if (images > 0 && failure === undefined) return undefined;
  const reason = failure ?? errors[0];
  if (failure?.kind === "content") {
    const { message, code: upstreamCode } = failure;
    return new GatewayError("upstream_rejected", message, { status: 400, upstreamCode, upstreamRequestId });
  }
  return new GatewayError(
    "upstream_no_image",
    reason?.message ?? "The provider responded without an image.",
    {
      upstreamCode: reason?.code,
      upstreamRequestId,
      shouldRetry: false,
    },
  );
}

/** Fields that contain the error message in JSON bodies of other services. */
const MESSAGE_FIELDS = ["message", "msg", "detail", "error_description", "error_msg", "error"] as const;

/**
 * Returns the message of an error response that is not in the family's format, for example of a proxy or a load
 * balancer in front of a provider: a field of other JSON, the title of an HTML page, or the text itself. Returns
 * `undefined` if there is no text. The message is neither redacted nor shortened.
 */
export function findErrorMessage(text: string): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return findTextMessage(text);
  }
  if (typeof json === "string") return toLine(json);
  return isJsonObject(json) ? findMessageField(json) : undefined;
}

function findTextMessage(text: string): string | undefined {
  if (text.includes("\u0000") || text.includes("\ufffd")) return undefined;
  const isHtml = /^\s*<(?:!doctype|html|\?xml)/i.test(text);
  return toLine(isHtml ? (/<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? "") : text);
}

function findMessageField(json: JsonObject): string | undefined {
  const { error, errors } = json;
  const [first] = Array.isArray(errors) ? errors : [];
  for (const object of [json, error, first]) {
    if (!isJsonObject(object)) continue;
    for (const field of MESSAGE_FIELDS) {
      const value = object[field];
      if (typeof value === "string" && value.trim() !== "") return toLine(value);
    }
  }
  return undefined;
}

/** Converts a string to one line: control characters and runs of white space become a space. */
function toLine(text: string): string | undefined {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim() || undefined;
}
