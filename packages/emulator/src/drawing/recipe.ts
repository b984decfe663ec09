import { hashText } from "../random.js";

export type ImageFormat = "png" | "jpeg";

/** A whole scene, a scene cut out of its background, or a layer of a decomposed image. The last two have alpha. */
export type ImageKind = "scene" | "cutout" | "layer";

/** Of a reference image, in pixels. More is hardly seen in a picture, and recipes keep it in memory. */
export const thumbnailSide = 640;

/** A reference image, reduced to what a picture shows of it. */
export interface ReferenceImage {
  /** The image, encoded, at most `thumbnailSide` a side and in its own size if that is smaller. */
  readonly thumbnail: Buffer;
  /** The size of the image that was sent. */
  readonly width: number;
  readonly height: number;
}

/**
 * Everything a picture is drawn from. Equal recipes give equal pictures, so a link keeps only the recipe
 * and the picture is drawn when somebody asks for it.
 */
export interface ImageRecipe {
  readonly width: number;
  readonly height: number;
  readonly format: ImageFormat;
  readonly kind: ImageKind;
  readonly model: string;
  /** The beginning of the prompt: more could not be read in the picture. */
  readonly prompt: string;
  /** Of the whole prompt: it chooses the scene and the colours. */
  readonly promptHash: number;
  readonly seed: number;
  /** Zero-based place in the batch of `count` images. */
  readonly index: number;
  readonly count: number;
  /** The words of the watermark; absent: none. */
  readonly watermark?: string;
  readonly references: readonly ReferenceImage[];
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
