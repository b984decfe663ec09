import type { Commit } from "../billing/commit.js";
import type { GatewayError } from "../errors.js";
import { createReasonRedaction, type ParsedResponse } from "../upstream/attempt.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { findNoImageError } from "../upstream/failure.js";
import { readRequestId } from "../upstream/read.js";
import { MAX_OUTLINE_BYTES } from "../util/response-bounds.js";
import type { Call, CallParts } from "./call.js";
import { ImageBudget } from "./image-budget.js";
import { PlainDelivery, stageImages, toDeliveryOptions } from "./image-delivery.js";
import { EventLayout, JsonLayout } from "./image-parts.js";
import type { ImageDelivery, ImageDeliveryOptions, StagedDelivery } from "./image-stage.js";
import { type JsonReader, ScanningReader, WholeReader } from "./json-reader.js";
import { OpenAiEvents } from "./openai-events.js";
import type { PieceOutput } from "./pieces.js";

/** How a response is read. */
export interface ReadingOptions {
  /** Writes the response as the events of OpenAI's images API. Default: it is JSON. */
  readonly events?: OpenAiEvents | undefined;
  /** True if every image is handed over, although it passes through no stage. Default false. */
  readonly opensImages?: boolean;
}

/** The JSON response of one upstream call, while it is read: of the only call of a request, or of one of several. */
export class Reading {
  readonly parts: CallParts;
  readonly call: Call;
  readonly success: UpstreamSuccess;
  /** The response, if it is short and was parsed before. Then nothing has to be pushed to the reader. */
  readonly parsed: ParsedResponse | undefined;
  readonly reader: JsonReader;
  readonly isNative: boolean;
  /** Writes the response as the events of OpenAI's images API. `undefined`: it is JSON. */
  readonly events: OpenAiEvents | undefined;
  /** Delivers the images if they pass through a stage. */
  readonly staged: StagedDelivery | undefined;
  #plain: ImageDelivery | undefined;
  #output: PieceOutput | undefined;

  constructor(
    parts: CallParts,
    call: Call,
    success: UpstreamSuccess,
    { events, opensImages = false }: ReadingOptions = {},
  ) {
    const { request } = call;
    const { parsed } = success;
    this.parts = parts;
    this.call = call;
    this.success = success;
    this.parsed = parsed !== undefined && parsed.text.length <= parts.maxResponseBytes ? parsed : undefined;
    this.isNative = request.operation === "native";
    this.events = events;
    const { images, requireMarks } = parts;
    if (images !== undefined || requireMarks !== undefined) {
      this.staged = stageImages(parts, call, this.#toOptions());
    }
    this.reader = this.#openReader(opensImages || this.staged !== undefined);
  }

  /** Delivers the images. Created when it is needed: most small responses are sent as they are. */
  get delivery(): ImageDelivery {
    return this.staged ?? (this.#plain ??= new PlainDelivery(this.#toOptions()));
  }

  /** How the pieces of the response are written. */
  get output(): PieceOutput {
    const { parts, call, events, delivery } = this;
    this.#output ??= {
      delivery,
      budget: new ImageBudget(Math.max(parts.maxHeldImageBytes, call.keptBytes)),
      layout: events === undefined ? new JsonLayout() : new EventLayout(events, () => true),
    };
    return this.#output;
  }

  /** The provider's id of the request, as far as it is known. */
  get requestId(): string | undefined {
    return readRequestId(this.success.response) ?? this.reader.facts.upstreamRequestId;
  }

  /** The error of a complete response that has no image or reports a failure. */
  findRefusal(): GatewayError | undefined {
    const { images, failure, errors } = this.reader.facts;
    // Nearly every response has an image.
    if (images > 0 && failure === undefined) return undefined;
    return findNoImageError(images, { failure, errors, upstreamRequestId: this.requestId });
  }

  #toOptions(): ImageDeliveryOptions {
    const { parts, call, success, isNative } = this;
    return toDeliveryOptions(parts, call, success, isNative);
  }

  #openReader(opensImages: boolean): JsonReader {
    const { parts, call, success, isNative, parsed } = this;
    const { request, model } = call;
    const { redact, now, maxResponseBytes } = parts;
    const { dialect } = success.channel;
    const mayHaveBase64 = dialect.delivers.includes("b64_json");
    const options = {
      response: success.response,
      maxBytes: mayHaveBase64 ? maxResponseBytes : Math.min(maxResponseBytes, MAX_OUTLINE_BYTES),
      now: Math.floor(now() / 1000),
      isNative,
      events: this.events,
      opensImages,
      early: this.staged?.early,
      convertsLinks: !isNative && request.responseFormat === "b64_json",
      redact: createReasonRedaction(redact, success.sentTo.upstreamModel, request),
    };
    const shape = dialect.responseShape;
    return shape === undefined || parsed !== undefined
      ? new WholeReader(dialect, request, options, parsed)
      : new ScanningReader(shape, model.name, options);
  }
}

/** A longer response is relayed as it arrives, unless it is stored for a repeat of the request. */
const MAX_HELD_BYTES = 64 * 1024;

/** The response of the only call of a request, which is charged when it has been read. */
export class OnlyReading extends Reading {
  readonly commit: Commit;

  constructor(parts: CallParts, call: Call, commit: Commit, success: UpstreamSuccess) {
    const { operation, stream, streamFormat } = call.request;
    const isEvents = stream && streamFormat === "openai";
    super(parts, call, success, {
      events: isEvents ? new OpenAiEvents(operation, Math.floor(parts.now() / 1000)) : undefined,
    });
    this.commit = commit;
  }

  /**
   * What of the response is held, in bytes. A family that can only read whole responses needs all of it. So does a stage that
   * may refuse every image of JSON: the response is then an error.
   */
  get maxHeldBytes(): number {
    const { call, events, success, staged } = this;
    const mayBeError = staged?.holdsImages === true && events === undefined;
    if (success.channel.dialect.responseShape === undefined || mayBeError) return Infinity;
    return Math.max(MAX_HELD_BYTES, events === undefined ? call.keptBytes : 0);
  }
}
