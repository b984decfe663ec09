import { Buffer } from "node:buffer";
import { toBase64 } from "../../images/base64-stream.js";
import type { ImageCopy, ImageDeliveryOptions } from "../../responses/image-stage.js";
import { openLink, openMarked, tellImage, toStoredUrl, wantsBase64 } from "../../responses/linked-images.js";
import { isLink } from "../../responses/rewrite.js";
import type { ResultImage } from "../../types.js";
import { settlesWithin } from "../../util/async.js";
import { joinChunks } from "../../util/join-chunks.js";
import type { AfterImage, FinishedImage } from "./after-image.js";
import { type ImageStore, ImageUpload, toContentType } from "./image-upload.js";
import type { StageErrors } from "./stage-errors.js";

/** What the delivery of images that are stored needs. */
export interface StoredOptions extends ImageDeliveryOptions {
  readonly store: ImageStore;
  /** The operator's function for each image. It gets the index of the image among those of the response. */
  readonly afterImage: ((image: FinishedImage, index: number) => ReturnType<AfterImage>) | undefined;
}

/**
 * Delivers images that are links, or whose bytes are in memory: stores them, runs the operator's `afterImage`, and gives them
 * the form that the client gets.
 */
export class WholeImages {
  readonly #options: StoredOptions;
  readonly #errors: StageErrors;

  constructor(options: StoredOptions, errors: StageErrors) {
    this.#options = options;
    this.#errors = errors;
  }

  /** Delivers an image that is a link or has short base64. `undefined` if it is not delivered. */
  async deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const delivered = await this.#convert(image, index);
    if (delivered !== undefined) tellImage(this.#options, delivered);
    return delivered;
  }

  /** Delivers an image whose bytes have all arrived. `undefined` if the operator refused it. */
  async deliverBytes(
    original: Uint8Array<ArrayBuffer>,
    image: ResultImage,
    index: number,
  ): Promise<ResultImage | undefined> {
    const changed = await this.#runAfterImage(original, { size: image["size"], index });
    const bytes = changed && this.#markChanged(original, changed, index);
    if (bytes === undefined) return undefined;
    const link = await this.#put(bytes, index);
    if (wantsBase64(this.#options, image)) {
      return { b64_json: toBase64(bytes), ...toStoredUrl(link) };
    }
    if (link !== undefined) return { url: link };
    // The provider's link leads to the image as it was made.
    if (bytes === original && isLink(image)) return { url: image.url };
    if (this.#options.format !== "provider") return { b64_json: toBase64(bytes) };
    return { url: `data:${toContentType(bytes)};base64,${toBase64(bytes)}` };
  }

  /** Stores an image and gives it the form that the client gets. */
  async #convert(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const { afterImage } = this.#options;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      if (afterImage === undefined && isLink(image) && !wantsBase64(this.#options, image)) {
        return await this.#storeLink(image, image.url, index);
      }
      bytes = await this.#readBytes(image, index);
    } catch (error) {
      this.#errors.add(error, index);
      // The operator's function could not see the image.
      return afterImage === undefined ? image : this.#errors.refuseUnread(error);
    }
    const delivered = await this.deliverBytes(bytes, image, index);
    if (delivered === undefined) return undefined;
    const { url: _url, b64_json: _base64, ...rest } = image;
    return { ...rest, ...delivered };
  }

  /** Copies an image from the provider's link to the store, without holding it. */
  async #storeLink(image: ResultImage, link: string, index: number): Promise<ResultImage> {
    const copy = this.copyLink(index);
    try {
      for await (const chunk of await openMarked(this.#options, link)) await copy.write(chunk);
    } catch (error) {
      copy.cancel(error);
      throw error;
    }
    return { ...image, url: (await copy.end()) ?? link };
  }

  async #readBytes(image: ResultImage, index: number): Promise<Uint8Array<ArrayBuffer>> {
    const { b64_json: base64 } = image;
    if (typeof base64 === "string" && base64 !== "") return new Uint8Array(Buffer.from(base64, "base64"));
    const chunks: Uint8Array[] = [];
    for await (const chunk of await openLink(this.#options, { image, index })) {
      this.#options.bytes.addAnyway(chunk.length);
      chunks.push(chunk);
    }
    return joinChunks(chunks);
  }

  /** The bytes to deliver. `undefined` if the operator refused the image, or if the operator's function failed. */
  async #runAfterImage(
    bytes: Uint8Array<ArrayBuffer>,
    { size, index }: { readonly size: unknown; readonly index: number },
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { afterImage, store } = this.#options;
    if (afterImage === undefined) return bytes;
    try {
      const image = {
        bytes: () => Promise.resolve(bytes),
        contentType: toContentType(bytes),
        size: typeof size === "string" ? size : undefined,
      };
      const running = Promise.resolve(afterImage(image, index));
      if (!(await settlesWithin(running, store.timeoutMs))) throw new Error("It took too long.");
      return checkChanged(await running, bytes);
    } catch (error) {
      return this.#errors.refuseByOperator(error, index);
    }
  }

  /** Marks an image that the operator's function has changed. `undefined` if it cannot be marked, and must be. */
  #markChanged(
    original: Uint8Array<ArrayBuffer>,
    changed: Uint8Array<ArrayBuffer>,
    index: number,
  ): Uint8Array<ArrayBuffer> | undefined {
    const { marks } = this.#options;
    if (changed === original || marks === undefined) return changed;
    try {
      return marks.markAgain(changed);
    } catch (error) {
      this.#errors.add(error, index);
      return this.#errors.refuseUnread(error);
    }
  }

  /** Stores an image. `undefined` if it was not stored. */
  async #put(bytes: Uint8Array, index: number): Promise<string | undefined> {
    const copy = this.copyLink(index, bytes.length);
    await copy.write(bytes);
    return copy.end();
  }

  /** As `ImageDelivery.copyLink`: stores an image while it arrives. */
  copyLink(index: number, byteLength?: number): ImageCopy {
    const upload = new ImageUpload(this.#options.store, byteLength);
    return {
      write: (chunk) => upload.write(chunk),
      end: async () => {
        try {
          return (await upload.end()).url;
        } catch (error) {
          this.#errors.add(error, index);
          return undefined;
        }
      },
      cancel: (cause) => upload.cancel(cause),
    };
  }
}

/** @throws TypeError if the operator's function returned something else than an image, or passed the memory of it on */
function checkChanged(changed: unknown, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (changed === undefined && bytes.length > 0) return bytes;
  // Copied, because the function may use the memory again.
  if (changed instanceof Uint8Array && changed.length > 0) return new Uint8Array(changed);
  throw new TypeError("afterImage must return the bytes of an image, or nothing.");
}
