import { Buffer } from "node:buffer";
import { type GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import { Base64Decoder } from "../images/base64-decoder.js";
import { detectMediaType } from "../images/reference-image.js";
import type { Logger } from "../logger.js";
import type { AfterImage, AfterImageCall } from "../results/after-image.js";
import { ImageUpload, type PutImage, StoreError } from "../results/image-upload.js";
import type { ResultError, ResultImage } from "../types.js";
import { DownloadError, openImage, type ResultSource } from "../upstream/download.js";
import type { Transport } from "../upstream/transport.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { JsonObject } from "../util/json.js";
import { Base64Encoder } from "./base64-encoder.js";
import type { Call, CallParts } from "./call.js";
import { type ImageLayout, type ImagePart, writePart } from "./image-parts.js";
import { type OpenAiEvents, writeImage, writeMembers, writeMissingFormat } from "./openai-events.js";
import type { LinkedImage } from "./rewrite.js";

/**
 * Creates the delivery of the images of one response.
 *
 * @param source the channel that made the images
 */
export function createDelivery(
  { transport, results, afterImage, logger }: CallParts,
  { id, caller, linkBase, request, bytes }: Call,
  source: ResultSource,
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
        ? { run: afterImage, call: { id, caller, model, operation, prompt } }
        : undefined,
    wantsBase64: responseFormat === "b64_json",
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
  readonly store: { readonly put: PutImage; readonly timeoutMs: number } | undefined;
  /** The operator's function for each image, and what it is told of the request. */
  readonly afterImage: { readonly run: AfterImage; readonly call: Omit<AfterImageCall, "index"> } | undefined;
  /** True if the client gets base64. */
  readonly wantsBase64: boolean;
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
/** Longer base64 is not stored, and an image with it is not passed to `afterImage`. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;

/**
 * Delivers the images of one response: stores them, runs the operator's `afterImage`, and replaces their links. What goes
 * wrong is in `errors`; it never fails the response.
 */
export class ImageDelivery {
  /** The entries of `extra.errors` so far. */
  readonly errors: ResultError[] = [];
  /** The first image that the operator refused. */
  refusal: GatewayError | undefined;
  readonly #options: ImageDeliveryOptions;
  /** The image with long base64 that is arriving. */
  #open: UploadingImage | HeldImage | undefined;

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
    return this.#options.wantsBase64 && this.#options.afterImage === undefined;
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

  /** Delivers an image that is a link or has short base64. `undefined` if the operator refused it. */
  async deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const { afterImage, wantsBase64, store } = this.#options;
    // Nothing has to be done.
    if (afterImage === undefined && store === undefined && !(wantsBase64 && isLinkOnly(image))) return image;
    try {
      if (!wantsBase64 && afterImage === undefined && store !== undefined && isLinkOnly(image)) {
        return { ...image, url: await this.#copyLink(image.url) };
      }
      const bytes = await this.#readBytes(image, index);
      const delivered = await this.#deliverBytes(bytes, image, index);
      if (delivered === undefined) return undefined;
      const { url, b64_json: _base64, ...rest } = image;
      // Without the store's link, a client that wants links keeps the provider's.
      return { ...rest, ...(!wantsBase64 && url !== undefined && { url }), ...delivered };
    } catch (error) {
      this.#addError(error, index);
      return image;
    }
  }

  /**
   * Downloads an image that is a link, and returns the members of its event with base64, while it arrives. If the download
   * cannot begin, the image stays a link. If it breaks off, this throws, because a part of the image has been sent.
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
    const { transport, source } = this.#options;
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
    for await (const chunk of chunks) {
      const encoded = base64.push(chunk);
      if (start === "") start = encoded.slice(0, 64);
      yield encoded;
    }
    yield `${base64.end()}"${writeMembers(rest)}${writeMissingFormat({ ...rest, b64_json: start })}`;
    events?.endLink();
  }

  /** The image that is arriving will not be complete. */
  cancel(cause: unknown): void {
    this.#open?.cancel(cause);
    this.#open = undefined;
  }

  #begin(): UploadingImage | HeldImage {
    const { afterImage, store, bytes } = this.#options;
    return afterImage === undefined && store !== undefined ? new UploadingImage(store) : new HeldImage(bytes);
  }

  async #finish(members: JsonObject, index: number): Promise<Delivered | undefined> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return {};
    try {
      return open instanceof UploadingImage
        ? this.#withLink(await open.end())
        : await this.#deliverBytes(await open.end(), members, index);
    } catch (error) {
      this.#addError(error, index);
      return {};
    }
  }

  /** Copies an image from the provider's link to the store, without holding it. */
  async #copyLink(link: string): Promise<string> {
    const { transport, source, store } = this.#options;
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
    { size }: JsonObject,
    index: number,
  ): Promise<Delivered | undefined> {
    const { wantsBase64 } = this.#options;
    const bytes = await this.#runAfterImage(original, { size, index });
    if (bytes === undefined) return undefined;
    const link = await this.#put(bytes, index);
    return {
      ...(link !== undefined && this.#withLink(link)),
      // If nothing else is left of the image, the client gets its base64.
      ...((wantsBase64 || link === undefined) && { b64_json: Buffer.from(bytes).toString("base64") }),
    };
  }

  #withLink(link: string): Delivered {
    return this.#options.wantsBase64 ? { stored_url: link } : { url: link };
  }

  /** The bytes to deliver. `undefined` if the operator refused the image, or if the operator's function failed. */
  async #runAfterImage(
    bytes: Uint8Array<ArrayBuffer>,
    { size, index }: { readonly size: unknown; readonly index: number },
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { afterImage, logger } = this.#options;
    if (afterImage === undefined) return bytes;
    try {
      const changed = await afterImage.run(
        {
          bytes: () => Promise.resolve(bytes),
          contentType: detectMediaType(bytes) ?? "application/octet-stream",
          size: typeof size === "string" ? size : undefined,
        },
        { ...afterImage.call, index },
      );
      return changed === undefined ? bytes : new Uint8Array(changed);
    } catch (error) {
      if (isGatewayError(error)) {
        this.refusal ??= error;
        this.errors.push({ index, code: shownCodeOf(error), message: error.message });
      } else {
        logger.error({ err: error }, "afterImage failed, so the image was not delivered.");
        this.errors.push({ index, code: "internal_error", message: "The image could not be checked." });
      }
      return undefined;
    }
  }

  /** Stores an image. `undefined` if it was not stored. */
  async #put(bytes: Uint8Array, index: number): Promise<string | undefined> {
    const { store } = this.#options;
    if (store === undefined) return undefined;
    const upload = new LazyUpload(store, bytes.length);
    try {
      await upload.write(bytes);
      return await upload.end();
    } catch (error) {
      this.#addError(error, index);
      return undefined;
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

function isLinkOnly(image: ResultImage): image is ResultImage & { readonly url: string } {
  return typeof image.url === "string" && image.url !== "" && !image.b64_json;
}

function checkIndex(index: number): void {
  if (index >= MAX_IMAGES) throw new DownloadError(`At most ${MAX_IMAGES} images are downloaded.`);
}

/** An image with long base64 that is arriving. */
interface OpenImage {
  /** @param base64 a part of a JSON string, with its quotes */
  push(base64: Uint8Array): Promise<void>;
  cancel(cause: unknown): void;
}

/** It goes into the store while it arrives. */
class UploadingImage implements OpenImage {
  readonly #decoder = new Base64Decoder();
  readonly #upload: LazyUpload;

  constructor(store: ImageDeliveryOptions["store"]) {
    this.#upload = new LazyUpload(store);
  }

  push(base64: Uint8Array): Promise<void> {
    return this.#upload.write(this.#decoder.push(base64));
  }

  /** @throws StoreError */
  async end(): Promise<string> {
    await this.#upload.write(this.#decoder.end());
    return this.#upload.end();
  }

  cancel(cause: unknown): void {
    this.#upload.cancel(cause);
  }
}

/** It is held, because the operator's function needs the whole image. */
class HeldImage implements OpenImage {
  readonly #decoder = new Base64Decoder();
  readonly #bytes: ByteCount;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(bytes: ByteCount) {
    this.#bytes = bytes;
  }

  push(base64: Uint8Array): Promise<void> {
    this.#add(this.#decoder.push(base64));
    return Promise.resolve();
  }

  /** @throws StoreError if the image is too large */
  end(): Promise<Uint8Array<ArrayBuffer>> {
    this.#add(this.#decoder.end());
    if (this.#length > MAX_IMAGE_BYTES) {
      throw new StoreError(`The image is larger than ${MAX_IMAGE_BYTES} bytes.`);
    }
    return Promise.resolve(new Uint8Array(Buffer.concat(this.#chunks)));
  }

  cancel(): void {
    this.#chunks.length = 0;
  }

  #add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length > MAX_IMAGE_BYTES) return;
    this.#bytes.addAnyway(chunk.length);
    this.#chunks.push(chunk);
  }
}

/** The number of bytes that tell the type of an image. */
const TYPE_BYTES = 16;

/** An upload that begins when the first bytes have told the type of the image. */
class LazyUpload {
  readonly #store: ImageDeliveryOptions["store"];
  readonly #byteLength: number | undefined;
  #start = new Uint8Array();
  #upload: ImageUpload | undefined;

  constructor(store: ImageDeliveryOptions["store"], byteLength?: number) {
    this.#store = store;
    this.#byteLength = byteLength;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.#upload !== undefined) return this.#upload.write(chunk);
    if (this.#start.length + chunk.length < TYPE_BYTES) {
      this.#start = new Uint8Array(Buffer.concat([this.#start, chunk]));
      return;
    }
    const start = this.#start.length === 0 ? chunk : new Uint8Array(Buffer.concat([this.#start, chunk]));
    await this.#begin(start).write(start);
  }

  /** @throws StoreError */
  async end(): Promise<string> {
    if (this.#upload !== undefined) return this.#upload.end();
    const upload = this.#begin(this.#start);
    await upload.write(this.#start);
    return upload.end();
  }

  cancel(cause: unknown): void {
    this.#upload?.cancel(cause);
  }

  #begin(start: Uint8Array): ImageUpload {
    if (this.#store === undefined) throw new StoreError("There is no store.");
    const { put, timeoutMs } = this.#store;
    const contentType = detectMediaType(start) ?? "application/octet-stream";
    this.#upload = new ImageUpload(put, { contentType, byteLength: this.#byteLength, timeoutMs });
    return this.#upload;
  }
}
