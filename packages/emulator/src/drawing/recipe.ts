import { hashText } from "../random.js";

export type ImageFormat = "png" | "jpeg" | "webp" | "gif" | "svg";

/** The media type of a format. */
export function mediaTypeOf(format: ImageFormat): string {
  return format === "svg" ? "image/svg+xml" : `image/${format}`;
}

/** A whole scene, a scene cut out of its background, or a layer of a decomposed image. The last two have alpha. */
export type ImageKind = "scene" | "cutout" | "layer";

/** The largest side of a thumbnail in pixels. Images hardly show more, and recipes keep thumbnails in memory. */
export const thumbnailSide = 640;

/** A reference image, reduced to what an image shows of it. */
export interface ReferenceImage {
  /** The encoded image. Its sides are at most `thumbnailSide`. Smaller images keep their size. */
  readonly thumbnail: Buffer;
  /** The size of the image that was sent. */
  readonly width: number;
  readonly height: number;
}

/**
 * Everything that determines an image. Equal recipes make equal images, so the emulator stores only the recipe of a
 * link, and draws the image when the link is opened.
 */
export interface ImageRecipe {
  readonly width: number;
  readonly height: number;
  readonly format: ImageFormat;
  readonly kind: ImageKind;
  readonly model: string;
  /** The beginning of the prompt. The image has no room for more. */
  readonly prompt: string;
  /** The hash of the whole prompt. It determines the scene and the colours. */
  readonly promptHash: number;
  readonly seed: number;
  /** The zero-based number in the batch of `count` images. */
  readonly index: number;
  readonly count: number;
  /** The text of the watermark. Absent: no watermark. */
  readonly watermark?: string;
  readonly references: readonly ReferenceImage[];
  /** The quality of jpeg and webp, 0 to 100. Absent: the emulator's own. */
  readonly compression?: number;
}

const maxPromptLength = 1000;

export function writeRecipe(
  details: Omit<ImageRecipe, "promptHash" | "watermark"> & { watermark: string | undefined },
): ImageRecipe {
  const { watermark, ...rest } = details;
  return {
    ...rest,
    prompt: rest.prompt.slice(0, maxPromptLength),
    promptHash: hashText(rest.prompt),
    ...(watermark === undefined ? {} : { watermark }),
  };
}

/** The number of channels: 4 with alpha, else 3. */
export function channelsOf({ kind }: Pick<ImageRecipe, "kind">): 3 | 4 {
  return kind === "scene" ? 3 : 4;
}
