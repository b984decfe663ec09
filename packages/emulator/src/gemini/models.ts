/** What `imageConfig.imageSize` selects. */
export type GeminiImageSize = "512" | "1K" | "2K" | "4K";

/** What one Gemini image model takes and returns. */
export interface GeminiModel {
  readonly name: string;
  /** The output tokens of an image by size. The model has these sizes. Empty: the field is refused. */
  readonly tokens: Readonly<Partial<Record<GeminiImageSize, number>>>;
  /** The output tokens of an image without `imageSize`, which is 1K. */
  readonly usualTokens: number;
  /** Whether it has the ratios 1:4, 4:1, 1:8 and 8:1. */
  readonly hasExtremeRatios: boolean;
  readonly maxImages: number;
  /** Whether it thinks. Then it reports `thoughtsTokenCount`, and returns its thoughts on request. */
  readonly thinks: boolean;
  readonly format: "png" | "jpeg";
}

/**
 * From Google's SDK and published prices, November 2026. The tokens of 2K and 4K of nano-banana-2.1 are those of its
 * predecessor.
 */
const models: readonly GeminiModel[] = [
  {
    name: "gemini-nano-banana-2.1",
    tokens: { "512": 400, "1K": 1120, "2K": 1680, "4K": 2520 },
    usualTokens: 1120,
    hasExtremeRatios: true,
    maxImages: 14,
    thinks: true,
    format: "jpeg",
  },
  {
    name: "gemini-3-pro-image",
    tokens: { "1K": 1120, "2K": 1120, "4K": 2000 },
    usualTokens: 1120,
    hasExtremeRatios: false,
    maxImages: 14,
    thinks: true,
    format: "jpeg",
  },
  {
    name: "gemini-3.1-flash-lite-image",
    tokens: {},
    usualTokens: 1120,
    hasExtremeRatios: true,
    maxImages: 14,
    thinks: true,
    format: "jpeg",
  },
  {
    name: "gemini-3.1-flash-image",
    tokens: { "512": 747, "1K": 1120, "2K": 1680, "4K": 2520 },
    usualTokens: 1120,
    hasExtremeRatios: true,
    maxImages: 14,
    thinks: true,
    format: "jpeg",
  },
  {
    name: "gemini-2.5-flash-image",
    tokens: {},
    usualTokens: 1290,
    hasExtremeRatios: false,
    maxImages: 3,
    thinks: false,
    format: "png",
  },
];

/** Finds a model by its name. Models that Google has shut down (previews, Imagen) do not exist. */
export function findGeminiModel(name: string): GeminiModel | undefined {
  return models.find((model) => model.name === name);
}

const usualRatios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];
const extremeRatios = ["1:4", "4:1", "1:8", "8:1"];

/** The values of `imageConfig.aspectRatio`. */
export function ratiosOf({ hasExtremeRatios }: GeminiModel): readonly string[] {
  return hasExtremeRatios ? [...usualRatios, ...extremeRatios] : usualRatios;
}
