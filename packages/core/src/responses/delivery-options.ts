import type { ResultSource } from "../images/link-hosts.js";
import type { Logger } from "../logger.js";
import type { AfterImage, AfterImageCall } from "../results/after-image.js";
import type { ResultImage } from "../types.js";
import type { Transport } from "../upstream/transport.js";
import type { ByteCount } from "../util/held-bytes.js";
import type { ImageStore } from "./arriving-image.js";
import type { Call } from "./call.js";
import { isLink } from "./rewrite.js";

/** What the delivery of images needs. */
export interface ImageDeliveryOptions {
  readonly transport: Transport;
  /** Counts the images that are held. */
  readonly bytes: ByteCount;
  /** The channel that made the images. */
  readonly source: ResultSource;
  /** Where the images are stored. `undefined`: they are not. */
  readonly store: ImageStore | undefined;
  /** The operator's function for each image, what it gets of the request, and how long it may take. */
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

/** The members of an image that its delivery sets. */
export interface Delivered {
  readonly url?: string;
  readonly b64_json?: string;
  /** The link of the store, if the client gets base64. Not `url`: some clients prefer a link if there is one. */
  readonly stored_url?: string;
}

/** Whether the client gets base64 of this image. */
export function wantsBase64({ format }: ImageDeliveryOptions, image: ResultImage): boolean {
  return format === "provider" ? !isLink(image) : format === "b64_json";
}

/** True if long base64 is sent to the client while it arrives. Otherwise it is sent when the image is complete. */
export function forwardsBase64({ store, afterImage, format }: ImageDeliveryOptions): boolean {
  return afterImage === undefined && (format !== "url" || store === undefined);
}

/** True if the base64 of an image that is a link is sent to the client while it is downloaded. */
export function streamsLink(options: ImageDeliveryOptions, image: ResultImage): boolean {
  return forwardsBase64(options) && wantsBase64(options, image) && isLink(image);
}

/** Calls `onImage` for a delivered image with a link, without its base64. */
export function tellImage(
  { onImage }: ImageDeliveryOptions,
  { b64_json: _base64, ...image }: ResultImage,
): void {
  if (image.url !== undefined || image["stored_url"] !== undefined) onImage?.(image);
}
