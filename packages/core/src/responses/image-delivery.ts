import type { GatewayError } from "../errors.js";
import type { ResultError, ResultImage } from "../types.js";
import { HeldImage, toBase64, type UploadEnd, UploadingImage } from "./arriving-image.js";
import {
  type Delivered,
  forwardsBase64,
  type ImageDeliveryOptions,
  streamsLink,
  tellImage,
  wantsBase64,
} from "./delivery-options.js";
import { EarlyImages, type EarlyPart } from "./early-images.js";
import type { ImageBudget } from "./image-budget.js";
import { ImageErrors, toLostError } from "./image-errors.js";
import { type ImageLayout, type ImagePart, writePart } from "./image-parts.js";
import { type StoredImagePiece, StreamedImages } from "./streamed-images.js";
import { WholeImages } from "./whole-images.js";

/** What is sent later for a part of an image. */
export type LaterPiece = string | Uint8Array | StoredImagePiece;

type EndPart = Extract<ImagePart, { readonly kind: "end" }>;

/** An image with base64 that was uploaded, and how it is written if its base64 is sent. */
interface Uploaded {
  readonly upload: UploadingImage;
  /** All members but the base64. */
  readonly members: ResultImage;
  /** The members that are written after the base64. */
  readonly later: ResultImage;
  readonly index: number;
  readonly createdAt?: number | undefined;
  readonly write: (base64: readonly string[], later: ResultImage) => readonly string[];
}

/**
 * Delivers the images of one response: stores them, runs the operator's `afterImage`, and replaces their links. What goes
 * wrong is in `errors`; it never fails the response.
 */
export class ImageDelivery {
  /** Images that are links, or whose bytes are in memory. */
  readonly whole: WholeImages;
  /** Images that are read while they are sent. */
  readonly streamed: StreamedImages;
  /**
   * Stores images of a response whose end says which strings are images. `undefined` if such a response must be held anyway:
   * for base64 that cannot be read again, and for the operator's function.
   */
  readonly early: EarlyImages | undefined;
  readonly #options: ImageDeliveryOptions;
  readonly #errors: ImageErrors;
  /** The image with long base64 that is arriving. */
  #open: UploadingImage | HeldImage | undefined;
  /** Writes the beginning of the image that is arriving, if it has not been written. */
  #writeBeginning: (() => string) | undefined;
  #isCancelled = false;

