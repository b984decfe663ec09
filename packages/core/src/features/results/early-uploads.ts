import type { ImageBudget } from "../../responses/image-budget.js";
import type { ImageLayout } from "../../responses/image-parts.js";
import type { EarlyImage, EarlyImages, EarlyPart, LaterPiece } from "../../responses/image-stage.js";
import { tellImage, wantsBase64 } from "../../responses/linked-images.js";
import type { ByteCount } from "../../util/held-bytes.js";
import { type UploadEnd, UploadingImage } from "./arriving-image.js";
import { type Uploaded, type UploadedImages, withoutBase64 } from "./uploaded-images.js";

/**
 * More images of one response are held until its end. A response with more long strings has something else than images: Gemini
 * makes one image and up to two drafts.
 */
const MAX_UPLOADS = 8;

/**
 * The images of a JSON response that is read as a whole, and whose end says which strings are images. Each string that may be
 * one is sent to the store while it arrives. At the end, the store gets the end of the images, and an error for all other
 * strings, so that it keeps nothing of a draft or of a response that broke off.
 */
export class EarlyUploads implements EarlyImages {
  readonly #uploaded: UploadedImages;
  readonly #open = new Set<EarlyUpload>();
  #count = 0;

  /** @param uploaded writes the images when they have been stored */
  constructor(uploaded: UploadedImages) {
    this.#uploaded = uploaded;
  }

  begin(): EarlyImage | undefined {
    if (this.#count === MAX_UPLOADS) return undefined;
    this.#count++;
    const image = new EarlyUpload(this, this.#uploaded);
    this.#open.add(image);
    return image;
  }

  /** Gives the store what has arrived. The next chunk is read when the store has taken this one. */
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

/** One of {@link EarlyUploads}. */
class EarlyUpload implements EarlyImage {
  readonly #all: EarlyUploads;
  readonly #uploaded: UploadedImages;
  readonly #upload: UploadingImage;
  /** Counts what is held in case the store fails. */
  readonly #bytes: ByteCount;
  /** What has arrived since the last {@link drain}. */
  #arrived: Uint8Array[] = [];
  /** The base64 of an image that could not be stored, from its beginning. */
  #unstored: string[] = [];
  #unstoredLength = 0;
  #ending: Promise<UploadEnd> | undefined;
  #isStored = false;

  constructor(all: EarlyUploads, uploaded: UploadedImages) {
    const { store, bytes } = uploaded.options;
    this.#all = all;
    this.#uploaded = uploaded;
    this.#upload = new UploadingImage(store, bytes);
    this.#bytes = bytes;
  }

  /** The length of the base64 if it is in memory, 0 if the image is lost, and otherwise Infinity. Call it after {@link end}. */
  get byteLength(): number {
    if (this.#upload.isForwarded) return this.#unstoredLength;
    const { keptBytes } = this.#upload;
    return keptBytes === 0 && this.#isStored ? Infinity : Math.ceil(keptBytes / 3) * 4;
  }

  push(base64: Uint8Array): void {
    this.#arrived.push(base64);
  }

  /** Resolves when the store has taken what has arrived. Returns the number of its bytes. */
  async drain(): Promise<number> {
    let bytes = 0;
    for (const part of this.#arrived.splice(0)) {
      bytes += part.length;
      this.#keep(await this.#upload.push(part));
    }
    return bytes;
  }

  /** Ends the image, at the first call. Call it after the last {@link drain}. The base64 of the result is that of the whole image. */
  end(): Promise<UploadEnd> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async write(part: EarlyPart, layout: ImageLayout, budget: ImageBudget): Promise<readonly LaterPiece[]> {
    const { members, createdAt } = part;
    const write: Uploaded["write"] = (base64, rest) => [
      layout.begin({}, createdAt),
      '"',
      ...base64,
      '"',
      layout.end(rest, members),
    ];
    const { options } = this.#uploaded;
    try {
      await this.#all.endAll();
      const end = await this.end();
      if (end.link === undefined || wantsBase64(options, members)) {
        return this.#uploaded.write(end, { upload: this.#upload, part, write }, budget);
      }
      const linked = { ...withoutBase64(members), url: end.link.url };
      tellImage(options, linked);
      return [layout.image(linked, createdAt)];
    } finally {
      this.#release();
    }
  }

  /** Nothing of the image is held any more. */
  #release(): void {
    this.#upload.release();
    this.#bytes.remove(this.#unstoredLength);
    this.#unstored = [];
    this.#unstoredLength = 0;
  }

  /** The store must not keep the image, unless it is stored already. */
  cancel(cause: unknown): void {
    if (!this.#isStored) this.#upload.cancel(cause);
    this.#arrived = [];
    this.#release();
  }

  async #end(): Promise<UploadEnd> {
    await this.#upload.endBytes();
    const end = await this.#upload.end();
    if (end.link !== undefined) {
      this.#isStored = true;
      return end;
    }
    if (!this.#upload.isForwarded) return end;
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
