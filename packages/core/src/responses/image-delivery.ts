import { Buffer } from "node:buffer";
import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import { Base64Encoder } from "../images/base64-stream.js";
import type { Logger } from "../logger.js";
import type { AfterImage, AfterImageCall } from "../results/after-image.js";
import { StoreError } from "../results/image-upload.js";
import type { ResultError, ResultImage } from "../types.js";
import { DownloadError, openImage, type ResultSource } from "../upstream/download.js";
import type { Transport } from "../upstream/transport.js";
import { settlesWithin } from "../util/async.js";
import type { ByteCount } from "../util/held-bytes.js";
import { HeldImage, type ImageStore, LazyUpload, toContentType, UploadingImage } from "./arriving-image.js";
import type { Call, CallParts } from "./call.js";
import { type ImageLayout, type ImagePart, writePart } from "./image-parts.js";
import { type OpenAiEvents, writeImage, writeMembers, writeMissingFormat } from "./openai-events.js";
import { isLink, type LinkedImage } from "./rewrite.js";

/**
 * Creates the delivery of the images of one response.
 *
 * @param source the channel that made the images
 * @param isNative true if the client gets the provider's own JSON or events
 */
export function createDelivery(
  { transport, results, afterImage, logger }: CallParts,
  { id, caller, linkBase, request, bytes }: Call,
  source: ResultSource,
  isNative: boolean,
): ImageDelivery {
  const { operation, model, prompt, responseFormat } = request;
  const isStored = results !== undefined && (operation !== "native" || results.isNative);
  return new ImageDelivery({
    transport,
    bytes,
    source,
    store: isStored
      ? {
          put: async (image) => (await results.store(image, linkBase)).url,
          timeoutMs: results.timeoutMs,
        }
      : undefined,
    afterImage:
      isStored && afterImage !== undefined
        ? {
            run: afterImage,
            call: { id, caller, model, operation, prompt },
            timeoutMs: results.timeoutMs,
          }
        : undefined,
    format: isNative ? "provider" : responseFormat === "b64_json" ? "b64_json" : "url",
    logger,
  });
}

/** What the delivery of images needs. */
export interface ImageDeliveryOptions {
  readonly transport: Transport;
  /** Counts the images that are held. */
  readonly bytes: ByteCount;
  /** The channel that made the images. */
  readonly source: ResultSource;
  /** Where the images are stored. `undefined`: they are not. */
  readonly store: ImageStore | undefined;
  /** The operator's function for each image, what it is told of the request, and how long it may take. */
  readonly afterImage:
    | {
        readonly run: AfterImage;
        readonly call: Omit<AfterImageCall, "index">;
        readonly timeoutMs: number;
      }
    | undefined;
  /** What the client gets. `provider`: what the provider sent, a link or base64. */
  readonly format: "url" | "b64_json" | "provider";
  readonly logger: Logger;
}

/** An image as the client gets it. */
interface Delivered {
  readonly url?: string;
  readonly b64_json?: string;
  /** The link of the store, if the client gets base64. Not `url`: some clients prefer a link if there is one. */
  readonly stored_url?: string;
}

/** At most this many links of one response are downloaded; further images stay links. Layers may have more images. */
const MAX_IMAGES = 15;
/** Each has up to 64 MiB. */
const MAX_AT_ONCE = 4;

/**
 * Delivers the images of one response: stores them, runs the operator's `afterImage`, and replaces their links. What goes
 * wrong is in `errors`; it never fails the response.
 */
export class ImageDelivery {
  /** The entries of `extra.errors` so far. */
  readonly errors: ResultError[] = [];
  /** Why the first image was not delivered at all, if one was not. */
  #refusal: GatewayError | undefined;
  /** The number of images that were not delivered at all. */
  #refused = 0;
  readonly #options: ImageDeliveryOptions;
  /** The image with long base64 that is arriving. */
  #open: UploadingImage | HeldImage | undefined;
  #isCancelled = false;

  constructor(options: ImageDeliveryOptions) {
    this.#options = options;
  }

