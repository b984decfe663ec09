import type { Commit } from "../billing/commit.js";
import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import type { Dialect } from "../families/dialect.js";
import type { AttemptFailure } from "../families/failure.js";
import type { ResponseShape, StreamReader, StreamResult } from "../families/response-shape.js";
import type { GatewayResponse } from "../http.js";
import type { Logger } from "../logger.js";
import { type Redaction, redactReason } from "../redact.js";
import type { ImageRequest, ResultError } from "../types.js";
import { createReasonRedaction, isAnythingReported } from "../upstream/attempt.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { findNoImageError, toUpstreamError } from "../upstream/failure.js";
import { readRequestId } from "../upstream/read.js";
import { reasonOf, type TransportResponse } from "../upstream/transport.js";
import { isJsonObject } from "../util/json.js";
import { type Call, type CallParts, checkCharged, leftError } from "./call.js";
import { renderStream, toEnvelope } from "./envelope.js";
import { stageImages, toDeliveryOptions } from "./image-delivery.js";
import type { StagedDelivery } from "./image-stage.js";
import { type JsonReader, ScanningReader } from "./json-reader.js";
import { OpenAiEvents } from "./openai-events.js";
import { OpenAiTranslation, type TranslationOptions } from "./openai-stream.js";
import { listErrors } from "./response-facts.js";
import {
  type BodyOptions,
  type RelayEnd,
  relayBody,
  StreamBodyReader,
  type StreamTranslation,
} from "./sse.js";

/**
 * Relays a provider's stream, and settles the call by the events of the stream when it ends. This also holds if the
 * client disconnects, because the provider makes and bills the images anyway.
 *
 * @throws GatewayError if the family cannot read streams, so that nothing could be charged
 */
export async function respondWithStream(
  parts: CallParts,
  call: Call,
  commit: Commit,
  success: UpstreamSuccess,
): Promise<GatewayResponse> {
  const { response, sentTo } = success;
  const { logger, redact, backgroundReads, heartbeatMs } = parts;
  const { id, report, observer, request } = call;
  const { ignored, replacedSize } = request;
  const { dialect } = success.channel;
  const upstreamRequestId = readRequestId(response);
  const readerLogger = createReaderLogger(logger, id);
  const reader = openReader(dialect, call, readerLogger);
  if (reader === undefined) {
    response.cancel();
    const error = unreadableError(upstreamRequestId);
    const errorCode = shownCodeOf(error);
    await commit.run(sentTo, { status: error.status, errorCode, images: 0, upstreamRequestId });
    throw error;
  }
  let json: MislabelledJson | undefined;
  // The closures below must not refer to `call` and `request`: a stream can stay open for long, and would retain the
  // request's body.
  let hasEvents = false;
  let awaitsImage = observer !== undefined;
  // A provider's own events in OpenAI's format have base64, so they are translated for a client that asked for links.
  const isOpenAi = dialect.streamShape?.format === "openai" && request.responseFormat !== "url";
  // The provider's own events would show the client what the operator pays.
  const isNative = (isOpenAi || request.streamFormat !== "openai") && dialect.reportsCost !== true;
  const isStaged = parts.images !== undefined || parts.requireMarks !== undefined;
  const delivery = isStaged
    ? stageImages(parts, call, toDeliveryOptions(parts, call, success, isNative))
    : undefined;
  const translation = createTranslation(reader, {
    request,
    isNative,
    dialect,
    delivery,
    now: Math.floor(parts.now() / 1000),
    redact: createReasonRedaction(redact, sentTo.upstreamModel, request),
    upstreamRequestId,
    logError: readerLogger,
  });
  const options: BodyOptions = {
    translation,
    createReader: (onEvent) =>
      new StreamBodyReader({
        onEvent,
        onJson(chunk) {
          json ??= new MislabelledJson(dialect, response, { redact, logError: readerLogger });
          json.push(chunk);
        },
      }),
    onEvent(event) {
      hasEvents = true;
      reader.read(event);
      if (awaitsImage && (readResult(reader, readerLogger)?.images ?? 0) > 0) {
        awaitsImage = false;
        observer?.firstImage();
      }
    },
    isLast: () => reader.isOver === true || json?.isComplete === true,
    async onEnd(end) {
      delivery?.cancel(end.reason === "failed" ? end.error : undefined);
      const ended = json?.end(end) ?? endEvents(reader, end, { logError: readerLogger, hasEvents });
      if (ended.failure !== undefined) success.fail(ended.failure);
      const error = findError(end, ended, { redact, upstreamRequestId });
      if (error !== undefined) report.failed(error);
      const { images, made, usage, hasUnknownTokens, isConclusive } = ended;
      const { state } = await commit.run(sentTo, {
        status: 200,
        errorCode: error && shownCodeOf(error),
        images,
        made,
        usage,
        hasUnknownTokens,
        isConclusive,
        upstreamRequestId: upstreamRequestId ?? ended.requestId,
      });
      // The client has all images. The end is held back.
      if (error === undefined || reader.isOver === true) checkCharged(state);
    },
    // Not tracked here: `run` waits until the hold has ended.
    onAbandoned: (stream) => void backgroundReads.start(stream),
    renderFailure: (error) => renderErrorEvent(toStreamError(error, upstreamRequestId), redact),
    heartbeatMs,
    cancel: () => response.cancel(),
  };
  return renderStream(relayBody(response.body, options), { id, ignored, replacedSize });
}

