import type { GatewayError } from "../errors.js";
import type { StreamShape } from "../families/response-shape.js";
import { TransportError } from "../upstream/transport.js";
import type { Awaitable } from "../util/async.js";
import { toObject } from "../util/json.js";
import { encodeText, toBytes } from "../util/utf8.js";
import type { ErrorEnvelope } from "./envelope.js";
import { EventLayout, type ImagePart, writePart } from "./image-parts.js";
import type { PlainPiece, StagedDelivery } from "./image-stage.js";
import type { OpenAiEvents, StreamSummary } from "./openai-events.js";
import type { StreamTranslation } from "./sse.js";
import { StreamImages } from "./stream-images.js";

/** What the translation of a stream needs besides its bytes. */
export interface TranslationOptions {
  readonly shape: StreamShape;
  readonly events: OpenAiEvents;
  /** The largest number of images that the stream can have. */
  readonly maxImages: number;
  /** Delivers the images. `undefined`: they are sent as they are. */
  readonly delivery?: StagedDelivery | undefined;
  /** The reader of the provider's events. It gets each chunk first. */
  readonly reader: {
    /** True when the provider has reported the final usage. */
    readonly isOver: () => boolean;
    /** What is known of the stream so far. */
    readonly summary: () => StreamSummary;
    /** Why a stream that has ended has no image. `refusal`: its images were refused. */
    readonly noImageError: (refusal: GatewayError | undefined) => ErrorEnvelope;
    /** The error of a stream that broke off. */
    readonly toEnvelope: (error: unknown) => ErrorEnvelope;
  };
}

/**
 * Translates a provider's stream into one of OpenAI's images API, while it arrives. The base64 of an image is passed on in
 * the chunks in which it arrives, so an image of any size takes no memory. Events without an image are left out; what
 * they say is in the reader's summary.
 */
export class OpenAiTranslation implements StreamTranslation {
  readonly #options: TranslationOptions;
  readonly #images: StreamImages;
  readonly #layout: EventLayout;
  #hasEnded = false;

  constructor(options: TranslationOptions) {
    this.#options = options;
    this.#images = new StreamImages(options.shape);
    const { events, maxImages } = options;
    this.#layout = new EventLayout(
      events,
      () => events.images + this.#summarize().errors.length >= maxImages,
    );
  }

  push(chunk: Uint8Array): Awaitable<readonly Uint8Array[]> {
    if (this.#hasEnded) return [];
    const parts = this.#images.push(chunk);
    const { delivery } = this.#options;
    if (delivery === undefined) return this.#finish(parts.map((part) => writePart(part, this.#layout)));
    return this.#deliver(delivery, parts).then((pieces) => this.#finish(pieces));
  }

  async #deliver(delivery: StagedDelivery, parts: readonly ImagePart[]): Promise<readonly PlainPiece[]> {
    const pieces: PlainPiece[] = [];
    for (const part of parts) pieces.push(...(await delivery.write(part, this.#layout)));
    return pieces;
  }

  #finish(pieces: readonly (string | Uint8Array)[]): readonly Uint8Array[] {
    const sent = pieces.map(toBytes);
    return this.#isOver() ? [...sent, ...this.end()] : sent;
  }

  /**
   * The final usage ends the stream, even if the provider leaves its connection open. A report that comes before the
   * images that it counts does not, and neither does a report without a count.
   */
  #isOver(): boolean {
    const { reader } = this.#options;
    if (!reader.isOver() || this.#options.events.isInsideImage) return false;
    const { usage, errors } = this.#summarize();
    const { images } = this.#images;
    if (images + errors.length === 0) return false;
    const reported = toObject(usage)["generated_images"];
    return typeof reported === "number" && images >= reported;
  }

  /** What is known of the stream so far, with the images that could not be delivered. */
  #summarize(): StreamSummary {
    const { reader, delivery } = this.#options;
    const { usage, errors } = reader.summary();
    return { usage, errors: [...errors, ...(delivery?.errors.list ?? [])] };
  }

  checkEnd(): void {
    if (!this.#hasEnded && this.#options.events.isInsideImage) {
      throw new TransportError("broken", new Error("The stream ended inside an image."));
    }
  }

  end(): readonly Uint8Array[] {
    return this.#hasEnded ? [] : [encodeText(this.#writeEnd())];
  }

  fail(error: unknown): Uint8Array | undefined {
    const { events, reader } = this.#options;
    // Everything has come, so the failure changes nothing for the client.
    if (this.#hasEnded) return new Uint8Array(0);
    const isWhole = reader.isOver() && events.images > 0 && !events.isInsideImage;
    const end = isWhole ? this.#writeEnd() : events.fail(reader.toEnvelope(error));
    return end === undefined ? undefined : encodeText(end);
  }

  beat(): readonly Uint8Array[] {
    return this.#hasEnded ? [] : this.#options.events.beat();
  }

  #writeEnd(): string {
    this.#hasEnded = true;
    const { events, reader, delivery } = this.#options;
    if (events.images > 0) return events.end(this.#summarize());
    return events.fail(reader.noImageError(delivery?.errors.findRefusal(this.#images.images))) ?? "";
  }
}
