import type { PixelSize } from "../pixel-size.js";
import { countTextTokens } from "../text-tokens.js";
import type { OpenaiModel, Quality } from "./models.js";

/** What determines the tokens of a request. */
export interface TokenBasis {
  readonly model: OpenaiModel;
  readonly prompt: string;
  readonly references: readonly PixelSize[];
  readonly quality: Quality;
  readonly size: PixelSize;
  readonly inputFidelity: "low" | "high";
}

/** The cost of one partial image of a stream. */
const tokensPerPartial = 100;
/** The largest size that the table of a model has an entry for. */
const tablePixels = 1536 * 1024;

/**
 * The field `usage`: exact and reproducible, but not OpenAI's own numbers, because OpenAI publishes no formula.
 *
 * - Text: a token per CJK character, or per four other characters.
 * - An input image: 65 tokens, and 129 for each tile of 512 x 512 after its short side was reduced to 512. With
 *   `input_fidelity: "high"` 4160 more, 6240 if it is not square.
 * - An output image: the table of the model. Larger images than 1536 x 1024 cost in proportion to their pixels.
 * - A partial image: 100 tokens.
 */
export function countUsage(basis: TokenBasis, { images, partials }: { images: number; partials: number }) {
  const text = countTextTokens(basis.prompt);
  const input = basis.references.reduce((sum, size) => sum + inputTokensOf(size, basis.inputFidelity), 0);
  const output = images * outputTokensOf(basis) + partials * tokensPerPartial;
  return {
    input_tokens: text + input,
    input_tokens_details: { text_tokens: text, image_tokens: input },
    output_tokens: output,
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
    total_tokens: text + input + output,
  };
}

function inputTokensOf({ width, height }: PixelSize, fidelity: "low" | "high"): number {
  const scale = Math.min(1, 512 / Math.min(width, height));
  const tiles = Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  const extra = width === height ? 4160 : 6240;
  return 65 + 129 * tiles + (fidelity === "high" ? extra : 0);
}

function outputTokensOf({ model, quality, size }: TokenBasis): number {
  const { width, height } = size;
  const [square, oblong] = model.outputTokens[quality] ?? [0, 0];
  const tokens = width === height ? square : oblong;
  return Math.ceil(tokens * Math.max(1, (width * height) / tablePixels));
}
