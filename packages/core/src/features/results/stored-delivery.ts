import type { StreamShape } from "../../families/response-shape.js";
import type { ImageBudget } from "../../responses/image-budget.js";
import { type EndPart, type ImageLayout, type ImagePart, writePart } from "../../responses/image-parts.js";
import type {
  ImageCopy,
  LaterPiece,
  Piece,
  PlainPiece,
  StagedDelivery,
} from "../../responses/image-stage.js";
import { tellImage, toStoredUrl } from "../../responses/linked-images.js";
import type { StreamTranslation } from "../../responses/sse.js";
import type { ResultImage } from "../../types.js";
import { HeldImage, UploadingImage } from "./arriving-image.js";
import { EarlyUploads } from "./early-uploads.js";
import { NativeStream, rewriteJson } from "./native-responses.js";
import { StageErrors, toLostError } from "./stage-errors.js";
import { type Uploaded, UploadedImages, withoutBase64 } from "./uploaded-images.js";
import { type StoredOptions, WholeImages } from "./whole-images.js";

/**
 * Delivers the images of one response: stores them, runs the operator's `afterImage`, and replaces their links. What goes
 * wrong is in `errors`; it never fails the response.
 */
export class StoredDelivery implements StagedDelivery {
  readonly options: StoredOptions;
  readonly errors: StageErrors;
  /** `undefined` for base64 that cannot be read again, and with the operator's function. */
  readonly early: EarlyUploads | undefined;
  /** Images that are links, or whose bytes are in memory. */
  readonly #whole: WholeImages;
  /** Images whose base64 is sent after it was stored. */
  readonly #uploaded: UploadedImages;
  /** The image with long base64 that is arriving. */
  #open: UploadingImage | HeldImage | undefined;
  /** Writes the beginning of the image that is arriving, if it has not been written. */
  #writeBeginning: (() => string) | undefined;
  /** True if long base64 is sent when its image has been stored. */
  #isLater = false;
  #isCancelled = false;

