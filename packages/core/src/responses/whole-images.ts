import { Buffer } from "node:buffer";
import type { ResultImage } from "../types.js";
import { DownloadError, openImage } from "../upstream/download.js";
import { settlesWithin } from "../util/async.js";
import { type ImageStore, LazyUpload, toBase64, toContentType } from "./arriving-image.js";
import {
  type Delivered,
  type ImageDeliveryOptions,
  streamsLink,
  tellImage,
  wantsBase64,
} from "./delivery-options.js";
import { type ImageBudget, type ReadImage, readWithinBudget } from "./image-budget.js";
import type { ImageErrors } from "./image-errors.js";
import type { WholeImage } from "./image-parts.js";
import { isLink } from "./rewrite.js";

/** An image that was delivered, or a link whose image does not fit into the budget. */
export type SmallOrLarge =
  | { readonly image: ResultImage; readonly large?: undefined }
  | { readonly image?: undefined; readonly large: WholeImage };

/** At most this many links of one response are downloaded; further images stay links. Layers may have more images. */
const MAX_IMAGES = 15;
/** Each has up to 64 MiB. */
const MAX_AT_ONCE = 4;

/**
 * Delivers images that are links, or whose bytes are in memory: stores them, runs the operator's `afterImage`, and gives them
 * the form that the client gets.
 */
export class WholeImages {
  readonly #options: ImageDeliveryOptions;
  readonly #errors: ImageErrors;

  constructor(options: ImageDeliveryOptions, errors: ImageErrors) {
    this.#options = options;
    this.#errors = errors;
  }

  /** Delivers an image that is a link or has short base64. `undefined` if it is not delivered. */
  async deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const delivered = await this.#convert(image, index);
    if (delivered !== undefined) tellImage(this.#options, delivered);
    return delivered;
  }

  /** As {@link deliver}, for several images, a few at a time. */
  async deliverAll(
    images: readonly { readonly image: ResultImage; readonly index: number }[],
  ): Promise<readonly (ResultImage | undefined)[]> {
    return inGroups(images, ({ image, index }) => this.deliver(image, index));
  }

