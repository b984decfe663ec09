import { GatewayError } from "../../errors.js";
import type { StreamShape } from "../../families/response-shape.js";
import { toEnvelope } from "../../responses/envelope.js";
import type { ImageBudget } from "../../responses/image-budget.js";
import { ImageErrors } from "../../responses/image-errors.js";
import { type ImageLayout, type ImagePart, writePart } from "../../responses/image-parts.js";
import type {
  EarlyImages,
  ImageDeliveryOptions,
  LaterPiece,
  Piece,
  PlainPiece,
  StagedDelivery,
} from "../../responses/image-stage.js";
import { tellImage } from "../../responses/linked-images.js";
import { isLink } from "../../responses/rewrite.js";
import type { StreamTranslation } from "../../responses/sse.js";
import type { ResultImage } from "../../types.js";
import type { Awaitable } from "../../util/async.js";
import { encodeText } from "../../util/utf8.js";
import { NativeStream, rewriteJson } from "../results/native-responses.js";
import { type AttemptMarks, createWithheldError } from "./call-marks.js";

/**
 * Delivers the images of one response that have a mark, and refuses the others: those that the gateway could not mark, and those that
 * would be delivered as the provider's link. It uses what the feature `results` has for a provider's own responses.
 */
export class RequiredDelivery implements StagedDelivery {
  readonly options: ImageDeliveryOptions;
  readonly errors: ImageErrors;
  readonly #marks: AttemptMarks;
  /** Stores the images. `undefined`: they are sent as they are. */
  readonly #inner: StagedDelivery | undefined;
  /** True once an image was delivered, or has begun. */
  hasDelivered = false;
  /** The number of images in base64 that passed. */
  #passed = 0;
  /** True if the image with long base64 that is arriving is not delivered. */
  #isRefused = false;

  constructor(options: ImageDeliveryOptions, marks: AttemptMarks, inner: StagedDelivery | undefined) {
    this.options = options;
    this.errors = inner?.errors ?? new ImageErrors();
    this.#marks = marks;
    this.#inner = inner;
    this.copyLink = inner?.copyLink?.bind(inner);
  }

  readonly copyLink: StagedDelivery["copyLink"];

  get holdsImages(): boolean {
    return this.#inner?.holdsImages ?? false;
  }

  get forwardsBase64(): boolean {
    return this.#inner?.forwardsBase64 ?? true;
  }

  get early(): EarlyImages | undefined {
    return this.#inner?.early;
  }

  async deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const delivered = await this.#deliver(image, index);
    this.hasDelivered ||= delivered !== undefined;
    return delivered;
  }

  async write(part: ImagePart, layout: ImageLayout): Promise<readonly PlainPiece[]> {
    if (this.#isRefusedPart(part)) return [];
    if (part.kind === "image") {
      const image = await this.deliver(part.image, part.index);
      return image === undefined ? [] : [layout.image(image, part.createdAt)];
    }
    if (this.#inner !== undefined) return this.#inner.write(part, layout);
    if (part.kind === "end") tellImage(this.options, part.members);
    return [writePart(part, layout)];
  }

  async writeLater(
    part: ImagePart,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    if (part.kind === "image" || this.#inner === undefined) return this.write(part, layout);
    return this.#isRefusedPart(part) ? [] : this.#inner.writeLater(part, layout, budget);
  }

  rewriteJson(pieces: readonly Piece[]): Promise<string> {
    return rewriteJson(this, pieces);
  }

  translateEvents(shape: StreamShape, renderFailure: (error: unknown) => string): StreamTranslation {
    return new RequiredStream(this, new NativeStream(this, shape, renderFailure));
  }

  keepLink(_image: ResultImage, error: unknown): undefined {
    this.errors.refuse(toRefusal(error));
  }

  cancelImage(cause: unknown): void {
    this.#inner?.cancelImage(cause);
  }

  cancel(cause: unknown): void {
    this.#inner?.cancel(cause);
  }

  async #deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const base64 = image.b64_json;
    if (typeof base64 === "string" && base64 !== "" && !this.#isMarked(base64)) {
      return this.#refuse(index, this.#marks.findWithheld(base64) ?? createWithheldError(undefined));
    }
    if (this.#inner === undefined) {
      if (isLink(image)) return this.#refuse(index, createWithheldError("link"));
      tellImage(this.options, image);
      return image;
    }
    const delivered = await this.#inner.deliver(image, index);
    // The store failed, or the download.
    const isProviders = delivered !== undefined && isLink(image) && delivered.url === image.url;
    return isProviders ? this.errors.refuse(toRefusal(createWithheldError("link"))) : delivered;
  }

  /** Whether an image in base64 is one of those that were marked. Others have a form in which the gateway finds no image. */
  #isMarked(base64: string): boolean {
    if (this.#marks.findWithheld(base64) !== undefined) return false;
    this.#passed++;
    return this.#passed <= this.#marks.marked;
  }

  #isRefusedPart(part: ImagePart): boolean {
    if (part.kind === "image") return false;
    if (part.kind === "begin") this.#isRefused = !this.#isMarked("");
    this.hasDelivered ||= !this.#isRefused;
    if (part.kind === "end" && this.#isRefused) this.#refuse(part.index, createWithheldError(undefined));
    return this.#isRefused;
  }

  #refuse(index: number, error: Error): undefined {
    this.errors.add(error, index);
    return this.errors.refuse(toRefusal(error));
  }
}

/** A provider's own events. The event of an image without a mark is left out; if no image is left, an error is the last event. */
class RequiredStream implements StreamTranslation {
  readonly #delivery: RequiredDelivery;
  readonly #events: StreamTranslation;

  constructor(delivery: RequiredDelivery, events: StreamTranslation) {
    this.#delivery = delivery;
    this.#events = events;
  }

  push(chunk: Uint8Array): Awaitable<readonly Uint8Array[]> {
    return this.#events.push(chunk);
  }

  checkEnd(): void {
    this.#events.checkEnd();
  }

  end(): readonly Uint8Array[] {
    const { errors, hasDelivered } = this.#delivery;
    const refusal = hasDelivered ? undefined : errors.findRefusal(1);
    const events = this.#events.end();
    if (refusal === undefined) return events;
    const data = JSON.stringify(toEnvelope(refusal, (text) => text));
    return [...events, encodeText(`event: error\ndata: ${data}\n\n`)];
  }

  fail(error: unknown): Uint8Array | undefined {
    return this.#events.fail(error);
  }

  beat(): readonly Uint8Array[] {
    return this.#events.beat();
  }
}

/** The error of a response without an image. */
function toRefusal(cause: unknown): GatewayError {
  const message =
    cause instanceof Error ? cause.message : "The image cannot be marked, so it is not delivered.";
  return new GatewayError("image_not_marked", message, { cause, shouldRetry: false });
}
