import { GatewayError } from "../errors.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { checkJsonValue } from "../request/check-json-value.js";
import { TransportError, type TransportResponse } from "./transport.js";
import { toUpstreamError } from "./upstream-error.js";

/** Error answers are short; what stands past this is not read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Far beyond any real answer; a deeper one would overflow `JSON.stringify` after it was settled. */
const ANSWER_LIMITS = { maxDepth: 64, maxValues: 1_000_000 };

/** A JSON object as it came, and parsed. */
export interface JsonAnswer {
  readonly text: string;
  readonly value: JsonObject;
}

/**
 * The JSON object of a successful answer.
 *
 * @throws GatewayError `upstream_invalid_response` when it is cut, larger than `maxBytes`, or not a
 * JSON object; `upstream_timeout` when it stalls.
 */
export async function readAnswer(response: TransportResponse, maxBytes: number): Promise<JsonAnswer> {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  let text: string | undefined;
  try {
    text = await readText(response.body, maxBytes);
  } catch (cause) {
    if (!(cause instanceof TransportError)) throw cause;
    throw toUpstreamError({ kind: cause.reason, cause, requestId });
  }
  if (text === undefined) throw invalid(`The provider's answer is larger than ${maxBytes} bytes.`, requestId);
  const value = parseObject(text);
  if (value === undefined) throw invalid("The provider's answer is not a JSON object.", requestId);
  return { text, value };
}

/** An error answer, or `undefined` when it is no JSON object; the status stands either way. */
export async function readErrorAnswer(response: TransportResponse): Promise<JsonAnswer | undefined> {
  try {
    const text = (await readText(response.body, MAX_ERROR_BYTES)) ?? "";
    const value = parseObject(text);
    return value && { text, value };
  } catch (error) {
    if (error instanceof TransportError) return undefined;
    throw error;
  }
}

async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    checkJsonValue(value, ANSWER_LIMITS);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function invalid(message: string, upstreamRequestId: string | undefined): GatewayError {
  return new GatewayError("upstream_invalid_response", message, { upstreamRequestId, shouldRetry: false });
}
