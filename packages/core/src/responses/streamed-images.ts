import { Base64Encoder } from "../images/base64-stream.js";
import { StoredBody } from "../results/stored-body.js";
import type { ResultImage } from "../types.js";
import { DownloadError } from "../upstream/download.js";
import { LazyUpload } from "./arriving-image.js";
import { type ImageDeliveryOptions, tellImage } from "./delivery-options.js";
import type { ImageErrors } from "./image-errors.js";
import type { ImageLayout, WholeImage } from "./image-parts.js";
import { endUpload, openLink } from "./whole-images.js";

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

/** Sends images with base64 that are not in memory: each is read from its link, or from the store, while it is sent. */
export class StreamedImages {
  readonly #options: ImageDeliveryOptions;
  readonly #errors: ImageErrors;

  constructor(options: ImageDeliveryOptions, errors: ImageErrors) {
    this.#options = options;
    this.#errors = errors;
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
    linked: WholeImage,
    layout: ImageLayout,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    if (signal?.aborted === true) return;
    const { image, index } = linked;
    // A provider may send an empty `b64_json` beside the link.
    const { url: _url, b64_json: _empty, ...rest } = image;
    const { store } = this.#options;
    let chunks: AsyncIterable<Uint8Array>;
    try {
      chunks = linked.arriving ?? (await openLink(this.#options, linked, signal));
    } catch (error) {
      this.#errors.add(error, index);
      tellImage(this.#options, image);
      yield layout.link(image);
      return;
    }
    yield layout.beginBase64();
    const base64 = new Base64Encoder();
    let start = "";
    const upload = store && new LazyUpload(store);
    let storedUrl: string | undefined;
    try {
      for await (const chunk of chunks) {
        const encoded = base64.push(chunk);
        if (start === "") start = encoded.slice(0, 64);
        // Does not reject.
        const written = upload?.write(chunk);
        yield encoded;
        await written;
      }
      if (upload !== undefined) storedUrl = await endUpload(upload, index, this.#errors);
    } finally {
      // Without effect when the upload has ended.
      upload?.cancel(new DownloadError("The download of the image broke off."));
    }
    const members = { ...rest, ...(storedUrl !== undefined && { stored_url: storedUrl }) };
    tellImage(this.#options, members);
    yield base64.end() + layout.endBase64(members, start);
    layout.sentLink();
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
    layout: ImageLayout,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    if (signal?.aborted === true) return;
    let chunks: AsyncIterable<Uint8Array>;
    try {
      chunks = await this.#openStored(id);
    } catch (cause) {
      this.#errors.add(this.#toUnreadError(cause), index);
      yield layout.link({ ...members, url });
      return;
    }
    const base64 = new Base64Encoder();
    yield layout.beginBase64();
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
    yield base64.end() + layout.endBase64({ ...members, stored_url: url }, start);
    layout.sentLink();
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
}
