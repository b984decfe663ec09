import type { ResultError, Usage } from "../../types.js";
import { isJsonObject, type JsonObject, toObject } from "../../util/json.js";
import type { UpstreamFailure } from "../failure.js";
import type { ResponseShape } from "../response-shape.js";
import { classifyFailure, createCodeTable, isSuccessCode, readCount, readText } from "../shared.js";

/** An item of `data` that contains an image. */
function isImage(item: unknown): boolean {
  const { url, b64_json: base64 } = toObject(item);
  return (readText(url) ?? readText(base64)) !== undefined;
}

/** Why an item of `data` contains no image. */
function toResultError(item: unknown, index: number): ResultError {
  const error = toObject(toObject(item)["error"]);
  return { index, ...readError(error) };
}

/** An error of Ark, of an item or of the whole response. */
export function readError(error: JsonObject): { code: string; message: string } {
  return {
    code: readText(error["code"]) ?? "upstream_no_image",
    message: readText(error["message"]) ?? "The provider made no image and gave no reason.",
  };
}

/** The error of the whole response. */
function readFailure(error: unknown): ReturnType<typeof readError> | undefined {
  return isJsonObject(error) && !isSuccessCode(error["code"]) ? readError(error) : undefined;
}

/** `undefined` if the provider did not report what it made. */
function readUsage(reported: unknown): Usage | undefined {
  const usage = readSeedreamUsage(toObject(reported));
  return COUNTS_OF_MADE.some((name) => usage[name] !== undefined) ? usage : undefined;
}

/** How to read a response of Ark. */
export const SEEDREAM_RESPONSE: ResponseShape = {
  model: "model",
  created: "created",
  items: "data",
  usage: "usage",
  failure: "error",
  readItem: (item, index) => (isImage(item) ? "image" : toResultError(item, index)),
  readUsage,
  readFailure,
  readCreated: readCount,
};

const COUNTS_OF_MADE = ["generated_images", "output_tokens", "total_tokens"] as const;
const COUNTS = [...COUNTS_OF_MADE, "input_images"] as const;

/** The counts that Ark reported; empty if none can be used. `input_images` is net of free ones. */
export function readSeedreamUsage(reported: JsonObject): Usage {
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {};
  for (const name of COUNTS) {
    const count = readCount(reported[name]);
    if (count !== undefined) usage[name] = count;
  }
  const tools = reported["tool_usage"];
  if (isJsonObject(tools)) usage.tool_usage = readCounts(tools);
  return usage;
}

function readCounts(reported: JsonObject): Readonly<Record<string, number>> {
  const counts = Object.entries(reported).flatMap(([name, value]) => {
    const count = readCount(value);
    return count === undefined ? [] : [[name, count] as const];
  });
  return Object.fromEntries(counts);
}

/** Ark's error codes (November 2026). The same code means the same with any HTTP status, 200 included. */
const CODES = createCodeTable(
  [
    { kind: "model" },
    "InvalidEndpointOrModel.NotFound",
    "InvalidEndpoint.ClosedEndpoint",
    "UnsupportedModel",
  ],
  // The account has not opened the model: its other models work.
  [{ kind: "credential", scope: "model" }, "ModelNotOpen", "OperationDenied.ServiceNotOpen"],
  [
    { kind: "credential" },
    "AuthenticationError",
    "InvalidAccountStatus",
    "AccountOverdueError",
    "AccessDenied",
    "OperationDenied.ServiceOverdue",
  ],
  // Limits of one model or endpoint of the account.
  [
    { kind: "rate", scope: "model" },
    "ModelAccountIpmRateLimitExceeded",
    "ModelAccountRpmRateLimitExceeded",
    "RateLimitExceeded.EndpointRPMExceeded",
  ],
  [{ kind: "rate" }, "AccountRateLimitExceeded", "RequestBurstTooFast"],
  [{ kind: "quota" }, "QuotaExceeded", "SetLimitExceeded"],
  [{ kind: "overload" }, "ServerOverloaded"],
  [{ kind: "server" }, "InternalServiceError"],
);

/** Codes that contain one of these words are refusals of the content, such as `InputImageRiskDetection`. */
const CONTENT_CODE = /RiskDetection|PolicyViolation|PrivacyInformation|DeepFake/;

/** An error response of Ark: `{"error":{"code","message","param","type"}}`; some 404s are empty. */
export function toSeedreamFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const error = toObject(body?.["error"]);
  const code = readText(error["code"]);
  const message = readText(error["message"]);
  const isContent = code !== undefined && CONTENT_CODE.test(code);
  return {
    ...(isContent ? { kind: "content" } : classifyFailure(CODES, status, code)),
    code,
    message,
    param: readText(error["param"]),
    requestId: /Request id: (\w+)/i.exec(message ?? "")?.[1],
  };
}
