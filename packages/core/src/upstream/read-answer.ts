import type { ByteCount } from "../bytes/byte-count.js";
import { takeWhole } from "../bytes/chunk-queue.js";
import { GatewayError } from "../errors.js";
import type { HeaderReader } from "../http.js";
import { checkJsonValue } from "../request/parse-json.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import type { Awaitable } from "../util/promise-like.js";
import { TransportError, type TransportResponse } from "./transport.js";
import { toUpstreamError } from "./upstream-error.js";

/** Far beyond any real answer; a deeper one would overflow `JSON.stringify` after it was settled. */
const ANSWER_LIMITS = { maxDepth: 64, maxValues: 1_000_000 };

/** A JSON object as it came, and parsed. */
export interface JsonResponse {
  readonly text: string;
  readonly value: JsonObject;
}

/** How an answer is read. */
export interface ReadOptions {
  /** So much is held. */
  readonly maxBytes: number;
  /** Where what is held is counted. */
  readonly bytes?: ByteCount;
  /** Returns true if no more than these first chunks have to be read now. Default: all chunks are read. */
  readonly isEnough?: (chunks: readonly Uint8Array[]) => boolean;
}

/** The beginning of an answer, or all of it where it is not larger than what may be held. */
export interface ResponseHead {
  readonly chunks: readonly Uint8Array[];
  /** `undefined` when the answer has ended. */
  readonly rest: AsyncIterator<Uint8Array> | undefined;
}

/**
 * Reads an answer until it ends, or until more has come than may be held. A small one has mostly come with its head.
 *
 * @throws TransportError when it is cut or stalls
 */
export function readHead({ body }: TransportResponse, options: ReadOptions): Awaitable<ResponseHead> {
  const chunks = takeWhole(body, options.maxBytes);
  if (chunks === undefined) return readChunks(body, options);
  for (const chunk of chunks) options.bytes?.addAnyway(chunk.length);
  return { chunks, rest: undefined };
}

async function readChunks(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, bytes, isEnough }: ReadOptions,
): Promise<ResponseHead> {
  const iterator = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= maxBytes) {
    const { done, value } = await iterator.next();
    if (done === true) return { chunks, rest: undefined };
    length += value.length;
    bytes?.addAnyway(value.length);
    chunks.push(value);
    if (isEnough?.(chunks) === true) break;
  }
  return { chunks, rest: iterator };
}

/**
 * The JSON object of an answer that is small enough to be held.
 *
 * @throws GatewayError `upstream_invalid_response` when it is cut, larger than `maxBytes`, or not a
 * JSON object; `upstream_timeout` when it stalls.
 */
export async function readAnswer(response: TransportResponse, options: ReadOptions): Promise<JsonResponse> {
  try {
    const { chunks, rest } = await readHead(response, options);
    if (rest === undefined) return parseResponse(chunks, response);
    response.cancel();
    throw tooLargeError(options.maxBytes, response);
  } catch (cause) {
    if (!(cause instanceof TransportError)) throw cause;
    throw toUpstreamError({ kind: cause.reason, cause, requestId: readRequestId(response) });
  }
}

/** @throws GatewayError `upstream_invalid_response` for what is not a JSON object */
export function parseResponse(chunks: readonly Uint8Array[], response: TransportResponse): JsonResponse {
  if (response.parsed !== undefined) return response.parsed;
  const text = decodeText(chunks);
  const value = parseObject(text);
  if (value === undefined) throw notJsonError(response);
  return { text, value };
}

/** The error of an answer that is cut, or something else than a JSON object. */
export function notJsonError(response: TransportResponse): GatewayError {
  return invalid("The provider's answer is not a JSON object.", response);
}

/** The error of an answer that is larger than may be held. */
export function tooLargeError(maxBytes: number, response: TransportResponse): GatewayError {
  return invalid(`The provider's answer is larger than ${maxBytes} bytes.`, response);
}

/** The maximum number of bytes of an error response that are read. The rest of a longer one is not read. */
const ERROR_OPTIONS: ReadOptions = { maxBytes: 64 * 1024 };

/** The body of an error response. */
export interface ErrorBody {
  /** At most its first 64 KiB. Empty if the connection broke. */
  readonly text: string;
  /** `undefined` if the body is not a JSON object. */
  readonly value: JsonObject | undefined;
}

/** Reads the body of an error response. A body that cannot be read is not an error: the status decides. */
export async function readErrorBody(response: TransportResponse): Promise<ErrorBody> {
  try {
    const { chunks, rest } = await readHead(response, ERROR_OPTIONS);
    if (rest !== undefined) await rest.return?.();
    const text = decodeText(chunks);
    return { text, value: rest === undefined ? parseObject(text) : undefined };
  } catch (error) {
    if (error instanceof TransportError) return { text: "", value: undefined };
    throw error;
  }
}

/** Nearly all answers that are held come in one chunk, and to make a decoder takes longer than to read one. */
const wholeDecoder = new TextDecoder();

/** The text of all chunks together. */
export function decodeText(chunks: readonly Uint8Array[]): string {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return wholeDecoder.decode(only);
  const decoder = new TextDecoder();
  const texts = chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
  return texts.join("") + decoder.decode();
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

function invalid(message: string, response: TransportResponse): GatewayError {
  return new GatewayError("upstream_invalid_response", message, {
    upstreamRequestId: readRequestId(response),
    shouldRetry: false,
  });
}

/** Whether a response is labelled as a stream of events. */
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

/** The provider's id of the request, where its answer's head gives one. */
export function readRequestId({ headers }: TransportResponse): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}
