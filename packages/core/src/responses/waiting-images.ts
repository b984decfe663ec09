import type { ResultError } from "../types.js";
import type { ByteCount } from "../util/held-bytes.js";
import { toBytes } from "../util/utf8.js";
import type { ImageBudget } from "./image-budget.js";
import { type ImagePart, JsonLayout, type WholeImage } from "./image-parts.js";
import type { EarlyPart, ImageDelivery, LaterImage, LaterPiece, StagedDelivery } from "./image-stage.js";
import { deliverSmall, streamLink } from "./linked-images.js";
import { closeLarge, isPlain } from "./pieces.js";

/** An image that waits: its JSON, or an image that is read when it is sent. */
type WaitingImage = readonly LaterPiece[];

/** What {@link WaitingImages} needs. */
export interface WaitingImagesOptions {
  readonly delivery: ImageDelivery;
  /** The same delivery, if the images pass through a stage. */
  readonly staged: StagedDelivery | undefined;
  /** What all calls of the request may hold of images that can be read again. */
  readonly budget: ImageBudget;
  /** Counts the base64 that is held. */
  readonly bytes: ByteCount;
}

/**
 * The images of one call, which wait until all calls of the request have ended. A stage gets them while they arrive. An image
 * that can be read again is not held, unless it fits into the budget: a link, and base64 that the stage can read again. Other
 * base64 is held in the chunks in which it arrived.
 */
export class WaitingImages {
  readonly #options: WaitingImagesOptions;
  /** In order. Those with a link or short base64 are delivered when all of them have arrived. */
  readonly #arrived: (WaitingImage | WholeImage)[] = [];
  /** In order, when all of them have been delivered. */
  #images: readonly WaitingImage[] = [];
  /** True if images are stored while they are sent. */
  storesWhenSent = false;
  /** The image that is arriving. */
  #pieces: LaterPiece[] = [];
  #layout = new JsonLayout();
  #countedBytes = 0;

  constructor(options: WaitingImagesOptions) {
    this.#options = options;
  }

  /** The entries of `extra.errors` so far. More may come while the images are sent. */
  get errors(): readonly ResultError[] {
    return this.#options.delivery.errors.list;
  }

  /** About the bytes of the JSON of all images. Infinity if one of them is read when it is sent. */
  get byteLength(): number {
    return this.#images.reduce((sum, image) => sum + measure(image), 0);
  }

  /** Call it with the parts in order, and wait for each. */
  async add(part: ImagePart | EarlyPart): Promise<void> {
    if (part.kind === "image") {
      this.#count(part.image.b64_json?.length ?? 0);
      this.#arrived.push(part);
      return;
    }
    const { delivery, staged, budget } = this.#options;
    if (part.kind === "begin" || part.kind === "early") this.#layout = new JsonLayout();
    const pieces =
      part.kind === "early"
        ? await part.image.write(part, this.#layout, budget)
        : await (staged?.writeLater(part, this.#layout, budget) ?? delivery.write(part, this.#layout));
    for (const piece of pieces) {
      if (isPlain(piece)) this.#count(piece.length);
      this.#pieces.push(piece);
    }
    const hasEnded = part.kind === "end" || part.kind === "early";
    if (!hasEnded || this.#pieces.length === 0) return;
    this.#arrived.push(this.#pieces);
    this.#pieces = [];
  }

  /** Call it when all images have arrived. One that the operator refused is left out. */
  async complete(): Promise<void> {
    const wholes = this.#arrived.filter(isWhole);
    const delivered = (await this.#deliver(wholes)).values();
    this.#images = this.#arrived
      .splice(0)
      .map((image) => (isWhole(image) ? delivered.next().value : image))
      .filter((image) => image !== undefined);
  }

  /** Forgets the images, because the response broke off. */
  discard(cause: unknown): void {
    const { staged, bytes } = this.#options;
    staged?.cancel(cause);
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
    for (const piece of image) {
      if (isPlain(piece)) yield toBytes(piece);
      else for await (const part of piece.send(LAYOUT, signal)) yield toBytes(part);
    }
  }

  async #deliver(wholes: readonly WholeImage[]): Promise<readonly (WaitingImage | undefined)[]> {
    const { delivery, budget } = this.#options;
    // Other calls may take minutes, so no download stays open until then.
    const delivered = await deliverSmall(delivery, wholes, { budget });
    return Promise.all(
      delivered.map(async (each): Promise<WaitingImage | undefined> => {
        const { image, large } = await closeLarge(each);
        return large === undefined ? image && [JSON.stringify(image)] : [this.#readLater(large)];
      }),
    );
  }

  #readLater(link: WholeImage): LaterImage {
    const { delivery, staged } = this.#options;
    if (staged !== undefined) this.storesWhenSent = true;
    // A store gets all of its images, although the client has disconnected.
    const send: LaterImage["send"] = (layout, signal) =>
      streamLink({ delivery, layout, signal: staged ? undefined : signal }, link);
    return { kind: "later", send };
  }

  #count(bytes: number): void {
    this.#options.bytes.addAnyway(bytes);
    this.#countedBytes += bytes;
  }
}

/** For images whose separator has been written. */
const LAYOUT = new JsonLayout();

function isWhole(image: WaitingImage | WholeImage): image is WholeImage {
  return "kind" in image;
}

function measure(image: WaitingImage): number {
  return image.reduce((sum, piece) => sum + (isPlain(piece) ? piece.length : Infinity), 0);
}
