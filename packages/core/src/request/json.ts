import { GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import { LONG_DATA_URL } from "../images/data-url.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { type BodyGuard, bodyAlreadyRead, readBody } from "./body.js";
import { keepDataUrls } from "./keep-data-urls.js";
import { BODY_LIMITS, checkJsonValue, parseJson } from "./parse-json.js";
import { isSourceNumber } from "./source-numbers.js";

/** Created once, because creating a decoder takes longer than decoding a small body. */
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads the JSON object in a request's body: strict UTF-8, within {@link BODY_LIMITS}, at most `maxBytes`, no
 * duplicate key at the top level. A body that the host has parsed is checked against the same limits. Long data URLs
 * in `image` stay bytes.
 */
export function readJson(
  request: GatewayRequest,
  maxBytes: number,
  guard?: BodyGuard,
): JsonObject | Promise<JsonObject> {
  checkContentType(request.headers.get("content-type"));
  if (request.parsedBody !== undefined) return toObject(readParsed(request.parsedBody));
  if (request.bodyConsumed === true) throw bodyAlreadyRead();
  checkContentEncoding(request.headers.get("content-encoding"));
  return readBody(request, maxBytes, guard).then(parseObject);
}

function parseObject(bytes: Uint8Array): JsonObject {
  return toObject(parseBytes(bytes));
}

function toObject(value: unknown): JsonObject {
  // A number that keeps its text is an object, too.
  if (!isJsonObject(value) || isSourceNumber(value)) throw invalidRequest("The body must be a JSON object.");
  return value;
}

function readParsed(parsedBody: unknown): unknown {
  if (typeof parsedBody === "string") return parseText(parsedBody);
  if (parsedBody instanceof Uint8Array) return parseBytes(parsedBody);
  checkJsonValue(parsedBody, BODY_LIMITS);
  return parsedBody;
}

function parseBytes(bytes: Uint8Array): unknown {
  return bytes.length > LONG_DATA_URL ? keepDataUrls(bytes, parseWhole) : parseWhole(bytes);
}

function parseWhole(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new GatewayError("invalid_request_error", "The body is not valid UTF-8.", { cause });
  }
  return parseText(text);
}

function parseText(text: string): unknown {
  try {
    return parseJson(text, BODY_LIMITS);
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    if (text.trim() === "") throw invalidRequest("The body is empty; send a JSON object.");
    // Without the cause: the runtime's message quotes the body.
    throw invalidRequest("The body is not valid JSON.");
  }
}

function checkContentType(header: string | null): void {
  if (header === "application/json") return;
  const [type = "", ...parameters] = (header ?? "").toLowerCase().split(";");
  const isJson = /^application\/(?:[\w.-]+\+)?json$/.test(type.trim());
  const charset = parameters
    .map((parameter) => /^\s*charset="?([^"\s]+)"?\s*$/.exec(parameter)?.[1])
    .find(Boolean);
  if (!isJson || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    throw new GatewayError(
      "unsupported_media_type",
      "This endpoint takes JSON in UTF-8: send the header Content-Type: application/json.",
    );
  }
}

/** @throws GatewayError `unsupported_media_type` for a compressed body */
export function checkContentEncoding(header: string | null): void {
  if (header !== null && header.trim() !== "" && header.trim().toLowerCase() !== "identity") {
    throw new GatewayError("unsupported_media_type", "Send the body without Content-Encoding.");
  }
}
