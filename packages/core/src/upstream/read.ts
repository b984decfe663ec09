import { GatewayError, isGatewayError } from "../errors.js";
import type { HeaderReader } from "../http.js";
import type { Logger } from "../logger.js";
import type { Awaitable } from "../util/async.js";
import { type ChunkSink, openFlow } from "../util/chunk-flow.js";
import { checkJsonValue, isJsonObject, type JsonObject } from "../util/json.js";
import { isWithinBounds, RESPONSE_BOUNDS } from "../util/response-bounds.js";
import { toUpstreamError } from "./failure.js";
import { TransportError, type TransportResponse } from "./transport.js";

/** A JSON object, as text and parsed. */
export interface JsonResponse {
  readonly text: string;
  readonly value: JsonObject;
}

/** The first chunks of a body. */
export interface BodyStart {
  readonly chunks: readonly Uint8Array[];
  readonly hasEnded: boolean;
  /** Why there is no more. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/**
 * Reads chunks until there are enough of them, or until the body ends or fails. Does not reject. Most small bodies have arrived
 * with the head: then the result is no promise.
 *
 * @param isEnough called before each read
 */
export function readStart(body: AsyncIterable<Uint8Array>, isEnough: IsEnough): Awaitable<BodyStart> {
  const sink = new StartSink(isEnough);
  if (isEnough(sink.chunks, 0)) return { chunks: sink.chunks, hasEnded: false };
  openFlow(body).flow(sink);
  return sink.start ?? sink.wait();
}

type IsEnough = (chunks: readonly Uint8Array[], byteLength: number) => boolean;

class StartSink implements ChunkSink {
  readonly chunks: Uint8Array[] = [];
  /** Set when there are enough chunks. */
  start: BodyStart | undefined;
  #byteLength = 0;
  readonly #isEnough: IsEnough;
  #resolve: ((start: BodyStart) => void) | undefined;

  constructor(isEnough: IsEnough) {
    this.#isEnough = isEnough;
  }

  wait(): Promise<BodyStart> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  chunk(chunk: Uint8Array): boolean {
    this.#byteLength += chunk.length;
    this.chunks.push(chunk);
    if (!this.#isEnough(this.chunks, this.#byteLength)) return true;
    this.#finish({ chunks: this.chunks, hasEnded: false });
    return false;
  }

  end(): void {
    this.#finish({ chunks: this.chunks, hasEnded: true });
  }

  fail(error: unknown): void {
    this.#finish({ chunks: this.chunks, hasEnded: true, failure: { error } });
  }

  #finish(start: BodyStart): void {
    this.start = start;
    this.#resolve?.(start);
  }
}

/**
 * Reads a response until it ends, or until it has more than `maxBytes`.
 *
 * @throws what the body throws: a TransportError if the connection breaks or stalls
 */
export async function readHead(
  { body }: Pick<TransportResponse, "body">,
  maxBytes: number,
): Promise<Pick<BodyStart, "chunks" | "hasEnded">> {
  const start = await readStart(body, (_chunks, byteLength) => byteLength > maxBytes);
  if (start.failure !== undefined) throw start.failure.error;
  return start;
}

/** @throws GatewayError `upstream_invalid_response` if the body is not a JSON object, or beyond the bounds of a response */
export function parseResponse(chunks: readonly Uint8Array[], response: TransportResponse): JsonResponse {
  if (!isWithinBounds(chunks)) throw excessiveError(response);
  const text = decodeText(chunks);
  const value = parseObject(text);
  if (value === undefined) throw notJsonError(response);
  return { text, value };
}

/** The error for an upstream response that is incomplete or not a JSON object. */
export function notJsonError(response: TransportResponse): GatewayError {
  return invalid("The provider's response is not a JSON object.", response);
}

/** The error for an upstream response beyond `RESPONSE_BOUNDS`. */
export function excessiveError(response: TransportResponse): GatewayError {
  const { maxValues, maxDepth } = RESPONSE_BOUNDS;
  return invalid(
    `The provider's response holds more than ${maxValues} values or ${maxDepth} levels, or too much besides strings.`,
    response,
  );
}

/** The error for an upstream response that is larger than what may be held. */
export function tooLargeError(maxBytes: number, response: TransportResponse): GatewayError {
  return invalid(`The provider's response is larger than ${maxBytes} bytes.`, response);
}

/**
 * The error for an upstream response that could not be read. A cause that is neither a broken connection nor an error of
 * the gateway is a defect of a family, and is logged.
 */
export function toReadError(cause: unknown, response: TransportResponse, logger: Logger): GatewayError {
  if (isGatewayError(cause)) return cause;
  const upstreamRequestId = readRequestId(response);
  if (cause instanceof TransportError) {
    return toUpstreamError({ kind: cause.reason, cause, requestId: upstreamRequestId });
  }
  logger.error({ err: cause }, "A provider's response could not be read.");
  return new GatewayError("internal_error", "The provider's response could not be read.", {
    cause,
    upstreamRequestId,
    shouldRetry: false,
  });
}

/** The rest of a longer error response is not read. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Reads the body of an error response. A body that cannot be read is not an error: the status decides.
 *
 * @returns at most its first 64 KiB, and its value if it is a JSON object within the bounds of a response
 */
export async function readErrorBody(
  response: TransportResponse,
): Promise<{ readonly text: string; readonly value?: JsonObject | undefined }> {
  try {
    const { chunks, hasEnded } = await readHead(response, MAX_ERROR_BYTES);
    if (!hasEnded) response.cancel();
    const text = decodeText(chunks);
    const isReadable = hasEnded && isWithinBounds(chunks);
    return { text, value: isReadable ? parseObject(text) : undefined };
  } catch (error) {
    if (error instanceof TransportError) return { text: "" };
    throw error;
  }
}

const UTF_8 = new TextDecoder();

/** Decodes the text of all chunks together. */
export function decodeText(chunks: readonly Uint8Array[]): string {
  const [only, ...others] = chunks;
  if (only !== undefined && others.length === 0) return UTF_8.decode(only);
  const decoder = new TextDecoder();
  const texts = chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
  return texts.join("") + decoder.decode();
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // A value that is deeper would overflow `JSON.stringify` after the response was settled.
    checkJsonValue(value, RESPONSE_BOUNDS);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function invalid(message: string, response: TransportResponse): GatewayError {
  return new GatewayError("upstream_invalid_response", message, {
    upstreamRequestId: readRequestId(response),
    shouldRetry: false,
  });
}

/** True if a response is labelled as a stream of events. */
export function isLabelledAsEvents(headers: HeaderReader): boolean {
  return /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

/**
 * The content coding of a response, such as `gzip`, or `undefined` if it has none. The gateway does not request one.
 * A `fetch` decodes the body and keeps the header, so a body with a content coding may be readable.
 */
export function readContentCoding(headers: HeaderReader): string | undefined {
  const coding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  return coding === "" || coding === "identity" ? undefined : coding.slice(0, 64);
}

/** The error for a body with a content coding. It was not requested, so it is unknown what was made. */
export function contentCodingError(coding: string, response: TransportResponse): GatewayError {
  return invalid(
    `The provider's response has the content coding ${coding}, which was not requested.`,
    response,
  );
}

/** The provider's id of the request, if a header contains one. */
export function readRequestId({ headers }: TransportResponse): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}
