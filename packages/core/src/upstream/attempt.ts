import type { Channel, Route } from "../channels/channel.js";
import { KeyError } from "../contract/key-source.js";
import { invalidRequest, isGatewayError } from "../errors.js";
import type { Dialect } from "../families/dialect.js";
import type { AttemptFailure, UpstreamFailure } from "../families/failure.js";
import { readDetail } from "../families/shared.js";
import type { GatewayRequest, HeaderReader } from "../http.js";
import type { Logger } from "../logger.js";
import type { Redaction } from "../redact.js";
import type { ImageRequest, ImageResult, Usage } from "../types.js";
import type { Awaitable } from "../util/async.js";
import { openFlow, StagedFlow } from "../util/chunk-flow.js";
import { detectBody } from "./body-kind.js";
import { findErrorMessage } from "./failure.js";
import {
  type BodyStart,
  isLabelledAsEvents,
  type JsonResponse,
  parseResponse,
  readErrorBody,
  readRequestId,
  readStart,
} from "./read.js";
import type { LoadReferences } from "./references.js";
import type { AttemptContext, StoredJob } from "./stored-jobs.js";
import { reasonOf, type Transport, type TransportRequest, type TransportResponse } from "./transport.js";
import { writeCall } from "./write-call.js";

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
      readonly parsed?: ParsedResponse | undefined;
      readonly accepted?: AcceptedJob | undefined;
    }
  | {
      readonly response?: TransportResponse | undefined;
      readonly failure: AttemptFailure;
      readonly accepted?: AcceptedJob | undefined;
    };

/** A request that the provider accepted as a job. Whatever becomes of the job, the request is not sent again. */
export interface AcceptedJob {
  /** True if the job has certainly made no image. */
  readonly isNothingMade: boolean;
  /** What the provider charges for a job without a result. Default: nothing is known. */
  readonly usage?: Usage | undefined;
}

/** An attempt that is ready to be sent. */
export interface PreparedAttempt {
  readonly route: Route;
  readonly request: ImageRequest;
  /** A failure if the family threw. */
  readonly call: TransportRequest | AttemptFailure;
  /** A job that an earlier process submitted. Then nothing is sent, and `call` is not used. */
  readonly stored?: StoredJob | undefined;
}

/** What the preparation of attempts needs of their call. */
export interface PrepareContext {
  readonly request: ImageRequest;
  /** Loads the reference images for services that take only bytes. */
  readonly loadReferences: LoadReferences;
  /** Tells whether the client has disconnected. */
  readonly client: Pick<GatewayRequest, "signal">;
  readonly logger: Logger;
}

/** Prepares the attempts of one call. */
export class AttemptPreparation {
  readonly #context: PrepareContext;
  /** The request with bytes in place of links, once a service needed it. */
  #loaded: ImageRequest | undefined;

  constructor(context: PrepareContext) {
    this.#context = context;
  }

  /**
   * Returns an attempt that is ready to be sent. Synchronous unless images must be loaded: between the choice of a key and
   * the attempt no other request may choose the same one.
   *
   * @throws GatewayError `invalid_request_error` if the service cannot take the request
   */
  prepare(route: Route): Awaitable<PreparedAttempt> {
    const { request, loadReferences, client, logger } = this.#context;
    const { channel, upstreamModel } = route;
    const { dialect } = channel;
    if (request.needsLinks === true && !dialect.delivers.includes("url")) {
      throw invalidRequest('The provider delivers no links: send "b64_json".', "response_format");
    }
    try {
      const ready = dialect.needsImageBytes?.(request) === true ? this.#loaded : request;
      if (ready !== undefined) {
        return { route, request, call: writeCall(route, dialect.toUpstream(ready, upstreamModel)) };
      }
    } catch (cause) {
      if (isGatewayError(cause)) throw cause;
      return { route, request, call: familyFailed(channel, cause, logger) };
    }
    return loadReferences(request, client).then((loaded) => {
      this.#loaded = loaded;
      return this.prepare(route);
    });
  }
}