  constructor(options: ImageDeliveryOptions) {
    this.#options = options;
    this.#errors = new ImageErrors(options.logger);
    this.whole = new WholeImages(options, this.#errors);
    this.streamed = new StreamedImages(options, this.#errors);
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
    return forwardsBase64(this.#options);
  }

  /** The entries of `extra.errors` so far, in the order of the images. */
  get errors(): readonly ResultError[] {
    return this.#errors.list;
  }

  /** As {@link ImageErrors.findRefusal}. */
  findRefusal(images: number): GatewayError | undefined {
    return this.#errors.findRefusal(images);
  }

  /** True if the base64 of an image that is a link is sent to the client while it is downloaded. */
  streamsLink(image: ResultImage): boolean {
    return streamsLink(this.#options, image);
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
        return this.forwardsBase64 ? [part.bytes] : this.#writeUnstored([base64]);
      }
      case "end":
        return this.#writeEnd(part, layout);
      case "image": {
        const image = await this.whole.deliver(part.image, part.index);
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
        return this.#writeUnstored([(await this.#open?.push(part.bytes)) ?? ""]);
      case "end":
        return this.#writeLaterEnd(part, layout, budget);
      case "image":
        return this.write(part, layout);
    }
  }

  async #writeLaterEnd(
    { members, later, index }: EndPart,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    const upload = await this.#takeArrived();
    if (!(upload instanceof UploadingImage)) return [];
    try {
      const write: Uploaded["write"] = (base64, rest) => [
        ...this.#writeUnstored(base64),
        '"',
        layout.end(rest, members),
      ];
      const uploaded = { upload, members: withoutBase64(members), later, index, write };
      return this.#writeUploaded(await upload.end(), uploaded, budget);
    } finally {
      upload.release();
    }
  }

  /**
   * As {@link writeLater}, for an image that was stored while the response arrived. All such images of the response end at
   * the first call.
   */
  async writeEarly(
    { image, members: all, later, index, createdAt }: EarlyPart,
    layout: ImageLayout,
    budget: ImageBudget,
  ): Promise<readonly LaterPiece[]> {
    const members = withoutBase64(all);
    const write: Uploaded["write"] = (base64, rest) => [
      layout.begin({}, createdAt),
      '"',
      ...base64,
      '"',
      layout.end(rest, all),
    ];
    try {
      await this.early?.endAll();
      const end = await image.end();
      if (end.link === undefined || wantsBase64(this.#options, all)) {
        const uploaded = { upload: image.upload, members, later, index, createdAt, write };
        return this.#writeUploaded(end, uploaded, budget);
      }
      const linked = { ...members, url: end.link.url };
      tellImage(this.#options, linked);
      return [layout.image(linked, createdAt)];
    } finally {
      image.release();
    }
  }

  /** What is sent for an image whose base64 has not been sent before its upload ended. */
  #writeUploaded(
    { link, error, base64 }: UploadEnd,
    { upload, members, later, index, createdAt, write }: Uploaded,
    budget: ImageBudget,
  ): readonly LaterPiece[] {
    if (link === undefined) {
      const shown = base64 === undefined ? toLostError(error) : error;
      this.#errors.add(shown, index);
      if (base64 !== undefined) return write(base64, later);
      this.#errors.refuseUnread(shown);
      return [];
    }
    const { id, url } = link;
    tellImage(this.#options, { ...members, stored_url: url });
    const { keptBytes } = upload;
    const kept = keptBytes > 0 && budget.take(keptBytes) ? upload.takeKept() : undefined;
    if (kept === undefined) return [{ kind: "stored", id, url, members, index, createdAt }];
    return write([toBase64(kept)], { ...later, stored_url: url });
  }

  /** The image that is arriving will not be complete. */
  cancelImage(cause: unknown): void {
    this.#takeOpen()?.cancel(cause);
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

  async #writeEnd(part: EndPart, layout: ImageLayout): Promise<readonly (string | Uint8Array)[]> {
    const open = await this.#takeArrived();
    try {
      if (open instanceof UploadingImage) {
        return this.#writeUploadEnd(part, layout, { isForwarded: open.isForwarded, end: await open.end() });
      }
      const delivered = open === undefined ? {} : await this.#endHeld(open, part);
      return this.#writeDelivered(part, layout, delivered);
    } finally {
      open?.release();
    }
  }

  #writeUploadEnd(
    part: EndPart,
    layout: ImageLayout,
    { isForwarded, end }: { readonly isForwarded: boolean; readonly end: UploadEnd },
  ): readonly string[] {
    const { link, error, base64 } = end;
    if (link !== undefined) {
      const { url } = link;
      const delivered = this.#options.format === "url" ? { url } : { stored_url: url };
      return this.#writeDelivered(part, layout, delivered);
    }
    if (!this.forwardsBase64 && base64 === undefined) {
      const lost = toLostError(error);
      this.#errors.add(lost, part.index);
      return this.#writeDelivered(part, layout, this.#errors.refuseUnread(lost));
    }
    this.#errors.add(error, part.index);
    // The client has the base64.
    if (base64 === undefined || this.forwardsBase64) return this.#writeDelivered(part, layout, {});
    if (!isForwarded) return this.#writeDelivered(part, layout, { b64_json: base64.join("") });
    tellImage(this.#options, part.members);
    return [...this.#writeUnstored(base64), '"', layout.end(part.later, part.members)];
  }

  /** @param delivered `undefined` if the image is not delivered */
  #writeDelivered(
    { members, later }: EndPart,
    layout: ImageLayout,
    delivered: Delivered | undefined,
  ): readonly string[] {
    if (delivered !== undefined) tellImage(this.#options, { ...members, ...delivered });
    if (this.forwardsBase64) return [layout.end({ ...later, ...delivered }, members)];
    return delivered === undefined ? [] : [layout.image({ ...withoutBase64(members), ...delivered })];
  }

  async #endHeld(open: HeldImage, { members, index }: EndPart): Promise<Delivered | undefined> {
    try {
      return await this.whole.deliverBytes(await open.end(), members, index);
    } catch (error) {
      this.#errors.add(error, index);
      return this.#errors.refuseUnread(error);
    }
  }
}

/** The members of an image, without what has arrived of its base64. */
function withoutBase64({ b64_json: _beginning, ...members }: ResultImage): ResultImage {
  return members;
}
