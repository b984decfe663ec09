import type { ImageRequest } from "../../types.js";
import type { Capabilities } from "../capabilities.js";
import { OPENAI_MODELS } from "./models.js";

/** What determines how many tokens a request can use. */
export interface TokenBasis {
  readonly prompt: string;
  /** Reference images, mask and markup. */
  readonly references: number;
  /** Absent: `auto`. */
  readonly quality: string | undefined;
  /** `undefined`: `auto`. */
  readonly pixels: number | undefined;
  readonly partialImages: number;
  /** How often the provider reports the input: in a stream once for each image. */
  readonly reports: number;
}

/** The largest image that a number of the table is for. Larger ones count in proportion to their pixels. */
const TABLE_PIXELS = 1536 * 1024;
/** The price of one partial image (apidog and apifox, November 2026). */
const TOKENS_PER_PARTIAL_IMAGE = 100;
/** What a request may have besides its prompt. */
const TOKENS_OF_REQUEST = 64;

const dearestOf = (table: Readonly<Record<string, number>>): number => Math.max(...Object.values(table));

/** For models without a row. */
const DEAREST = {
  output: Math.max(...OPENAI_MODELS.map(({ outputTokens = {} }) => dearestOf(outputTokens))),
  reference: Math.max(...OPENAI_MODELS.map(({ referenceTokens = 0 }) => referenceTokens)),
};

/**
 * The most tokens that a request can use, for the hold. The numbers of output are those of the row. `auto` counts as the
 * dearest quality, and as a size of the table. A token of the prompt has at least one byte.
 */
export function countMaxTokens(
  { prompt, references, quality, pixels = 0, partialImages, reports }: TokenBasis,
  { outputTokens = {}, referenceTokens = DEAREST.reference }: Capabilities = {},
): Required<Pick<ImageRequest, "maxTokensPerImage" | "maxInputTokens">> {
  const isEmpty = Object.keys(outputTokens).length === 0;
  const table = isEmpty ? { default: DEAREST.output } : outputTokens;
  const ofQuality = findOwn(table, quality) ?? findOwn(table, "default") ?? dearestOf(table);
  const ofImage = Math.ceil(ofQuality * Math.max(1, pixels / TABLE_PIXELS));
  const input = new TextEncoder().encode(prompt).length + TOKENS_OF_REQUEST + references * referenceTokens;
  return {
    maxTokensPerImage: ofImage + partialImages * TOKENS_PER_PARTIAL_IMAGE,
    maxInputTokens: input * reports,
  };
}

/** `auto` has the number of `auto`, if the table has one, otherwise the highest of all. */
function findOwn(table: Readonly<Record<string, number>>, name = "auto"): number | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
