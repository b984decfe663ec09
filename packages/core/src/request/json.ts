import { GatewayError, invalidRequest } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import { checkJsonValue, isJsonObject, type JsonLimits, type JsonObject } from "../util/json.js";
import { type BodyGuard, bodyAlreadyRead, readBody } from "./body.js";
import { parseJsonObject } from "./parse-json.js";

/** The limits of a JSON body, far above what any request needs. */
const BODY_LIMITS: JsonLimits = { maxDepth: 32, maxValues: 10_000, maxFields: 256 };

/**
 * Reads the JSON object in a request's body: strict UTF-8, at most `maxBytes`, no duplicate key at the top level. A
 * body that the host has parsed is checked against the same limits, but its duplicate keys can no longer be detected.
 */
export async function readJson(
  request: GatewayRequest,
  maxBytes: number,
  guard?: BodyGuard,
): Promise<JsonObject> {
  const { headers, parsedBody, bodyConsumed } = request;
  checkContentType(headers.get("content-type"));
  if (parsedBody !== undefined) return readParsed(parsedBody);
  if (bodyConsumed === true) throw bodyAlreadyRead();
  checkContentEncoding(headers.get("content-encoding"));
  return parseBody(await readBody(request, maxBytes, guard));
}

function readParsed(parsedBody: unknown): JsonObject {
  if (typeof parsedBody === "string") return parseBody(new TextEncoder().encode(parsedBody));
  if (parsedBody instanceof Uint8Array) return parseBody(parsedBody);
  checkJsonValue(parsedBody, BODY_LIMITS);
  if (!isJsonObject(parsedBody)) throw invalidRequest("The body must be a JSON object.");
  return parsedBody;
}

function parseBody(bytes: Uint8Array): JsonObject {
  try {
    return parseJsonObject(bytes, BODY_LIMITS);
  } catch (error) {
    throw error instanceof SyntaxError ? invalidRequest(error.message) : error;
  }
}

function checkContentType(header: string | null): void {
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