/** Sends a prepared call once, and classifies what comes back. Does not reject. */
export function sendAttempt(
  attempt: PreparedAttempt,
  transport: Transport,
  context: AttemptContext,
): Promise<AttemptOutcome> {
  return sendOnce(attempt, transport, context, inspect);
}

/** What becomes of a response with a 2xx status. */
type TakeSuccess = (response: TransportResponse, attempt: PreparedAttempt) => Awaitable<AttemptOutcome>;

const inspect: TakeSuccess = (response, { route, request }) => {
  if (request.stream && isLabelledAsEvents(response.headers)) return takeUnread(response);
  const context = { dialect: route.channel.dialect, request };
  const start = readStart(response.body, isBeyondError);
  return start instanceof Promise
    ? start.then((later) => inspectStart(later, response, context))
    : inspectStart(start, response, context);
};

const takeUnread = (response: TransportResponse): AttemptOutcome => ({ response, failure: undefined });

/**
 * Sends a prepared call once. Does not reject.
 *
 * @param take must not throw. Default: a response with a 2xx status is not read
 */
export function sendOnce(
  attempt: PreparedAttempt,
  transport: Transport,
  { logger }: AttemptContext,
  take: TakeSuccess = takeUnread,
): Promise<AttemptOutcome> {
  const { call, route } = attempt;
  const { channel } = route;
  if ("kind" in call) return Promise.resolve({ failure: call });
  return transport.send(call).then(
    (received) => {
      const response = nameRequestId(received, channel.dialect);
      if (response.status >= 200 && response.status < 300) return take(response, attempt);
      return readRefusal(response, channel, logger);
    },
    (cause: unknown) => ({ failure: { kind: toFailureKind(cause), cause } }),
  );
}

function toFailureKind(thrown: unknown): AttemptFailure["kind"] {
  if (thrown instanceof KeyError) return "credential";
  // An operator's own transport may reject with anything. Then the request may have been sent.
  return reasonOf(thrown);
}

async function readRefusal(
  response: TransportResponse,
  channel: Channel,
  logger: Logger,
): Promise<AttemptOutcome> {
  try {
    return { failure: await readFailure(response, channel.dialect) };
  } catch (cause) {
    return { failure: familyFailed(channel, cause, logger) };
  }
}

/** The provider's id of the request is in `x-request-id` for everyone who reads the response. */
function nameRequestId(response: TransportResponse, { requestIdHeader }: Dialect): TransportResponse {
  if (requestIdHeader === undefined) return response;
  const { headers } = response;
  const get = (name: string): string | null =>
    headers.get(name.toLowerCase() === "x-request-id" ? requestIdHeader : name);
  return { ...response, headers: { get } };
}

/** A family threw, perhaps after the provider was reached, so the attempt must be recorded. */
export function familyFailed({ id }: Channel, cause: unknown, logger: Logger): AttemptFailure {
  logger.error({ channel: id, err: cause }, "The family of a channel failed.");
  return { kind: "broken", cause };
}

/**
 * Classifies an error response. The family reads its provider's own errors; a proxy in front of the provider may send
 * others.
 */
export async function readFailure(response: TransportResponse, dialect: Dialect): Promise<AttemptFailure> {
  const { text, value } = await readErrorBody(response);
  const { status, headers } = response;
  const failure = dialect.toFailure({ status, headers, body: value });
  const detail = readDetail(value ?? {});
  return {
    ...failure,
    code: failure.code ?? detail.code,
    message: failure.message ?? detail.message ?? findErrorMessage(text),
    param: failure.param ?? detail.param,
    body: value && text,
    status,
    requestId: readRequestId(response) ?? failure.requestId,
    retryAfterSeconds: failure.retryAfterSeconds ?? readRetryAfter(headers),
  };
}