  /**
   * As {@link deliverAll}, but images that are links are delivered only if they fit into the budget. Call it only if base64 is
   * forwarded: then no image is refused.
   *
   * @param signal ends the downloads when nothing is sent any more
   */
  async deliverSmall(
    images: readonly WholeImage[],
    budget: ImageBudget,
    signal?: AbortSignal,
  ): Promise<readonly SmallOrLarge[]> {
    return inGroups(images, (image) => this.#deliverIfSmall(image, budget, signal));
  }

  /** Delivers an image whose bytes have all arrived. `undefined` if the operator refused it. */
  async deliverBytes(
    original: Uint8Array<ArrayBuffer>,
    image: ResultImage,
    index: number,
  ): Promise<Delivered | undefined> {
    const bytes = await this.#runAfterImage(original, { size: image["size"], index });
    if (bytes === undefined) return undefined;
    const link = await this.#put(bytes, index);
    if (wantsBase64(this.#options, image)) {
      return { b64_json: toBase64(bytes), ...(link !== undefined && { stored_url: link }) };
    }
    if (link !== undefined) return { url: link };
    // The provider's link leads to the image as it was made.
    if (bytes === original && isLink(image)) return { url: image.url };
    if (this.#options.format !== "provider") return { b64_json: toBase64(bytes) };
    return { url: `data:${toContentType(bytes)};base64,${toBase64(bytes)}` };
  }

  async #deliverIfSmall(
    linked: WholeImage,
    budget: ImageBudget,
    signal: AbortSignal | undefined,
  ): Promise<SmallOrLarge> {
    const { image, index } = linked;
    if (!streamsLink(this.#options, image)) return { image: (await this.deliver(image, index)) ?? image };
    const large = { ...linked, isBegun: true };
    if (budget.isExceeded) return { large };
    let read: ReadImage;
    try {
      const chunks = await openLink(this.#options, linked, signal);
      read = await readWithinBudget(chunks, budget, this.#options.bytes);
    } catch (error) {
      this.#errors.add(error, index);
      tellImage(this.#options, image);
      return { image };
    }
    if (read.arriving !== undefined) return { large: { ...large, arriving: read.arriving } };
    const { url: _url, ...rest } = image;
    const delivered = { ...rest, ...(await this.deliverBytes(read.bytes, image, index)) };
    tellImage(this.#options, delivered);
    return { image: delivered };
  }

  /** Stores an image and gives it the form that the client gets. */
  async #convert(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const { afterImage, store } = this.#options;
    const isBase64 = wantsBase64(this.#options, image);
    // Nothing has to be done.
    if (afterImage === undefined && store === undefined && !(isBase64 && isLink(image))) return image;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      if (!isBase64 && afterImage === undefined && store !== undefined && isLink(image)) {
        return { ...image, url: await this.#copyLink(image.url, store) };
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
  async #copyLink(link: string, store: ImageStore): Promise<string> {
    const { transport, source } = this.#options;
    const upload = new LazyUpload(store);
    try {
      for await (const chunk of await openImage(transport, link, source)) await upload.write(chunk);
    } catch (error) {
      upload.cancel(error);
      throw error;
    }
    return (await upload.end()).url;
  }

  async #readBytes(image: ResultImage, index: number): Promise<Uint8Array<ArrayBuffer>> {
    const { b64_json: base64 } = image;
    if (typeof base64 === "string" && base64 !== "") return new Uint8Array(Buffer.from(base64, "base64"));
    const { bytes } = this.#options;
    const chunks: Uint8Array[] = [];
    for await (const chunk of await openLink(this.#options, { image, index })) {
      bytes.addAnyway(chunk.length);
      chunks.push(chunk);
    }
    return new Uint8Array(Buffer.concat(chunks));
  }

  /** The bytes to deliver. `undefined` if the operator refused the image, or if the operator's function failed. */
  async #runAfterImage(
    bytes: Uint8Array<ArrayBuffer>,
    { size, index }: { readonly size: unknown; readonly index: number },
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { afterImage } = this.#options;
    if (afterImage === undefined) return bytes;
    try {
      const image = {
        bytes: () => Promise.resolve(bytes),
        contentType: toContentType(bytes),
        size: typeof size === "string" ? size : undefined,
      };
      const running = Promise.resolve(
        afterImage.run(image, { ...afterImage.call, index: afterImage.firstIndex + index }),
      );
      if (!(await settlesWithin(running, afterImage.timeoutMs))) throw new Error("It took too long.");
      return checkChanged(await running, bytes);
    } catch (error) {
      return this.#errors.refuseByOperator(error, index);
    }
  }

  /** Stores an image. `undefined` if it was not stored. */
  async #put(bytes: Uint8Array, index: number): Promise<string | undefined> {
    const { store } = this.#options;
    if (store === undefined) return undefined;
    const upload = new LazyUpload(store, bytes.length);
    await upload.write(bytes);
    return endUpload(upload, index, this.#errors);
  }
}

/**
 * Begins the download of an image that is a link.
 *
 * @throws DownloadError
 */
export async function openLink(
  { transport, source }: ImageDeliveryOptions,
  { image, index }: Pick<WholeImage, "image" | "index">,
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if (index >= MAX_IMAGES) throw new DownloadError(`At most ${MAX_IMAGES} images are downloaded.`);
  return openImage(transport, image.url ?? "", source, signal);
}

/** Ends an upload, and returns the link of the store. `undefined` if the image was not stored. */
export async function endUpload(
  upload: LazyUpload,
  index: number,
  errors: ImageErrors,
): Promise<string | undefined> {
  try {
    return (await upload.end()).url;
  } catch (error) {
    errors.add(error, index);
    return undefined;
  }
}

/** Runs `work` for all items, a few at a time. */
async function inGroups<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += MAX_AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + MAX_AT_ONCE).map(work))));
  }
  return results;
}

/** @throws TypeError if the operator's function returned something else than an image, or passed the memory of it on */
function checkChanged(changed: unknown, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (changed === undefined && bytes.length > 0) return bytes;
  // Copied, because the function may use the memory again.
  if (changed instanceof Uint8Array && changed.length > 0) return new Uint8Array(changed);
  throw new TypeError("afterImage must return the bytes of an image, or nothing.");
}
