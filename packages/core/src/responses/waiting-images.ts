import type { ResultError, ResultImage } from "../types.js";
import type { ByteCount } from "../util/held-bytes.js";
import { toBytes } from "../util/utf8.js";
import type { EarlyPart } from "./early-images.js";
import type { ImageBudget } from "./image-budget.js";
import type { ImageDelivery } from "./image-delivery.js";
import { type ImagePart, JsonLayout, type WholeImage } from "./image-parts.js";
import { closeLarge } from "./pieces.js";
import type { StoredImagePiece } from "./streamed-images.js";

/** An image that waits: its JSON, or an image that is read when it is sent. */
type WaitingImage =
  | { readonly kind: "json"; readonly pieces: readonly (string | Uint8Array)[] }
  | { readonly kind: "link"; readonly link: WholeImage }
  | StoredImagePiece;

/** What {@link WaitingImages} needs. */
export interface WaitingImagesOptions {
  readonly delivery: ImageDelivery;
  /** What all calls of the request may hold of images that can be read again. */
  readonly budget: ImageBudget;
  /** Counts the base64 that is held. */
  readonly bytes: ByteCount;
}

/**
 * The images of one call, which wait until all calls of the request have ended. They are stored while they arrive. An image
 * that can be read again is not held, unless it fits into the budget: a link, and base64 in a store that can read its
 * images. Other base64 is held in the chunks in which it arrived.
 */
export class WaitingImages {
  readonly #options: WaitingImagesOptions;
  /** In order. Those with a link or short base64 are delivered when all of them have arrived. */
  readonly #arrived: (WaitingImage | WholeImage)[] = [];
  /** In order, when all of them have been delivered. */
  #images: readonly WaitingImage[] = [];
  /** The JSON of the image that is arriving. */
  #pieces: (string | Uint8Array)[] = [];
  #layout = new JsonLayout();
  #countedBytes = 0;

  constructor(options: WaitingImagesOptions) {
    this.#options = options;
  }

  /** The entries of `extra.errors` so far. More may come while the images are sent. */
  get errors(): readonly ResultError[] {
    return this.#options.delivery.errors;
  }

  /** About the bytes of the JSON of all images. Infinity if one of them is read when it is sent. */
  get byteLength(): number {
    return this.#images.reduce((sum, image) => sum + measure(image), 0);
  }

  /** True if images are stored while they are sent. */
  get storesWhenSent(): boolean {
    return this.#options.delivery.opensImages && this.#images.some(({ kind }) => kind === "link");
  }

  /** Call it with the parts in order, and wait for each. */
  async add(part: ImagePart | EarlyPart): Promise<void> {
    if (part.kind === "image") {
      this.#count(part.image.b64_json?.length ?? 0);
      this.#arrived.push(part);
      return;
    }
    const { delivery, budget } = this.#options;
    if (part.kind === "begin" || part.kind === "early") this.#layout = new JsonLayout();
    const pieces =
      part.kind === "early"
        ? await delivery.writeEarly(part, this.#layout, budget)
        : await delivery.writeLater(part, this.#layout, budget);
    for (const piece of pieces) {
      if (typeof piece !== "string" && "kind" in piece) {
        this.#arrived.push(piece);
        continue;
      }
      this.#count(piece.length);
      this.#pieces.push(piece);
    }
    const isWhole = part.kind === "end" || part.kind === "early";
    if (!isWhole || this.#pieces.length === 0) return;
    this.#arrived.push({ kind: "json", pieces: this.#pieces });
    this.#pieces = [];
  }

  /** Call it when all images have arrived. One that the operator refused is left out. */
  async complete(): Promise<void> {
    const wholes = this.#arrived.filter((image) => image.kind === "image");
    const delivered = (await this.#deliver(wholes)).values();
    this.#images = this.#arrived
      .splice(0)
      .map((image) => (image.kind === "image" ? delivered.next().value : image))
      .filter((image) => image !== undefined);
  }

  /** Forgets the images, because the response broke off. */
  discard(cause: unknown): void {
    const { delivery, bytes } = this.#options;
    delivery.cancel(cause);
    bytes.remove(this.#countedBytes);
    this.#arrived.length = 0;
    this.#pieces = [];
  }

  /**
   * Returns the images as items of a JSON array. The images are read once, and are not held after that.
   *
   * @param layout the layout of the array
   * @param signal ends downloads when the client has disconnected
   * @throws DownloadError if an image breaks off, because a part of it has been sent
   */
  async *send(layout: JsonLayout, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const images = [...this.#images];
    this.#images = [];
    for (let image = images.shift(); image !== undefined; image = images.shift()) {
      yield toBytes(layout.beginLink());
      yield* this.#read(image, signal);
    }
  }

  async *#read(image: WaitingImage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (image.kind === "json") {
      yield* image.pieces.map(toBytes);
      return;
    }
    const { delivery } = this.#options;
    // A store gets all of its images, although the client has disconnected.
    const parts =
      image.kind === "link"
        ? delivery.streamed.streamLink(image.link, LAYOUT, delivery.opensImages ? undefined : signal)
        : delivery.streamed.streamStored(image, LAYOUT, signal);
    for await (const part of parts) yield toBytes(part);
  }

  async #deliver(wholes: readonly WholeImage[]): Promise<readonly (WaitingImage | undefined)[]> {
    const { delivery, budget } = this.#options;
    if (!wholes.some(({ image }) => delivery.streamsLink(image))) {
      return (await delivery.whole.deliverAll(wholes)).map((image) => image && toJson(image));
    }
    // Other calls may take minutes, so no download stays open until then.
    const delivered = await delivery.whole.deliverSmall(wholes, budget);
    return Promise.all(
      delivered.map(async (each): Promise<WaitingImage> => {
        const { image, large } = await closeLarge(each);
        return large === undefined ? toJson(image) : { kind: "link", link: large };
      }),
    );
  }

  #count(bytes: number): void {
    this.#options.bytes.addAnyway(bytes);
    this.#countedBytes += bytes;
  }
}

/** For images whose separator has been written. */
const LAYOUT = new JsonLayout();

function toJson(image: ResultImage): WaitingImage {
  return { kind: "json", pieces: [JSON.stringify(image)] };
}

function measure(image: WaitingImage): number {
  if (image.kind !== "json") return Infinity;
  return image.pieces.reduce((sum, { length }) => sum + length, 0);
}