/** Reads `retry-after-ms` or `retry-after` in seconds. These providers do not send dates. */
export function readRetryAfter(headers: HeaderReader): number | undefined {
  const ms = readNumber(headers.get("retry-after-ms"));
  const seconds = ms === undefined ? readNumber(headers.get("retry-after")) : ms / 1000;
  return seconds && Math.ceil(seconds);
}

function readNumber(header: string | null): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(header ?? "") ? Number(header) : undefined;
}

/** The maximum number of bytes that are read to find an error. Error bodies are short. */
const MAX_ERROR_BODY_BYTES = 16 * 1024;

/**
 * Finds the error that some providers send with status 200: Ark's `{"error":{…}}`, DashScope's `code` without
 * `output`. Reads at most 16 KiB, and only while the body may be JSON. A body that is longer, incomplete or not JSON is
 * left to the reader of the response, and so is a requested stream.
 */
function inspectStart(
  { chunks, hasEnded, failure }: BodyStart,
  response: TransportResponse,
  context: ReadContext,
): AttemptOutcome {
  // The reader of the body gets the failure after the chunks before it.
  const replayed = replayResponse(response, chunks, failure);
  if (!hasEnded || failure !== undefined) return { response: replayed, failure: undefined };
  return { response: replayed, ...readWhole(response, chunks, context) };
}

/** True once what was read cannot be the beginning of a short JSON body. */
function isBeyondError(chunks: readonly Uint8Array[], byteLength: number): boolean {
  return byteLength > MAX_ERROR_BODY_BYTES || (byteLength > 0 && !mayBeJson(chunks));
}

/**
 * Whether the first bytes may be JSON. The rest of any other body is not read here: events must be passed on before
 * 16 KiB of them have arrived, even if they are labelled as something else.
 */
function mayBeJson(chunks: readonly Uint8Array[]): boolean {
  const kind = detectBody(chunks);
  return kind === "json" || kind === undefined;
}

interface ReadContext {
  readonly dialect: Dialect;
  readonly request: ImageRequest;
}

/** Parses a complete body with a 2xx status. It is an error only if it has no image and reports nothing as made. */
export function readWhole(
  response: TransportResponse,
  chunks: readonly Uint8Array[],
  { dialect, request }: ReadContext,
): { readonly failure: undefined; readonly parsed?: ParsedResponse } | { readonly failure: AttemptFailure } {
  try {
    const { text, value } = parseResponse(chunks, response);
    const result = dialect.fromUpstream(value, request);
    const { failure, images, usage } = result;
    if (failure === undefined || images.length > 0 || isAnythingReported(usage)) {
      return { failure: undefined, parsed: { text, value, result } };
    }
    const { status, headers } = response;
    const { kind, scope } = failure;
    const read: UpstreamFailure =
      kind === undefined ? dialect.toFailure({ status, headers, body: value }) : { kind, scope };
    const known = {
      ...read,
      code: read.code ?? failure.code,
      message: read.message ?? failure.message,
      body: text,
      status,
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
  const { input_images: _images, input_image_count: _count, tool_usage: _tools, cost_usd, ...made } = usage;
  return Number(cost_usd) > 0 || Object.values(made).some((count) => count > 0);
}

/**
 * Returns the same response with a body that begins with the chunks that were already read.
 *
 * @param failure why the body broke off after them
 */
export function replayResponse(
  response: TransportResponse,
  chunks: readonly Uint8Array[],
  failure?: { readonly error: unknown },
): TransportResponse {
  const flow = openFlow(response.body);
  const body = flow instanceof StagedFlow ? flow : new StagedFlow(flow);
  body.unread(chunks, failure);
  return body === response.body ? response : { ...response, body };
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

/** The redaction for the reasons in a response with a 2xx status: keys, and the provider's name of the model. */
export function createReasonRedaction(
  redact: Redaction,
  upstreamModel: string,
  { model, operation }: Pick<ImageRequest, "model" | "operation">,
): Redaction {
  return (text) => hideUpstreamModel(redact(text), upstreamModel, { model, operation });
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
