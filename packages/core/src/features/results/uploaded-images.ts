import { toBase64 } from "../../images/base64-stream.js";
import type { ImageBudget } from "../../responses/image-budget.js";
import type { EndPart, ImageLayout } from "../../responses/image-parts.js";
import type { EarlyPart, LaterPiece } from "../../responses/image-stage.js";
import { ImageEncoder, tellImage, toStoredUrl } from "../../responses/linked-images.js";
import type { ResultImage } from "../../types.js";
import { DownloadError } from "../../upstream/download.js";
import type { UploadEnd, UploadingImage } from "./arriving-image.js";
import type { StoredLink } from "./image-upload.js";
import { type StageErrors, toLostError } from "./stage-errors.js";
import { StoredBody } from "./stored-body.js";
import type { StoredOptions } from "./whole-images.js";

/** An image with base64 that was uploaded, and how it is written if its base64 is sent. */
export interface Uploaded {
  readonly upload: UploadingImage;
  readonly part: EndPart | EarlyPart;
  /** @param later the members that are written after the base64 */
  readonly write: (base64: readonly string[], later: ResultImage) => readonly string[];
}

/** Writes images with base64 that were uploaded before they are sent. */
export class UploadedImages {
  readonly options: StoredOptions;
  readonly #errors: StageErrors;

  constructor(options: StoredOptions, errors: StageErrors) {
    this.options = options;
    this.#errors = errors;
  }

  /** What is sent for an image whose base64 has not been sent before its upload ended. */
  write(
    { link, error, base64 }: UploadEnd,
    { upload, part, write }: Uploaded,
    budget: ImageBudget,
  ): readonly LaterPiece[] {
    const { later, index } = part;
    if (link === undefined) {
      const shown = base64 === undefined ? toLostError(error) : error;
      this.#errors.add(shown, index);
      if (base64 !== undefined) return write(base64, later);
      this.#errors.refuseUnread(shown);
      return [];
    }
    const members = withoutBase64(part.members);
    tellImage(this.options, { ...members, ...toStoredUrl(link.url) });
    const { keptBytes } = upload;
    const kept = keptBytes > 0 && budget.take(keptBytes) ? upload.takeKept() : undefined;
    if (kept !== undefined) return write([toBase64(kept)], { ...later, ...toStoredUrl(link.url) });
    const image = { ...link, members, index };
    const createdAt = part.kind === "early" ? part.createdAt : undefined;
    return [{ kind: "later", createdAt, send: (layout, signal) => this.#send(image, layout, signal) }];
  }

  /**
   * Reads an image again that was stored, and returns what is sent for it with base64. If the image cannot be opened, the
   * client gets the link of the store.
   *
   * @throws DownloadError if it breaks off
   */
  async *#send(
    { id, url, members, index }: StoredLink & Pick<EndPart, "members" | "index">,
    layout: ImageLayout,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string> {
    if (signal?.aborted === true) return;
    let chunks: AsyncIterable<Uint8Array>;
    try {
      chunks = await this.#open(id);
    } catch (cause) {
      this.#errors.add(this.#toUnreadError(cause), index);
      yield layout.link({ ...members, url });
      return;
    }
    const base64 = new ImageEncoder();
    yield layout.beginBase64();
    try {
      for await (const chunk of chunks) yield base64.push(chunk);
    } catch (cause) {
      throw this.#toUnreadError(cause);
    }
    yield base64.end() + layout.endBase64({ ...members, ...toStoredUrl(url) }, base64.start);
    layout.sentLink();
  }

  async #open(id: string): Promise<AsyncIterable<Uint8Array>> {
    const stored = await this.options.store.open?.(id);
    if (stored === undefined) throw new Error("The store of results does not have the image.");
    return StoredBody.open(stored.body, stored.byteLength, () => {});
  }

  /** Logs that a stored image could not be read, and returns the error for the client. */
  #toUnreadError(cause: unknown): DownloadError {
    const message = "The image was stored and could not be read again.";
    this.options.logger.error({ err: cause }, message);
    return new DownloadError(message);
  }
}

/** The members of an image, without what has arrived of its base64. */
export function withoutBase64({ b64_json: _beginning, ...members }: ResultImage): ResultImage {
  return members;
}