interface TranslationContext {
  readonly request: Pick<ImageRequest, "operation" | "maxImages">;
  /** True if the client gets the provider's own events. */
  readonly isNative: boolean;
  readonly dialect: Dialect;
  /** Delivers the images. `undefined`: they are sent as they are. */
  readonly delivery: StagedDelivery | undefined;
  /** Seconds since 1970. */
  readonly now: number;
  /** Redacts keys and the provider's name of the model. */
  readonly redact: Redaction;
  readonly upstreamRequestId: string | undefined;
  readonly logError: LogError;
}

/** Returns `undefined` if the stream is relayed as it is. */
function createTranslation(
  streamReader: StreamReader,
  { request, isNative, dialect, delivery, now, ...context }: TranslationContext,
): StreamTranslation | undefined {
  const { operation, maxImages } = request;
  const { streamShape: shape } = dialect;
  if (shape === undefined) return undefined;
  if (!isNative) {
    const events = new OpenAiEvents(operation, now);
    return new OpenAiTranslation({
      shape,
      events,
      maxImages,
      delivery,
      reader: readForTranslation(streamReader, context),
    });
  }
  const { redact, upstreamRequestId } = context;
  return delivery?.translateEvents(shape, (error) =>
    renderErrorEvent(toStreamError(error, upstreamRequestId), redact),
  );
}

/** What the translation into OpenAI's events needs of the family's reader. */
function readForTranslation(
  reader: StreamReader,
  {
    redact,
    upstreamRequestId,
    logError,
  }: Pick<TranslationContext, "redact" | "upstreamRequestId" | "logError">,
): TranslationOptions["reader"] {
  const readEnd = (): StreamResult => readResult(reader, logError) ?? UNREAD;
  return {
    isOver: () => reader.isOver === true,
    summary() {
      const { errors = [], usage, ...facts } = readEnd();
      return {
        // Without the provider's last event, the family counts what came. That is not the provider's report.
        usage: reader.isOver === true ? usage : undefined,
        errors: listErrors({ ...facts, errors }, []).map((error) => toShownError(error, redact)),
      };
    },
    noImageError(refusal) {
      if (refusal !== undefined) return toEnvelope(refusal, redact);
      const { errors = [], failure } = readEnd();
      const error = findNoImageError(0, {
        failure: failure && redactReason(failure, redact),
        errors: errors.map((reason) => redactReason(reason, redact)),
        upstreamRequestId,
      });
      return toEnvelope(error ?? unreadableError(upstreamRequestId), redact);
    },
    toEnvelope: (error) => toEnvelope(toStreamError(error, upstreamRequestId), redact),
  };
}

