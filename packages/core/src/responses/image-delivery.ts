import { Buffer } from "node:buffer";
import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import { Base64Encoder } from "../images/base64-stream.js";
import type { Logger } from "../logger.js";
import type { AfterImage, AfterImageCall } from "../results/after-image.js";
import { StoreError } from "../results/image-upload.js";
import { StoredBody } from "../results/stored-body.js";
import type { ResultError, ResultImage } from "../types.js";
import { DownloadError, openImage, type ResultSource } from "../upstream/download.js";
import type { Transport } from "../upstream/transport.js";
import { settlesWithin } from "../util/async.js";
import type { ByteCount } from "../util/held-bytes.js";
import { HeldImage, type ImageStore, LazyUpload, toContentType, UploadingImage } from "./arriving-image.js";
import type { Call } from "./call.js";
import { EarlyImages, type EarlyPart } from "./early-images.js";
import { type ImageBudget, type ReadImage, readWithinBudget } from "./image-budget.js";
import { type ImageLayout, type ImagePart, type LinkWriter, writePart } from "./image-parts.js";
import { isLink, type LinkedImage } from "./rewrite.js";

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
        /** The index of the first image. */
        readonly firstIndex: number;
      }
    | undefined;
  /** Learns of each image with a link when it is delivered, before the response is complete. */
  readonly onImage?: Call["onImage"];
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

/** An image that was delivered, or a link whose image does not fit into the budget. */
export type SmallOrLarge =
  | { readonly image: ResultImage; readonly large?: undefined }
  | { readonly image?: undefined; readonly large: LinkedImage };

/** An image in base64 that is in the store and not in memory. It is read again when it is sent. */
export interface StoredImagePiece {
  readonly kind: "stored";
  readonly id: string;
  /** The link of the store. */
  readonly url: string;
  /** All members but the base64. */
  readonly members: ResultImage;
  readonly index: number;
  readonly createdAt?: number | undefined;
}

/** What is sent later for a part of an image. */
export type LaterPiece = string | Uint8Array | StoredImagePiece;

/** At most this many links of one response are downloaded; further images stay links. Layers may have more images. */
const MAX_IMAGES = 15;
/** Each has up to 64 MiB. */
const MAX_AT_ONCE = 4;

/**
 * Delivers the images of one response: stores them, runs the operator's `afterImage`, and replaces their links. What goes
 * wrong is in `errors`; it never fails the response.
 */
export class ImageDelivery {
  readonly #errors: ResultError[] = [];
  /** Why the first image was not delivered at all, if one was not. */
  #refusal: GatewayError | undefined;
  /** The number of images that were not delivered at all. */
  #refused = 0;
  readonly #options: ImageDeliveryOptions;
  /** The image with long base64 that is arriving. */
  #open: UploadingImage | HeldImage | undefined;
  /** Writes the beginning of the image that is arriving, if it has not been written. */
  #writeBeginning: (() => string) | undefined;
  #isCancelled = false;
  /**
   * Stores images of a response whose end says which strings are images. `undefined` if such a response must be held anyway:
   * for base64 that cannot be read again, and for the operator's function.
   */
  readonly early: EarlyImages | undefined;

  constructor(options: ImageDeliveryOptions) {
    this.#options = options;
    const { store, afterImage, format, bytes } = options;
    const isReadable = format === "url" || (format === "b64_json" && store?.open !== undefined);
    if (store !== undefined && afterImage === undefined && isReadable)
      this.early = new EarlyImages(store, bytes);
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
    const { store, afterImage, format } = this.#options;
    return afterImage === undefined && (format !== "url" || store === undefined);
  }

