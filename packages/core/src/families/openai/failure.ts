import type { HeaderReader } from "../../http.js";
import type { ReportedFailure } from "../../types.js";
import { isJsonObject, type JsonObject, toPlainNumber } from "../../util/json.js";
import type { FailedResponse, UpstreamFailure } from "../failure.js";
import { type CodeMeaning, classifyFailure, createCodeTable, readText } from "../shared.js";

/** The meanings of a service's error codes. A `type` has the meaning of a code of the same name. */
export type Codes = ReadonlyMap<string, CodeMeaning>;

/**
 * OpenAI's codes and types (OpenAI's reference and reports of users, November 2026). Limits are those of one model of an
 * organization. What is missing here is known by its status.
 */
export const OPENAI_CODES: Codes = createCodeTable(
  [
    { kind: "content" },
    "moderation_blocked",
    "image_generation_user_error",
    "content_policy_violation",
    "contentFilter",
  ],
  [{ kind: "credential" }, "invalid_api_key", "billing_hard_limit_reached", "billing_limit_user_error"],
  [{ kind: "model" }, "model_not_found", "DeploymentNotFound"],
  [{ kind: "rate", scope: "model" }, "rate_limit_exceeded", "RateLimitReached"],
  [
    { kind: "quota" },
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
  ],
  [{ kind: "overload" }, "server_is_overloaded", "service_unavailable_error"],
  [{ kind: "server" }, "server_error"],
);

/** What an error body says. */
export interface ReportedError {
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  readonly message?: string | undefined;
  readonly param?: string | undefined;
}

/**
 * Reads the error bodies of OpenAI and of the services with its API: `{"error":{"message","type","param","code"}}`,
 * `{"code","error":"…"}` and `{"code","message"}`.
 */
export function readError(body: JsonObject): ReportedError {
  const { error } = body;
  if (typeof error === "string") return { code: readCode(body["code"]), message: readText(error) };
  const { code, type, message, param } = isJsonObject(error) ? error : body;
  return {
    code: readCode(code),
    type: readText(type),
    message: readText(message),
    param: readText(param),
  };
}

/** Some codes are numbers. */
function readCode(code: unknown): string | undefined {
  const value = toPlainNumber(code);
  return typeof value === "number" ? String(value) : readText(value);
}

/** The meaning of an error: by its code, then by its type, then by its status. */
function classifyError(codes: Codes, status: number, { code, type }: ReportedError): CodeMeaning {
  const known = [code, type].find((name) => name !== undefined && codes.has(name));
  return classifyFailure(codes, status, known);
}

/** An error in a stream, or in a response with status 200. An unknown one is a refusal of the content. */
export function toReportedFailure(codes: Codes, body: JsonObject): ReportedFailure {
  const error = readError(body);
  return {
    ...classifyError(codes, 200, error),
    code: error.code ?? error.type ?? "upstream_error",
    message: error.message ?? "The provider failed.",
  };
}

/** Creates the reader of a service's error responses. */
export function createFailureReader(codes: Codes) {
  return ({ status, headers, body = {} }: FailedResponse): UpstreamFailure => {
    const error = readError(body);
    return {
      ...followRetryHeader(classifyError(codes, status, error), headers),
      code: error.code ?? error.type,
      message: error.message,
      param: error.param,
      requestId: /request ID (\w+)/i.exec(error.message ?? "")?.[1],
      retryAfterSeconds: status === 429 ? readReset(headers) : undefined,
    };
  };
}

/**
 * `x-should-retry: false` on a limit means that waiting does not help; on an overload, that the request may have been
 * accepted. The header cannot make another repeat safe.
 */
function followRetryHeader(meaning: CodeMeaning, headers: HeaderReader): CodeMeaning {
  if (headers.get("x-should-retry") !== "false") return meaning;
  if (meaning.kind === "rate") return { ...meaning, kind: "quota" };
  return meaning.kind === "overload" ? { kind: "server" } : meaning;
}

/**
 * When the limit that was reached begins again, in seconds: of the limits with nothing left, the later one.
 * `undefined` if a header says how long to wait.
 */
function readReset(headers: HeaderReader): number | undefined {
  if ((headers.get("retry-after-ms") ?? headers.get("retry-after")) !== null) return undefined;
  const resets = ["requests", "tokens"].flatMap((what) => {
    if (headers.get(`x-ratelimit-remaining-${what}`) !== "0") return [];
    return readDuration(headers.get(`x-ratelimit-reset-${what}`)) ?? [];
  });
  return resets.length === 0 ? undefined : Math.ceil(Math.max(...resets));
}

const UNITS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1, ms: 0.001 };

/** Reads `6m0s`, `120ms` or `1.5s` as seconds. */
function readDuration(text: string | null): number | undefined {
  if (text === null || !/^(?:\d{1,9}(?:\.\d+)?(?:ms|[dhms]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)];
  return parts.reduce((sum, [, count = "", unit = ""]) => sum + Number(count) * (UNITS[unit] ?? 0), 0);
}