/** An entry of `extra.errors`. */
function toShownError({ index, code, message }: ResultError, redact: Redaction): ResultError {
  return { index, ...redactReason({ code, message }, redact) };
}

/** What a stream gave until it ended. */
interface EndedStream
  extends Pick<StreamResult, "images" | "made" | "usage" | "hasUnknownTokens" | "errors"> {
  /** What counts in the channel's health. */
  readonly failure?: AttemptFailure | undefined;
  /** The error that the provider reported. */
  readonly reported?: StreamResult["failure"];
  /** Why the body cannot be used although it ended. */
  readonly flaw?: unknown;
  /** True if the body reports all that was made. */
  readonly isConclusive: boolean;
  /** The provider's request id in the body. */
  readonly requestId?: string | undefined;
}

type LogError = (error: unknown) => void;

/** An error of the family's reader costs neither the stream nor its record, so it is only logged. */
function createReaderLogger(logger: Logger, requestId: string): LogError {
  return (error) => logger.error({ requestId, err: error }, "The reader of a stream failed.");
}

/** Returns `undefined` if the family has no reader, or if it throws. */
function openReader(dialect: Dialect, { request }: Call, logError: LogError): StreamReader | undefined {
  try {
    return dialect.readStream?.(request);
  } catch (error) {
    logError(error);
    return undefined;
  }
}

function endEvents(
  reader: StreamReader,
  end: RelayEnd,
  { logError, hasEvents }: { readonly logError: LogError; readonly hasEvents: boolean },
): EndedStream {
  if (end.readError !== undefined) logError(end.readError);
  const result = readResult(reader, logError);
  const { images, failure: reported, ...rest } = result ?? UNREAD;
  const isRead = result !== undefined && end.readError === undefined;
  return {
    ...rest,
    images,
    reported,
    failure: findStreamFailure(images, reported, end),
    // A stream without any event does not report what was made, even if its connection was closed in order.
    isConclusive: isRead && hasEvents && (end.reason === "complete" || reported !== undefined),
  };
}

const UNREAD: StreamResult = {
  images: 0,
  usage: undefined,
  failure: { code: "internal_error", message: "The stream could not be read." },
};

/** Returns `undefined` if the reader throws or returns something else. Families may come from outside. */
function readResult(reader: StreamReader, logError: LogError): StreamResult | undefined {
  try {
    const result: unknown = reader.result();
    if (isStreamResult(result)) return result;
    throw new TypeError("A family's reader gave no result of its stream.");
  } catch (error) {
    logError(error);
    return undefined;
  }
}

function isStreamResult(result: unknown): result is StreamResult {
  return isJsonObject(result) && typeof result["images"] === "number";
}

/** At most one failure counts. What the provider says says more than a connection that breaks after it. */
function findStreamFailure(
  images: number,
  reported: StreamResult["failure"],
  end: RelayEnd,
): AttemptFailure | undefined {
  if (images === 0 && reported?.kind !== undefined) return { ...reported, kind: reported.kind };
  return end.reason === "failed" ? { kind: reasonOf(end.error), cause: end.error } : undefined;
}

/** Reads a body that is JSON although it is labelled as events. It is relayed unchanged, and charged like JSON. */
class MislabelledJson {
  readonly #dialect: Dialect;
  readonly #head: Pick<TransportResponse, "status" | "headers">;
  readonly #logError: LogError;
  /** `undefined` if the family can only read a whole response. */
  readonly #reader: JsonReader | undefined;
  #flaw: unknown;
  /** The member of the body that reports a failure. */
  #failureMember: unknown;

