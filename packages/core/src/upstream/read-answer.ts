import { GatewayError } from "../errors.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { checkJsonValue } from "../request/check-json-value.js";
import { TransportError, type TransportResponse } from "./transport.js";
import { toUpstreamError } from "./upstream-error.js";

/** Far beyond any real answer; a deeper one would overflow `JSON.stringify` after it was settled. */
const ANSWER_LIMITS = { maxDepth: 64, maxValues: 1_000_000 };

/** A JSON object as it came, and parsed. */
export interface JsonAnswer {
  readonly text: string;
  readonly value: JsonObject;
}

/** How an answer is read. */
export interface ReadOptions {
  readonly maxBytes: number;
  /** Told of each piece that is held. */
  readonly countBytes: (bytes: number) => void;
}

/**
 * The JSON object of a successful answer.
 *
 * @throws GatewayError `upstream_invalid_response` when it is cut, larger than `maxBytes`, or not a
 * JSON object; `upstream_timeout` when it stalls.
 */
export async function readAnswer(response: TransportResponse, options: ReadOptions): Promise<JsonAnswer> {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  let text: string | undefined;
  try {
    text = await readText(response.body, options);
  } catch (cause) {
    if (!(cause instanceof TransportError)) throw cause;
    throw toUpstreamError({ kind: cause.reason, cause, requestId });
  }
  if (text === undefined)
    throw invalid(`The provider's answer is larger than ${options.maxBytes} bytes.`, requestId);
  const value = parseObject(text);
  if (value === undefined) throw invalid("The provider's answer is not a JSON object.", requestId);
  return { text, value };
}

/** Error answers are short; what stands past this is not read. */
const ERROR_OPTIONS: ReadOptions = { maxBytes: 64 * 1024, countBytes: () => undefined };

/** An error answer, or `undefined` when it is no JSON object; the status stands either way. */
export async function readErrorAnswer(response: TransportResponse): Promise<JsonAnswer | undefined> {
  try {
    const text = (await readText(response.body, ERROR_OPTIONS)) ?? "";
    const value = parseObject(text);
    return value && { text, value };
  } catch (error) {
    if (error instanceof TransportError) return undefined;
    throw error;
  }
}

async function readText(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, countBytes }: ReadOptions,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    countBytes(chunk.length);
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