  /** True if every image is stored. */
  get opensImages(): boolean {
    return this.#options.store !== undefined;
  }

  /** True if every image is held until the operator's function has seen it. */
  get holdsImages(): boolean {
    return this.#options.afterImage !== undefined;
  }

  /** True if long base64 is sent to the client while it arrives. Otherwise it is sent when the image is complete. */
  get forwardsBase64(): boolean {
    return this.#options.format !== "url" && this.#options.afterImage === undefined;
  }

  /**
   * The error to respond with if no image was delivered, because the operator refused all of them.
   *
   * @param images the number of images of the response
   */
  findRefusal(images: number): GatewayError | undefined {
    return this.#refused >= images ? this.#refusal : undefined;
  }

  /** True if the base64 of an image that is a link is sent to the client while it is downloaded. */
  streamsLink(image: ResultImage): boolean {
    return this.forwardsBase64 && this.#wantsBase64(image) && isLink(image);
  }

  /**
   * Returns what is sent for the parts of images. Call it with the parts in order, and wait for each result. An image that
   * the operator refused is left out.
   */
  async write(part: ImagePart, layout: ImageLayout): Promise<readonly (string | Uint8Array)[]> {
    switch (part.kind) {
      case "begin":
        this.#open = this.#begin();
        return this.forwardsBase64 ? [writePart(part, layout)] : [];
      case "base64":
        await this.#open?.push(part.bytes);
        return this.forwardsBase64 ? [part.bytes] : [];
      case "end": {
        const delivered = await this.#finish(part.members, part.index);
        if (this.forwardsBase64) return [layout.end({ ...part.later, ...delivered }, part.members)];
        if (delivered === undefined) return [];
        const { b64_json: _beginning, ...members } = part.members;
        return [layout.image({ ...members, ...delivered })];
      }
      case "image": {
        const image = await this.deliver(part.image, part.index);
        return image === undefined ? [] : [layout.image(image, part.createdAt)];
      }
    }
  }

  /** As {@link write}, for several parts in order. */
  async writeAll(
    parts: readonly ImagePart[],
    layout: ImageLayout,
  ): Promise<readonly (string | Uint8Array)[]> {
    const pieces: (string | Uint8Array)[] = [];
    for (const part of parts) pieces.push(...(await this.write(part, layout)));
    return pieces;
  }

  /** As {@link deliver}, for several images, a few at a time. */
  async deliverAll(
    images: readonly { readonly image: ResultImage; readonly index: number }[],
  ): Promise<readonly (ResultImage | undefined)[]> {
    const delivered: (ResultImage | undefined)[] = [];
    for (let start = 0; start < images.length; start += MAX_AT_ONCE) {
      const group = images.slice(start, start + MAX_AT_ONCE);
      delivered.push(...(await Promise.all(group.map(({ image, index }) => this.deliver(image, index)))));
    }
    this.errors.sort((a, b) => a.index - b.index);
    return delivered;
  }

