import type { ResultImage } from "../types.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { JsonObject } from "../util/json.js";
import { type ImageStore, type UploadEnd, UploadingImage } from "./arriving-image.js";

/**
 * More images of one response are held until its end. A response with more long strings has something else than images: Gemini
 * makes one image and up to two drafts.
 */
const MAX_UPLOADS = 8;

/** An image in base64 that was stored while it arrived. */
export interface EarlyPart {
  readonly kind: "early";
  readonly image: EarlyImage;
  /** All members; of the base64 only the beginning. */
  readonly members: ResultImage;
  /** The members without the base64. */
  readonly later: JsonObject;
  /** The index of the image in the provider's batch, from 0. */
  readonly index: number;
  readonly createdAt?: number | undefined;
}

/**
 * The images of a JSON response that is read as a whole, and whose end says which strings are images. Each string that may be
 * one is sent to the store while it arrives. At the end, the store gets the end of the images, and an error for all other
 * strings, so that it keeps nothing of a draft or of a response that broke off.
 */
export class EarlyImages {
  readonly #store: ImageStore;
  readonly #bytes: ByteCount;
  readonly #open = new Set<EarlyImage>();
  #count = 0;

  /** @param bytes counts what is held in case the store fails */
  constructor(store: ImageStore, bytes: ByteCount) {
    this.#store = store;
    this.#bytes = bytes;
  }

  /** Begins an image. `undefined` if the response has too many. */
  begin(): EarlyImage | undefined {
    if (this.#count === MAX_UPLOADS) return undefined;
    this.#count++;
    const image = new EarlyImage(this.#store, this.#bytes);
    this.#open.add(image);
    return image;
  }

  /**
   * Gives the store what has arrived. Call it after each chunk: the next one is read when the store has taken this one.
   * Returns the number of bytes of the response that are not held any more.
   */
  async drain(): Promise<number> {
    let bytes = 0;
    for (const image of this.#open) bytes += await image.drain();
    return bytes;
  }

  /** Call at the end of the response with its images. The others are drafts, and the store must not keep them. */
  choose(images: ReadonlySet<EarlyImage>): void {
    for (const image of this.#open) {
      if (images.has(image)) continue;
      image.cancel(new Error("It is not an image of the response."));
      this.#open.delete(image);
    }
  }

  /** Ends the images at the same time, so that the store does not wait for a slow client. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#open].map((image) => image.end()));
  }

  /** The response is not delivered. Without effect on images that are stored. */
  cancel(cause: unknown): void {
    for (const image of this.#open) image.cancel(cause);
    this.#open.clear();
  }
}

/** One of {@link EarlyImages}. */
export class EarlyImage {
  readonly upload: UploadingImage;
  readonly #bytes: ByteCount;
  /** What has arrived since the last {@link drain}. */
  #arrived: Uint8Array[] = [];
  /** The base64 of an image that could not be stored, from its beginning. */
  #unstored: string[] = [];
  #unstoredLength = 0;
  #ending: Promise<UploadEnd> | undefined;
  #isStored = false;

  constructor(store: ImageStore, bytes: ByteCount) {
    this.upload = new UploadingImage(store, bytes);
    this.#bytes = bytes;
  }

  /** The length of the base64 if it is in memory, 0 if the image is lost, and otherwise Infinity. Call it after {@link end}. */
  get byteLength(): number {
    if (this.upload.isForwarded) return this.#unstoredLength;
    const { keptBytes } = this.upload;
    return keptBytes === 0 && this.#isStored ? Infinity : Math.ceil(keptBytes / 3) * 4;
  }

  /** @param base64 a part of a JSON string, with its quotes. The memory is used until the next {@link drain}. */
  push(base64: Uint8Array): void {
    this.#arrived.push(base64);
  }

  /** Resolves when the store has taken what has arrived. Returns the number of its bytes. */
  async drain(): Promise<number> {
    let bytes = 0;
    for (const part of this.#arrived.splice(0)) {
      bytes += part.length;
      this.#keep(await this.upload.push(part));
    }
    return bytes;
  }

  /** Ends the image, at the first call. Call it after the last {@link drain}. The base64 of the result is that of the whole image. */
  end(): Promise<UploadEnd> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Nothing of the image is held any more. */
  release(): void {
    this.upload.release();
    this.#bytes.remove(this.#unstoredLength);
    this.#unstored = [];
    this.#unstoredLength = 0;
  }

  /** The store must not keep the image, unless it is stored already. */
  cancel(cause: unknown): void {
    if (!this.#isStored) this.upload.cancel(cause);
    this.#arrived = [];
    this.release();
  }

  async #end(): Promise<UploadEnd> {
    await this.upload.endBytes();
    const end = await this.upload.end();
    if (end.link !== undefined) {
      this.#isStored = true;
      return end;
    }
    if (!this.upload.isForwarded) return end;
    for (const base64 of end.base64 ?? []) this.#keep(base64);
    return { error: end.error, base64: this.#unstored };
  }

  #keep(base64: string): void {
    if (base64 === "") return;
    this.#bytes.addAnyway(base64.length);
    this.#unstoredLength += base64.length;
    this.#unstored.push(base64);
  }
}
