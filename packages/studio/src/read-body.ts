import { GatewayError } from "@calotype/core";
import type { GatewayRequest } from "@calotype/core/adapter";
import type { JsonObject } from "@calotype/core/families";

/** The settings of a caller have at most 64 KiB. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads the JSON object that a request of the page has. Its fields are not checked: each route does that, or the function of
 * the gateway that gets them.
 *
 * @throws GatewayError `invalid_request_error`
 */
export async function readBody<T extends object = JsonObject>({
  parsedBody,
  body,
  headers,
}: GatewayRequest): Promise<T> {
  if (!/^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "")) {
    throw invalid("The body must be JSON, with content-type: application/json.");
  }
  const isRead = typeof parsedBody === "string" || isObject(parsedBody);
  const read = isRead ? parsedBody : await readText(toChunks(parsedBody, body));
  const value = typeof read === "string" ? parse(read) : read;
  if (!isObject(value)) throw invalid("The body must be a JSON object.");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return value as T;
}

/** The bytes of a body, also if a parser of the host has read them. */
function toChunks(
  parsedBody: unknown,
  body: GatewayRequest["body"],
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return parsedBody instanceof Uint8Array ? [parsedBody] : (body ?? []);
}

async function readText(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw invalid(`The body must have at most ${MAX_BYTES} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GatewayError("invalid_request_error", "The body is not JSON.", { cause });
  }
}

function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function invalid(message: string): GatewayError {
  return new GatewayError("invalid_request_error", message);
}
