import type { Channel, Route } from "../channels/channel.js";
import type { AttemptFailure, Family, UpstreamCall } from "../families/family.js";
import type { Logger } from "../logger.js";
import type { SecretMask } from "../redact.js";
import { detectBody } from "../responses/body-kind.js";
import type { ImageRequest, Usage } from "../types.js";
import type { Awaitable } from "../util/promise-like.js";
import { findErrorMessage } from "./failure.js";
import {
  isLabelledAsEvents,
  type JsonResponse,
  parseResponse,
  readErrorBody,
  readRequestId,
} from "./read.js";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.js";

/** What sending needs beside the route. */
export interface SendContext {
  readonly transport: Transport;
  readonly logger: Logger;
}

/**
 * How one attempt ended: with a response, with a failure, or with both if the provider sent an error with status 200.
 */
export type AttemptOutcome =
  | { readonly response: TransportResponse; readonly failure: undefined }
  | { readonly response?: TransportResponse; readonly failure: AttemptFailure };

/**
 * Sends a request once, in the family's format, to a channel with one of its keys. Never rejects. Not `async`,
 * because an async function would double the memory of each request that waits for its provider.
 */
export function sendToRoute(
  route: Route,
  request: ImageRequest,
  { transport, logger }: SendContext,
): Promise<AttemptOutcome> {
  const { channel, upstreamModel } = route;
  let call: UpstreamCall;
  try {
    call = channel.family.toUpstream(request, upstreamModel);
  } catch (cause) {
    return Promise.resolve(blameFamily(channel, cause, logger));
  }
  try {
    const sent = transport.send(toTransportRequest(call, route));
    return sent.then((response) => toOutcome(response, { channel, request, logger }), toLost);
  } catch (cause) {
    return Promise.resolve(toLost(cause));
  }
}

function toTransportRequest(
  { path, headers, body }: UpstreamCall,
  { channel, key }: Route,
): TransportRequest {
  return {
    url: channel.toUrl(path),
    headers: key.toHeaders(headers),
    body,
    timeouts: channel.timeouts,
  };
}

/** The dependencies of reading a response. */
interface Reading {
  readonly channel: Channel;
  readonly request: ImageRequest;
  readonly logger: Logger;
}

function toOutcome(
  response: TransportResponse,
  { channel, request, logger }: Reading,
): Awaitable<AttemptOutcome> {
  const isSuccess = response.status >= 200 && response.status < 300;
  if (isSuccess) return inspectResponse(response, channel.family, request);
  return readRefusal(response, channel, logger);
}

async function readRefusal(
  response: TransportResponse,
  channel: Channel,
  logger: Logger,
): Promise<AttemptOutcome> {
  try {
    return { failure: await readFailure(response, channel.family) };
  } catch (cause) {
    return blameFamily(channel, cause, logger);
  }
}

/** A transport of the operator's may throw anything: what is not known may have been sent. */
function toLost(cause: unknown): AttemptOutcome {
  return { failure: { kind: cause instanceof TransportError ? cause.reason : "broken", cause } };
}

/** A family that throws, perhaps after the provider was reached: that must leave a record. */
function blameFamily({ id }: Channel, cause: unknown, logger: Logger): AttemptOutcome {
  logger.error({ channel: id, err: cause }, "The family of a channel failed.");
  return { failure: { kind: "broken", cause } };
}

/** The maximum number of bytes that are read here. Error bodies are short. */
const MAX_ERROR_BODY_BYTES = 16 * 1024;

/** A response with a 2xx status, and the error that its body holds. */
type InspectedResponse = {
  /** Read this response instead of the given one. It has the same bytes. */
  readonly response: TransportResponse;
} & (
  | { readonly failure: AttemptFailure }
  /** Absent if the body is not an error, or if the provider nevertheless reports something as made. */
  | { readonly failure: undefined }
);

/**
 * Finds the error that some providers send with status 200: Ark's `{"error":{…}}`, DashScope's `code` without
 * `output`. Reads the first 16 KiB of a response, as long as it may be JSON. A body that is longer, incomplete or not
 * JSON is left to the reader of the response, and so is a stream that was requested.
 */
async function inspectResponse(
  response: TransportResponse,
  family: Family,
  request: ImageRequest,
): Promise<InspectedResponse> {
  if (request.stream && isLabelledAsEvents(response.headers)) return { response, failure: undefined };
  const rest = response.body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= MAX_ERROR_BODY_BYTES) {
    let result: IteratorResult<Uint8Array>;
    try {
      result = await rest.next();
    } catch (error) {
      // The reader of the body gets the error in its place, after the chunks before it.
      return { response: replayResponse(response, chunks, failing(error)), failure: undefined };
    }
    if (result.done === true) return inspectWhole(response, chunks, { family, request });
    length += result.value.length;
    chunks.push(result.value);
    if (!mayBeJson(chunks)) break;
  }
  return { response: replayResponse(response, chunks, rest), failure: undefined };
}

