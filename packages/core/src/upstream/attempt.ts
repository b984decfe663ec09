import type { Channel, Route } from "../channels/channel.js";
import type { AttemptFailure, Family, UpstreamCall } from "../families/family.js";
import type { Logger } from "../logger.js";
import type { SecretMask } from "../redact.js";
import type { ImageRequest, ImageResult, Usage } from "../types.js";
import { detectBody } from "./body-kind.js";
import { findErrorMessage } from "./failure.js";
import {
  isLabelledAsEvents,
  type JsonResponse,
  parseResponse,
  readErrorBody,
  readRequestId,
} from "./read.js";
import { type Transport, TransportError, type TransportResponse } from "./transport.js";

/** What an attempt needs of the gateway. */
export interface AttemptParts {
  readonly transport: Transport;
  readonly logger: Logger;
}

/** A short JSON response, and what its family read in it. */
export interface ParsedResponse extends JsonResponse {
  readonly result: ImageResult;
}

/** How one attempt ended: with a response, with a failure, or with both if the provider sent an error with status 200. */
export type AttemptOutcome =
  | {
      readonly response: TransportResponse;
      readonly failure: undefined;
      /** Set if the whole body was read, and is JSON and not an error. */
      readonly parsed?: ParsedResponse;
    }
  | { readonly response?: TransportResponse; readonly failure: AttemptFailure };

/** Sends a request once, to a channel with one of its keys, and classifies what comes back. Does not reject. */
export async function sendAttempt(
  { channel, key, upstreamModel }: Route,
  request: ImageRequest,
  { transport, logger }: AttemptParts,
): Promise<AttemptOutcome> {
  const { family } = channel;
  let call: UpstreamCall;
  try {
    call = family.toUpstream(request, upstreamModel);
  } catch (cause) {
    return familyFailed(channel, cause, logger);
  }
  let response: TransportResponse;
  try {
    response = await transport.send({
      url: channel.toUrl(call.path),
      headers: key.toHeaders(call.headers),
      body: call.body,
      timeouts: channel.timeouts,
    });
  } catch (cause) {
    // An operator's own transport may throw anything. Then the request may have been sent.
    return { failure: { kind: cause instanceof TransportError ? cause.reason : "broken", cause } };
  }
  if (response.status >= 200 && response.status < 300) return inspectSuccess(response, family, request);
  try {
    return { failure: await readFailure(response, family) };
  } catch (cause) {
    return familyFailed(channel, cause, logger);
  }
}

/** A family threw, perhaps after the provider was reached, so the attempt must be recorded. */
function familyFailed({ id }: Channel, cause: unknown, logger: Logger): AttemptOutcome {
  logger.error({ channel: id, err: cause }, "The family of a channel failed.");
  return { failure: { kind: "broken", cause } };
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
    requestId: readRequestId(response) ?? failure.requestId,
    retryAfterSeconds: readRetryAfter(response.headers.get("retry-after")),
  };
}

/** Reads `retry-after` in seconds. These providers do not send dates. */
function readRetryAfter(header: string | null): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(header ?? "") ? Math.ceil(Number(header)) : undefined;
}

/** The maximum number of bytes that are read to find an error. Error bodies are short. */
const MAX_ERROR_BODY_BYTES = 16 * 1024;

/**
 * Finds the error that some providers send with status 200: Ark's `{"error":{…}}`, DashScope's `code` without
 * `output`. Reads at most 16 KiB, and only while the body may be JSON. A body that is longer, incomplete or not JSON is
 * left to the reader of the response, and so is a requested stream.
 */
async function inspectSuccess(
  response: TransportResponse,
  family: Family,
  request: ImageRequest,
): Promise<AttemptOutcome> {
  if (request.stream && isLabelledAsEvents(response.headers)) {
    return { response, failure: undefined };
  }
  const rest = response.body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let hasEnded = false;
  try {
    while (length <= MAX_ERROR_BODY_BYTES && !hasEnded) {
      const { done, value } = await rest.next();
      hasEnded = done === true;
      if (done === true) break;
      length += value.length;
      chunks.push(value);
      if (!mayBeJson(chunks)) break;
    }
  } catch (error) {
    // The reader of the body gets the error after the chunks before it.
    const broken = replayResponse(response, chunks, { next: () => Promise.reject(error) });
    return { response: broken, failure: undefined };
  }
  const replayed = replayResponse(response, chunks, rest);
  if (!hasEnded) return { response: replayed, failure: undefined };
  return { response: replayed, ...readWhole(response, chunks, { family, request }) };
}

/**
 * Whether the first bytes may be JSON. The rest of any other body is not read here: events must be passed on before
 * 16 KiB of them have arrived, even if they are labelled as something else.
 */
function mayBeJson(chunks: readonly Uint8Array[]): boolean {
  const kind = detectBody(chunks);
  return kind === "json" || kind === undefined;
}

/** Parses a complete body. It is an error only if it has no image and reports nothing as made. */
function readWhole(
  response: TransportResponse,
  chunks: readonly Uint8Array[],
  { family, request }: { readonly family: Family; readonly request: ImageRequest },
): { readonly failure: undefined; readonly parsed?: ParsedResponse } | { readonly failure: AttemptFailure } {
  try {
    const { text, value } = parseResponse(chunks, response);
    const result = family.fromUpstream(value, request);
    const { failure, images, usage } = result;
    if (failure === undefined || images.length > 0 || isAnythingReported(usage)) {
      return { failure: undefined, parsed: { text, value, result } };
    }
    const read = family.toFailure(response.status, value);
    const known = {
      ...read,
      code: read.code ?? failure.code,
      message: read.message ?? failure.message,
      body: text,
      status: response.status,
      requestId: readRequestId(response) ?? read.requestId,
    };
    return { failure: known };
  } catch {
    // It is not a JSON object, or the family threw. The reader of the response finds that again and reports it.
    return { failure: undefined };
  }
}

/** Whether the provider counts anything as made. Its counts of what was sent to it do not say so. */
export function isAnythingReported(usage: Usage = {}): boolean {
  const { input_images: _images, input_image_count: _count, tool_usage: _tools, ...made } = usage;
  return Object.values(made).some((count) => count > 0);
}

/** Returns the same response with a body that begins with the chunks that were already read. */
export function replayResponse(
  response: TransportResponse,
  chunks: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): TransportResponse {
  const { status, headers } = response;
  const body = new ReplayedBody(chunks, rest);
  return { status, headers, body, cancel: () => response.cancel() };
}

/** The chunks that were already read, followed by the rest of their body. Not a generator, whose reads run one by one. */
class ReplayedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #chunks: Uint8Array[];
  readonly #rest: AsyncIterator<Uint8Array>;

  constructor(chunks: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>) {
    this.#chunks = [...chunks];
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

/**
 * Replaces the provider's name of the model in its messages. They may contain the model or endpoint that the operator
 * mapped the request to (Ark: `The model or endpoint ep-… does not exist`). A client of `/v1` knows the service name
 * only. On `/api/v3` the bodies are the provider's own.
 */
export function hideUpstreamModel(
  message: string,
  upstreamModel: string,
  { model, operation }: Pick<ImageRequest, "model" | "operation">,
): string {
  if (operation === "native" || upstreamModel === model) return message;
  // Only as a whole name, and not as a part of another name.
  const names = new RegExp(`(?<![\\w.-])${escapeForRegExp(upstreamModel)}(?![\\w-])`, "g");
  return message.replace(names, () => model);
}

/** The mask for the reasons in a response with a 2xx status: keys, and the provider's name of the model. */
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