  constructor(options: StoredOptions) {
    const { store, afterImage, format, logger } = options;
    this.options = options;
    this.errors = new StageErrors(logger);
    this.#whole = new WholeImages(options, this.errors);
    this.#uploaded = new UploadedImages(options, this.errors);
    const isReadable = format === "url" || (format === "b64_json" && store.open !== undefined);
    if (afterImage === undefined && isReadable) this.early = new EarlyUploads(this.#uploaded);
  }

  get holdsImages(): boolean {
    return this.options.afterImage !== undefined;
  }

  get forwardsBase64(): boolean {
    return !this.holdsImages && this.options.format !== "url";
  }

  deliver(image: ResultImage, index: number): Promise<ResultImage | undefined> {
    return this.#whole.deliver(image, index);
  }

  copyLink(index: number, byteLength?: number): ImageCopy {
    return this.#whole.copyLink(index, byteLength);
  }

  rewriteJson(pieces: readonly Piece[]): Promise<string> {
    return rewriteJson(this, pieces);
  }

  translateEvents(shape: StreamShape, renderFailure: (error: unknown) => string): StreamTranslation {
    return new NativeStream(this, shape, renderFailure);
  }

  async write(part: ImagePart, layout: ImageLayout): Promise<readonly PlainPiece[]> {
    const forwards = this.forwardsBase64 && !this.#isLater;
    switch (part.kind) {
      case "begin":
        this.#open = this.#begin();
        this.#writeBeginning = () => layout.begin(part.members, part.createdAt);
        return forwards ? [writePart(part, layout)] : [];
      case "base64": {
        const base64 = (await this.#open?.push(part.bytes)) ?? "";
        return forwards ? [part.bytes] : this.#writeUnstored([base64]);
      }
      case "end":
        return this.#writeEnd(part, layout);
      case "image": {
        const image = await this.#whole.deliver(part.image, part.index);
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
    this.#isLater = this.forwardsBase64 && this.options.store.open !== undefined;
    const isEnd = part.kind === "end" && this.#isLater;
    return isEnd ? this.#writeLaterEnd(part, layout, budget) : this.write(part, layout);
  }

  async #writeLaterEnd(
    part: EndPart,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    const upload = await this.#takeArrived();
    if (!(upload instanceof UploadingImage)) return [];
    try {
      const write: Uploaded["write"] = (base64, rest) => [
        ...this.#writeUnstored(base64),
        '"',
        layout.end(rest, part.members),
      ];
      return this.#uploaded.write(await upload.end(), { upload, part, write }, budget);
    } finally {
      upload.release();
    }
  }

  /** The image that is arriving will not be complete. */
  cancelImage(cause: unknown): void {
    this.#takeOpen()?.cancel(cause);
  }

  cancel(cause: unknown): void {
    this.#isCancelled = true;
    this.cancelImage(cause);
    this.early?.cancel(cause);
  }

  #begin(): UploadingImage | HeldImage | undefined {
    if (this.#isCancelled) return undefined;
    const { afterImage, store, bytes, format } = this.options;
    if (afterImage !== undefined) return new HeldImage(bytes);
    return new UploadingImage(store, format === "url" || this.#isLater ? bytes : undefined);
  }

  #takeOpen(): UploadingImage | HeldImage | undefined {
    const open = this.#open;
    this.#open = undefined;
    return open;
  }

  /** The image that has arrived. `undefined` if there is none, also because it was cancelled. */
  async #takeArrived(): Promise<UploadingImage | HeldImage | undefined> {
    if (this.#open instanceof UploadingImage) await this.#open.endBytes();
    return this.#takeOpen();
  }

  /** The base64 of an image that could not be stored. Its beginning comes before its first base64. */
  #writeUnstored(parts: readonly string[]): readonly string[] {
    const base64 = parts.filter((part) => part !== "");
    if (base64.length === 0) return [];
    const beginning = this.#writeBeginning?.();
    this.#writeBeginning = undefined;
    return beginning === undefined ? base64 : [beginning, '"', ...base64];
  }

  async #writeEnd(part: EndPart, layout: ImageLayout): Promise<readonly PlainPiece[]> {
    const open = await this.#takeArrived();
    try {
      if (open instanceof UploadingImage) return await this.#writeUploadEnd(part, layout, open);
      const delivered = open === undefined ? {} : await this.#endHeld(open, part);
      return this.#writeDelivered(part, layout, delivered);
    } finally {
      open?.release();
    }
  }

  async #writeUploadEnd(
    part: EndPart,
    layout: ImageLayout,
    upload: UploadingImage,
  ): Promise<readonly string[]> {
    const { link, error, base64 } = await upload.end();
    if (link !== undefined) {
      const delivered = this.options.format === "url" ? { url: link.url } : toStoredUrl(link.url);
      return this.#writeDelivered(part, layout, delivered);
    }
    if (!this.forwardsBase64 && base64 === undefined) {
      const lost = toLostError(error);
      this.errors.add(lost, part.index);
      return this.#writeDelivered(part, layout, this.errors.refuseUnread(lost));
    }
    this.errors.add(error, part.index);
    // The client has the base64.
    if (base64 === undefined || this.forwardsBase64) return this.#writeDelivered(part, layout, {});
    if (!upload.isForwarded) return this.#writeDelivered(part, layout, { b64_json: base64.join("") });
    tellImage(this.options, part.members);
    return [...this.#writeUnstored(base64), '"', layout.end(part.later, part.members)];
  }

  /** @param delivered `undefined` if the image is not delivered */
  #writeDelivered(
    { members, later }: EndPart,
    layout: ImageLayout,
    delivered: ResultImage | undefined,
  ): readonly string[] {
    if (delivered !== undefined) tellImage(this.options, { ...members, ...delivered });
    if (this.forwardsBase64) return [layout.end({ ...later, ...delivered }, members)];
    return delivered === undefined ? [] : [layout.image({ ...withoutBase64(members), ...delivered })];
  }

  async #endHeld(open: HeldImage, { members, index }: EndPart): Promise<ResultImage | undefined> {
    try {
      return await this.#whole.deliverBytes(await open.end(), members, index);
    } catch (error) {
      this.errors.add(error, index);
      return this.errors.refuseUnread(error);
    }
  }
}