function inspectWhole(
  response: TransportResponse,
  chunks: readonly Uint8Array[],
  { family, request }: { readonly family: Family; readonly request: ImageRequest },
): InspectedResponse {
  const parsed = parse(chunks, response);
  const replayed = { ...replayResponse(response, chunks), parsed };
  const failure = parsed && readError(response, parsed, { family, request });
  return failure === undefined ? { response: replayed, failure } : { response: replayed, failure };
}

function readError(
  response: TransportResponse,
  { text, value }: JsonResponse,
  { family, request }: { readonly family: Family; readonly request: ImageRequest },
): AttemptFailure | undefined {
  try {
    const { failure, images, usage } = family.fromUpstream(value, request);
    if (failure === undefined || images.length > 0 || isAnythingReported(usage)) return undefined;
    const read = family.toFailure(response.status, value);
    return {
      ...read,
      code: read.code ?? failure.code,
      message: read.message ?? failure.message,
      body: text,
      status: response.status,
      requestId: readRequestId(response) ?? read.requestId,
    };
  } catch {
    // The family threw. The reader of the response calls the family again and reports the error.
    return undefined;
  }
}

function parse(chunks: readonly Uint8Array[], response: TransportResponse): JsonResponse | undefined {
  try {
    return parseResponse(chunks, response);
  } catch {
    // Not a JSON object. The reader of the response reports that.
    return undefined;
  }
}

/** Whether the provider counts anything as made. */
export function isAnythingReported(usage: Usage | undefined): boolean {
  return Object.values(usage ?? {}).some((count) => count > 0);
}

/**
 * Whether the body may be JSON, as far as its first bytes tell. The rest of any other body is not waited for: events must
 * be passed on before 16 KiB of them have arrived, even if they are labelled as something else.
 */
function mayBeJson(chunks: readonly Uint8Array[]): boolean {
  const kind = detectBody(chunks);
  return kind === "json" || kind === undefined;
}

/**
 * Returns the same response with a body that begins with the chunks that were already read. Without `rest`, these
 * chunks are the whole body.
 */
export function replayResponse(
  response: TransportResponse,
  chunks: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array> = ENDED,
): TransportResponse {
  const { status, headers } = response;
  return { status, headers, body: new Replayed([...chunks], rest), cancel: () => response.cancel() };
}

const ENDED: AsyncIterator<Uint8Array> = {
  next: () => Promise.resolve({ done: true, value: undefined }),
};

/** The chunks that were already read, followed by the rest of their body. */
class Replayed implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #chunks: Uint8Array[];
  readonly #rest: AsyncIterator<Uint8Array>;

  constructor(chunks: Uint8Array[], rest: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
    this.#rest = rest;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const value = this.#chunks.shift();
    return value === undefined ? this.#rest.next() : Promise.resolve({ done: false, value });
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#chunks.length = 0;
    await this.#rest.return?.();
    return { done: true, value: undefined };
  }
}

/** The rest of a body whose connection broke. */
function failing(error: unknown): AsyncIterator<Uint8Array> {
  return {
    async next() {
      throw error;
    },
  };
}

/**
 * Classifies an error response. The family reads its provider's own errors; a proxy in front of the provider may send
 * others.
 */
async function readFailure(response: TransportResponse, family: Family): Promise<AttemptFailure> {
  const { text, value } = await readErrorBody(response);
  const failure = family.toFailure(response.status, value);
  return {
    ...failure,
    message: failure.message ?? findErrorMessage(text),
    body: value && text,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? failure.requestId,
    retryAfterSeconds: readRetryAfter(response.headers.get("retry-after")),
  };
}

/** `retry-after` in seconds; a date is not used by these providers. */
function readRetryAfter(header: string | null): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(header ?? "") ? Math.ceil(Number(header)) : undefined;
}

/**
 * A provider's message may name the model or endpoint that the operator mapped the request to (Ark: `The model or
 * endpoint ep-… does not exist`). On `/v1` the client knows the service name only; on `/api/v3` bodies are the
 * provider's own.
 */
export function hideUpstreamModel(
  message: string,
  upstreamModel: string,
  { model, operation }: Pick<ImageRequest, "model" | "operation">,
): string {
  if (operation === "native" || upstreamModel === model) return message;
  // Only where it is a whole name, and not a part of another one.
  const names = new RegExp(`(?<![\\w.-])${escapeForRegExp(upstreamModel)}(?![\\w-])`, "g");
  return message.replace(names, () => model);
}

/** The mask for the reasons in a response that came with a 2xx status: keys and the provider's name of the model. */
export function createReasonMask(
  mask: SecretMask,
  upstreamModel: string,
  { model, operation }: Pick<ImageRequest, "model" | "operation">,
): SecretMask {
  return (text) => hideUpstreamModel(mask(text), upstreamModel, { model, operation });
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
