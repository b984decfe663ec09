import { hashText } from "../random.js";

export type PictureFormat = "png" | "jpeg";

/** Of a reference image, in pixels. More is hardly seen in a picture, and recipes keep it in memory. */
export const thumbnailSide = 640;

/** A reference image, reduced to what a picture shows of it. */
export interface ReferencePicture {
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
export interface PictureRecipe {
  readonly width: number;
  readonly height: number;
  readonly format: PictureFormat;
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
  readonly references: readonly ReferencePicture[];
}

const maxPromptLength = 1000;

export function writeRecipe(
  details: Omit<PictureRecipe, "promptHash" | "watermark"> & { watermark: string | undefined },
): PictureRecipe {
  const { watermark, ...rest } = details;
  return {
    ...rest,
    prompt: rest.prompt.slice(0, maxPromptLength),
    promptHash: hashText(rest.prompt),
    ...(watermark === undefined ? {} : { watermark }),
  };
}
