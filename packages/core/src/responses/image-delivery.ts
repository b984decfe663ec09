import type { ResultImage } from "../types.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import type { Call, CallParts } from "./call.js";
import { ImageErrors } from "./image-errors.js";
import { type ImageLayout, type ImagePart, writePart } from "./image-parts.js";
import type { ImageDelivery, ImageDeliveryOptions, PlainPiece, StagedDelivery } from "./image-stage.js";
import { tellImage } from "./linked-images.js";

/**
 * @param success the response of the channel that made the images
 * @param isNative true if the client gets the provider's own JSON or events
 */
export function toDeliveryOptions(
  { transport }: CallParts,
  { bytes, logger, onImage, request }: Call,
  { channel: source, marks }: Pick<UpstreamSuccess, "channel" | "marks">,
  isNative: boolean,
): ImageDeliveryOptions {
  const format = isNative ? "provider" : request.responseFormat === "b64_json" ? "b64_json" : "url";
  return { transport, source, bytes, logger, onImage, format, marks };
}

/** Creates the delivery of images that pass through a stage or must be marked. `undefined`: they are sent as they are. */
export function stageImages(
  { images, requireMarks }: Pick<CallParts, "images" | "requireMarks">,
  call: Call,
  options: ImageDeliveryOptions,
): StagedDelivery | undefined {
  const staged = images?.createDelivery(options, call);
  const { marks } = options;
  return requireMarks === undefined || marks === undefined
    ? staged
    : requireMarks({ ...options, marks }, staged);
}

/** Sends images as they are. */
export class PlainDelivery implements ImageDelivery {
  readonly options: ImageDeliveryOptions;
  readonly errors = new ImageErrors();
  readonly forwardsBase64 = true;

  constructor(options: ImageDeliveryOptions) {
    this.options = options;
  }

  async deliver(image: ResultImage): Promise<ResultImage> {
    tellImage(this.options, image);
    return image;
  }

  async write(part: ImagePart, layout: ImageLayout): Promise<readonly PlainPiece[]> {
    if (part.kind === "image") tellImage(this.options, part.image);
    else if (part.kind === "end") tellImage(this.options, part.members);
    return [writePart(part, layout)];
  }
}