  /** The entries of `extra.errors` so far, in the order of the images. */
  get errors(): readonly ResultError[] {
    return this.#errors.toSorted((a, b) => a.index - b.index);
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
        this.#writeBeginning = () => layout.begin(part.members, part.createdAt);
        return this.forwardsBase64 ? [writePart(part, layout)] : [];
      case "base64": {
        const base64 = (await this.#open?.push(part.bytes)) ?? "";
        return this.forwardsBase64 ? [part.bytes] : this.#writeUnstored(base64);
      }
      case "end": {
        const unstored = await this.#endUnstored();
        const delivered = await this.#finish(part.members, part.index);
        if (delivered !== undefined) this.#tell({ ...part.members, ...delivered });
        if (this.forwardsBase64) return [layout.end({ ...part.later, ...delivered }, part.members)];
        if (unstored !== undefined) return [...unstored, '"', layout.end(part.later, part.members)];
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

  /**
   * As {@link write}, for a response that is sent later. With a store that can read its images, long base64 is not held after it
   * was stored, unless it fits into the budget. While it is stored, up to 16 MiB are held in case the store fails.
   */
  async writeLater(
    part: ImagePart,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    const { store, bytes } = this.#options;
    if (store?.open === undefined || !this.forwardsBase64) return this.write(part, layout);
    switch (part.kind) {
      case "begin":
        if (!this.#isCancelled) this.#open = new UploadingImage(store, bytes);
        this.#writeBeginning = () => layout.begin(part.members, part.createdAt);
        return [];
      case "base64":
        return this.#writeUnstored((await this.#open?.push(part.bytes)) ?? "");
      case "end":
        return this.#endLater(part, layout, budget);
      case "image":
        return this.write(part, layout);
    }
  }

  async #endLater(
    { members, later, index }: Extract<ImagePart, { kind: "end" }>,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    const unstored = await this.#endUnstored();
    const open = this.#open;
    this.#open = undefined;
    if (!(open instanceof UploadingImage)) return [];
    const { b64_json: _beginning, ...others } = members;
    try {
      const { id, url } = await open.end();
      this.#tell({ ...others, stored_url: url });
      const kept = budget.take(open.keptBytes) ? open.takeKept() : undefined;
      if (kept === undefined) return [{ kind: "stored", id, url, members: others, index }];
      return [
        ...this.#writeUnstored(toBase64(kept)),
        '"',
        layout.end({ ...later, stored_url: url }, members),
      ];
    } catch (error) {
      const sent = unstored ?? this.#writeUnstored(toBase64(open.takeKept() ?? new Uint8Array()));
      const isLost = unstored === undefined && sent.length === 0;
      const shown = isLost ? toLostError(error) : error;
      this.#addError(shown, index);
      if (!isLost) return [...sent, '"', layout.end(later, members)];
      this.#refuse(unreadError(shown));
      return [];
    } finally {
      open.release();
    }
  }

  /**
   * As {@link writeLater}, for an image that was stored while the response arrived. All such images of the response end at
   * the first call.
   */
  async writeEarly(
    { image, members, later, index, createdAt }: EarlyPart,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    const { b64_json: _beginning, ...others } = members;
    const write = (base64: readonly string[], rest: ResultImage): readonly string[] => [
      layout.begin({}, createdAt),
      '"',
      ...base64,
      '"',
      layout.end(rest, members),
    ];
    try {
      await this.early?.endAll();
      const { link, error, base64 } = await image.end();
      if (error !== undefined) {
        const isLost = base64.length === 0;
        const shown = isLost ? toLostError(error) : error;
        this.#addError(shown, index);
        if (!isLost) return write(base64, later);
        this.#refuse(unreadError(shown));
        return [];
      }
      const { id, url } = link;
      if (!this.#wantsBase64(members)) {
        this.#tell({ ...others, url });
        return [layout.image({ ...others, url }, createdAt)];
      }
      this.#tell({ ...others, stored_url: url });
      const { keptBytes } = image.upload;
      const kept = keptBytes > 0 && budget.take(keptBytes) ? image.upload.takeKept() : undefined;
      if (kept === undefined) return [{ kind: "stored", id, url, members: others, index, createdAt }];
      return write([toBase64(kept)], { ...later, stored_url: url });
    } finally {
      image.release();
    }
  }

  /**
   * Reads an image again that was stored, and returns what is sent for it with base64. If the image cannot be opened, the
   * client gets the link of the store. If it breaks off, this throws, because a part of the image has been sent.
   *
   * @param signal ends the reading when the client has disconnected
   * @throws DownloadError
   */
  async *streamStored(
    { id, url, members, index }: StoredImagePiece,
    writer: LinkWriter,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    if (signal?.aborted === true) return;
    let chunks: AsyncIterable<Uint8Array>;
    try {
      chunks = await this.#openStored(id);
    } catch (cause) {
      this.#addError(this.#toUnreadError(cause), index);
      yield writer.link({ ...members, url });
      return;
    }
    const base64 = new Base64Encoder();
    yield writer.begin();
    let start = "";
    try {
      for await (const chunk of chunks) {
        const encoded = base64.push(chunk);
        if (start === "") start = encoded.slice(0, 64);
        yield encoded;
      }
    } catch (cause) {
      throw this.#toUnreadError(cause);
    }
    yield base64.end() + writer.end({ ...members, stored_url: url }, start);
    writer.ended();
  }

  async #openStored(id: string): Promise<AsyncIterable<Uint8Array>> {
    const stored = await this.#options.store?.open?.(id);
    if (stored === undefined) throw new Error("The store of results does not have the image.");
    return StoredBody.open(stored.body, stored.byteLength, () => {});
  }

  /** Logs that a stored image could not be read, and returns the error for the client. */
  #toUnreadError(cause: unknown): DownloadError {
    const message = "The image was stored and could not be read again.";
    this.#options.logger.error({ err: cause }, message);
    return new DownloadError(message);
  }

  /** The base64 of an image that could not be stored. Its beginning comes before its first base64. */
  #writeUnstored(base64: string): readonly string[] {
    if (base64 === "") return [];
    const beginning = this.#writeBeginning?.();
    this.#writeBeginning = undefined;
    return beginning === undefined ? [base64] : [beginning, '"', base64];
  }