  /** Delivers an image that is a link or has short base64. `undefined` if it is not delivered. */
  async deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const { afterImage, store } = this.#options;
    const wantsBase64 = this.#wantsBase64(image);
    // Nothing has to be done.
    if (afterImage === undefined && store === undefined && !(wantsBase64 && isLink(image))) return image;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      if (!wantsBase64 && afterImage === undefined && store !== undefined && isLink(image)) {
        return { ...image, url: await this.#copyLink(image.url, store) };
      }
      bytes = await this.#readBytes(image, index);
    } catch (error) {
      this.#addError(error, index);
      // The operator's function could not see the image.
      return afterImage === undefined ? image : this.#refuse(unreadError(error));
    }
    const delivered = await this.#deliverBytes(bytes, image, index);
    if (delivered === undefined) return undefined;
    const { url: _url, b64_json: _base64, ...rest } = image;
    return { ...rest, ...delivered };
  }

  /**
   * Downloads an image that is a link, and returns the members of its event with base64, while it arrives. It is stored at
   * the same time. If the download cannot begin, the image stays a link. If it breaks off, this throws, because a part of
   * the image has been sent.
   *
   * @param events where the image's event is written
   * @param signal ends the download when the client has disconnected
   * @throws DownloadError
   */
  async *streamLink(
    { image, index }: LinkedImage,
    events: OpenAiEvents | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    if (signal?.aborted === true) return;
    const { transport, source, store } = this.#options;
    const { url = "", ...rest } = image;
    let chunks: AsyncIterable<Uint8Array>;
    try {
      checkIndex(index);
      chunks = await openImage(transport, url, source, signal);
    } catch (error) {
      this.#addError(error, index);
      yield writeImage(image);
      return;
    }
    events?.beginLink();
    yield ',"b64_json":"';
    const base64 = new Base64Encoder();
    let start = "";
    const upload = store && new LazyUpload(store);
    let stored: Delivered = {};
    try {
      for await (const chunk of chunks) {
        const encoded = base64.push(chunk);
        if (start === "") start = encoded.slice(0, 64);
        // Does not reject.
        const written = upload?.write(chunk);
        yield encoded;
        await written;
      }
      stored = await this.#endUpload(upload, index);
    } finally {
      // Without effect when the upload has ended.
      upload?.cancel(new DownloadError("The download of the image broke off."));
    }
    const members = { ...rest, ...stored };
    yield `${base64.end()}"${writeMembers(members)}${writeMissingFormat({ ...members, b64_json: start })}`;
    events?.endLink();
  }

  /** The image that is arriving will not be complete. */
  cancelImage(cause: unknown): void {
    this.#open?.cancel(cause);
    this.#open = undefined;
  }

  /** No further part comes. An image that is arriving will not be complete. */
  cancel(cause: unknown): void {
    this.#isCancelled = true;
    this.cancelImage(cause);
  }

  #begin(): UploadingImage | HeldImage | undefined {
    if (this.#isCancelled) return undefined;
    const { afterImage, store, bytes, format } = this.#options;
    if (afterImage !== undefined || store === undefined) return new HeldImage(bytes);
    return new UploadingImage(store, format === "url" ? bytes : undefined);
  }

  /** Whether the client gets base64 of this image. */
  #wantsBase64(image: ResultImage): boolean {
    const { format } = this.#options;
    return format === "provider" ? !isLink(image) : format === "b64_json";
  }

  /** The members of an image with long base64. `undefined` if it is not delivered. */
  async #finish(members: ResultImage, index: number): Promise<Delivered | undefined> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return {};
    try {
      if (open instanceof HeldImage) return await this.#deliverBytes(await open.end(), members, index);
      const link = await open.end();
      return this.#options.format === "url" ? { url: link } : { stored_url: link };
    } catch (error) {
      this.#addError(error, index);
      if (open instanceof HeldImage) return this.#refuse(unreadError(error));
      // The client has the base64, or gets it now.
      if (this.forwardsBase64) return {};
      const kept = open.takeKept();
      return kept === undefined ? this.#refuse(unreadError(error)) : { b64_json: toBase64(kept) };
    } finally {
      open.release();
    }
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
    return upload.end();
  }

  async #readBytes({ url, b64_json: base64 }: ResultImage, index: number): Promise<Uint8Array<ArrayBuffer>> {
    if (typeof base64 === "string" && base64 !== "") return new Uint8Array(Buffer.from(base64, "base64"));
    checkIndex(index);
    const { transport, source, bytes } = this.#options;
    const chunks: Uint8Array[] = [];
    for await (const chunk of await openImage(transport, url ?? "", source)) {
      bytes.addAnyway(chunk.length);
      chunks.push(chunk);
    }
    return new Uint8Array(Buffer.concat(chunks));
  }

  /** Delivers a whole image. `undefined` if the operator refused it. */
  async #deliverBytes(
    original: Uint8Array<ArrayBuffer>,
    image: ResultImage,
    index: number,
  ): Promise<Delivered | undefined> {
    const bytes = await this.#runAfterImage(original, { size: image["size"], index });
    if (bytes === undefined) return undefined;
    const link = await this.#put(bytes, index);
    if (this.#wantsBase64(image)) {
      return { b64_json: toBase64(bytes), ...(link !== undefined && { stored_url: link }) };
    }
    if (link !== undefined) return { url: link };
    // The provider's link leads to the image as it was made.
    if (bytes === original && isLink(image)) return { url: image.url };
    if (this.#options.format !== "provider") return { b64_json: toBase64(bytes) };
    return { url: `data:${toContentType(bytes)};base64,${toBase64(bytes)}` };
  }

  /** The bytes to deliver. `undefined` if the operator refused the image, or if the operator's function failed. */
  async #runAfterImage(
    bytes: Uint8Array<ArrayBuffer>,
    { size, index }: { readonly size: unknown; readonly index: number },
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { afterImage, logger } = this.#options;
    if (afterImage === undefined) return bytes;
    try {
      const image = {
        bytes: () => Promise.resolve(bytes),
        contentType: toContentType(bytes),
        size: typeof size === "string" ? size : undefined,
      };
      const running = Promise.resolve(afterImage.run(image, { ...afterImage.call, index }));
      if (!(await settlesWithin(running, afterImage.timeoutMs))) throw new Error("It took too long.");
      return checkChanged(await running, bytes);
    } catch (error) {
      if (isGatewayError(error)) {
        this.errors.push({ index, code: shownCodeOf(error), message: error.message });
        return this.#refuse(error);
      }
      logger.error({ err: error }, "afterImage failed, so the image was not delivered.");
      this.errors.push({ index, code: "internal_error", message: UNCHECKED });
      return this.#refuse(
        new GatewayError("internal_error", UNCHECKED, { cause: error, shouldRetry: false }),
      );
    }
  }

  /** Counts an image that is not delivered. */
  #refuse(error: GatewayError): undefined {
    this.#refused++;
    this.#refusal ??= error;
  }

  /** Stores an image. `undefined` if it was not stored. */
  async #put(bytes: Uint8Array, index: number): Promise<string | undefined> {
    const { store } = this.#options;
    if (store === undefined) return undefined;
    const upload = new LazyUpload(store, bytes.length);
    await upload.write(bytes);
    return (await this.#endUpload(upload, index)).stored_url;
  }

  async #endUpload(upload: LazyUpload | undefined, index: number): Promise<Pick<Delivered, "stored_url">> {
    if (upload === undefined) return {};
    try {
      return { stored_url: await upload.end() };
    } catch (error) {
      this.#addError(error, index);
      return {};
    }
  }

  #addError(error: unknown, index: number): void {
    if (error instanceof DownloadError) {
      this.errors.push({ index, code: "image_download_failed", message: error.message });
      return;
    }
    if (!(error instanceof StoreError)) throw error;
    this.#options.logger.error({ err: error.cause ?? error }, error.message);
    this.errors.push({ index, code: "image_not_stored", message: error.message });
  }
}

const UNCHECKED = "The image could not be checked.";

/** @throws TypeError if the operator's function returned something else than an image, or passed the memory of it on */
function checkChanged(changed: unknown, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (changed === undefined && bytes.length > 0) return bytes;
  // Copied, because the function may use the memory again.
  if (changed instanceof Uint8Array && changed.length > 0) return new Uint8Array(changed);
  throw new TypeError("afterImage must return the bytes of an image, or nothing.");
}

/** The error of an image that was made and cannot be delivered. */
function unreadError(cause: unknown): GatewayError {
  const message = cause instanceof Error ? cause.message : UNCHECKED;
  return new GatewayError("upstream_invalid_response", message, { cause, shouldRetry: false });
}

function toBase64(bytes: Uint8Array<ArrayBuffer>): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function checkIndex(index: number): void {
  if (index >= MAX_IMAGES) throw new DownloadError(`At most ${MAX_IMAGES} images are downloaded.`);
}