  constructor(
    dialect: Dialect,
    response: TransportResponse,
    { redact, logError }: { readonly redact: Redaction; readonly logError: LogError },
  ) {
    this.#dialect = dialect;
    this.#head = { status: response.status, headers: response.headers };
    this.#logError = logError;
    const { responseShape } = dialect;
    if (responseShape === undefined) return;
    const shape: ResponseShape = {
      ...responseShape,
      readFailure: (member) => {
        this.#failureMember = member;
        return responseShape.readFailure(member);
      },
    };
    const options = { response, now: 0, isNative: true, opensImages: false, convertsLinks: false, redact };
    this.#reader = new ScanningReader(shape, "", options);
  }

  get isComplete(): boolean {
    return this.#reader?.isSentWhole === true;
  }

  push(chunk: Uint8Array): void {
    if (this.#flaw !== undefined) return;
    try {
      this.#reader?.push(chunk);
    } catch (error) {
      this.#flaw = error;
    }
  }

  end(end: RelayEnd): EndedStream {
    const { images = 0, made, usage, errors = [], failure, upstreamRequestId } = this.#reader?.facts ?? {};
    const flaw = this.#findFlaw(end);
    const isBroken = flaw !== undefined;
    return {
      images: isBroken ? 0 : images,
      made,
      usage: usage ?? (end.reason === "abandoned" ? { generated_images: images } : undefined),
      errors,
      reported: failure,
      flaw,
      failure: isBroken ? { kind: reasonOf(flaw), cause: flaw } : this.#readRefusal(),
      isConclusive: end.reason === "complete" && !isBroken,
      requestId: upstreamRequestId,
    };
  }

  /** Why the body cannot be used. The rest of an abandoned body may be missing. */
  #findFlaw(end: RelayEnd): unknown {
    if (end.reason === "failed") return end.error;
    if (end.reason === "abandoned") return undefined;
    if (this.#flaw !== undefined) return this.#flaw;
    try {
      this.#reader?.complete();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** The refusal in a body that holds only an error. */
  #readRefusal(): AttemptFailure | undefined {
    const facts = this.#reader?.facts;
    const shape = this.#dialect.responseShape;
    if (facts?.failure === undefined || shape === undefined) return undefined;
    if (facts.images > 0 || isAnythingReported(facts.usage)) return undefined;
    try {
      return this.#dialect.toFailure({ ...this.#head, body: { [shape.failure]: this.#failureMember } });
    } catch (error) {
      this.#logError(error);
      return undefined;
    }
  }
}

function unreadableError(upstreamRequestId: string | undefined): GatewayError {
  const message = "The provider responded with a stream, which this model does not offer.";
  return new GatewayError("upstream_invalid_response", message, { upstreamRequestId, shouldRetry: false });
}

function renderErrorEvent(error: GatewayError, redact: Redaction): string {
  return `event: error\ndata: ${JSON.stringify(toEnvelope(error, redact))}\n\n`;
}

interface StreamFailure {
  readonly redact: Redaction;
  readonly upstreamRequestId: string | undefined;
}

/** The failure for the record and the operator. A stream that ended without an image is a failure too. */
function findError(
  end: RelayEnd,
  { images, reported, errors: [imageFailure] = [], flaw }: EndedStream,
  { redact, upstreamRequestId }: StreamFailure,
): GatewayError | undefined {
  if (reported !== undefined) {
    const { code, message } = redactReason(reported, redact);
    return new GatewayError("upstream_error", message, { upstreamCode: code, upstreamRequestId });
  }
  if (isGatewayError(flaw)) return flaw;
  if (flaw !== undefined) return toStreamError(flaw, upstreamRequestId);
  switch (end.reason) {
    case "failed":
      return toStreamError(end.error, undefined);
    case "complete": {
      const reason = imageFailure && redactReason(imageFailure, redact);
      const errors = reason ? [reason] : [];
      return findNoImageError(images, { failure: undefined, errors, upstreamRequestId });
    }
    case "abandoned":
      return leftError();
  }
}

function toStreamError(cause: unknown, requestId: string | undefined): GatewayError {
  return toUpstreamError({ kind: reasonOf(cause), cause, requestId });
}