  /** The rest of an image that could not be stored. `undefined` if the image is not forwarded to the client. */
  async #endUnstored(): Promise<readonly string[] | undefined> {
    if (!(this.#open instanceof UploadingImage)) return undefined;
    const sent = this.#writeUnstored(await this.#open.endBase64());
    return this.#open.isForwarded ? sent : undefined;
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
    return delivered;
  }

  /**
   * As {@link deliverAll}, but images that are links are delivered only as long as they fit into the budget. Call it only if
   * base64 is forwarded: then no image is refused.
   *
   * @param signal ends the downloads when nothing is sent any more
   */
  async deliverSmall(
    images: readonly LinkedImage[],
    budget: ImageBudget,
    signal?: AbortSignal,
  ): Promise<readonly SmallOrLarge[]> {
    const delivered: SmallOrLarge[] = [];
    for (let start = 0; start < images.length; start += MAX_AT_ONCE) {
      const group = images.slice(start, start + MAX_AT_ONCE);
      delivered.push(
        ...(await Promise.all(group.map((image) => this.#deliverIfSmall(image, budget, signal)))),
      );
    }
    return delivered;
  }

  async #deliverIfSmall(
    linked: LinkedImage,
    budget: ImageBudget,
    signal: AbortSignal | undefined,
  ): Promise<SmallOrLarge> {
    const { image, index } = linked;
    if (!this.streamsLink(image)) return { image: (await this.deliver(image, index)) ?? image };
    // Without `kind` and the like: it is not an ImagePart any more.
    if (budget.isExceeded) return { large: { image, index } };
    let read: ReadImage;
    try {
      const chunks = await this.#openLink(linked, signal);
      read = await readWithinBudget(chunks, budget, this.#options.bytes);
    } catch (error) {
      this.#addError(error, index);
      this.#tell(image);
      return { image };
    }
    if (read.arriving !== undefined) return { large: { image, index, arriving: read.arriving } };
    const { url: _url, ...rest } = image;
    const delivered = { ...rest, ...(await this.#deliverBytes(read.bytes, image, index)) };
    this.#tell(delivered);
    return { image: delivered };
  }

  /** Delivers an image that is a link or has short base64. `undefined` if it is not delivered. */
  async deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    const delivered = await this.#convert(image, index);
    if (delivered !== undefined) this.#tell(delivered);
    return delivered;
  }

  #tell({ b64_json: _base64, ...image }: ResultImage): void {
    const { onImage } = this.#options;
    if (image.url !== undefined || image["stored_url"] !== undefined) onImage?.(image);
  }

  /** Stores an image and gives it the form that the client gets. */
  async #convert(image: ResultImage, index: number): Promise<ResultImage | undefined> {
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
   * Downloads an image that is a link, and returns what is sent for it with base64, while it arrives. It is stored at the
   * same time. If the download cannot begin, the image stays a link. If it breaks off, this throws, because a part of the
   * image has been sent.
   *
   * @param signal ends the download when the client has disconnected
   * @throws DownloadError
   */
  async *streamLink(
    linked: LinkedImage,
    writer: LinkWriter,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    if (signal?.aborted === true) return;
    const { image, index } = linked;
    // A provider may send an empty `b64_json` beside the link.
    const { url: _url, b64_json: _empty, ...rest } = image;
    const { store } = this.#options;
    let chunks: AsyncIterable<Uint8Array>;
    try {
      chunks = linked.arriving ?? (await this.#openLink(linked, signal));
    } catch (error) {
      this.#addError(error, index);
      this.#tell(image);
      yield writer.link(image);
      return;
    }
    yield writer.begin();
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
    this.#tell({ ...rest, ...stored });
    yield base64.end() + writer.end({ ...rest, ...stored }, start);
    writer.ended();
  }

  /** @throws DownloadError */
  async #openLink({ image, index }: LinkedImage, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    checkIndex(index);
    const { transport, source } = this.#options;
    return openImage(transport, image.url ?? "", source, signal);
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
    this.early?.cancel(cause);
  }

  #begin(): UploadingImage | HeldImage | undefined {
    if (this.#isCancelled) return undefined;
    const { afterImage, store, bytes, format } = this.#options;
    if (afterImage !== undefined) return new HeldImage(bytes);
    return store && new UploadingImage(store, format === "url" ? bytes : undefined);
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
      const { url } = await open.end();
      return this.#options.format === "url" ? { url } : { stored_url: url };
    } catch (error) {
      if (open instanceof HeldImage) {
        this.#addError(error, index);
        return this.#refuse(unreadError(error));
      }
      // The client has the base64, or gets it now.
      const isSent = this.forwardsBase64 || open.isForwarded;
      const kept = isSent ? undefined : open.takeKept();
      const shown = isSent || kept !== undefined ? error : toLostError(error);
      this.#addError(shown, index);
      if (isSent) return {};
      return kept === undefined ? this.#refuse(unreadError(shown)) : { b64_json: toBase64(kept) };
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
    return (await upload.end()).url;
  }

  async #readBytes(image: ResultImage, index: number): Promise<Uint8Array<ArrayBuffer>> {
    const { b64_json: base64 } = image;
    if (typeof base64 === "string" && base64 !== "") return new Uint8Array(Buffer.from(base64, "base64"));
    const { bytes } = this.#options;
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.#openLink({ image, index })) {
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
      const running = Promise.resolve(
        afterImage.run(image, { ...afterImage.call, index: afterImage.firstIndex + index }),
      );
      if (!(await settlesWithin(running, afterImage.timeoutMs))) throw new Error("It took too long.");
      return checkChanged(await running, bytes);
    } catch (error) {
      if (isGatewayError(error)) {
        this.#errors.push({ index, code: shownCodeOf(error), message: error.message });
        return this.#refuse(error);
      }
      logger.error({ err: error }, "afterImage failed, so the image was not delivered.");
      this.#errors.push({ index, code: "internal_error", message: UNCHECKED });
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
      return { stored_url: (await upload.end()).url };
    } catch (error) {
      this.#addError(error, index);
      return {};
    }
  }

  #addError(error: unknown, index: number): void {
    if (error instanceof DownloadError) {
      this.#errors.push({ index, code: "image_download_failed", message: error.message });
      return;
    }
    if (!(error instanceof StoreError)) throw error;
    this.#options.logger.error({ err: error.cause ?? error }, error.message);
    this.#errors.push({ index, code: "image_not_stored", message: error.message });
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

/** The store failed at the end of an image that was too large to be held. */
function toLostError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const { message, cause = error } = error;
  return new StoreError(`${message} It is too large to be delivered in another way, so it is lost.`, {
    cause,
  });
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
