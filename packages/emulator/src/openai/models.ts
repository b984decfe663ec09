/** A level of quality. `auto` is `high` in the emulator. */
export type Quality = "low" | "medium" | "high" | "xhigh" | "max";

/** What one model of OpenAI's images API takes and returns. */
export interface OpenaiModel {
  readonly names: readonly string[];
  /** `fixed`: three sizes. `free`: sides that are multiples of 16, within the bounds of `size.ts`. */
  readonly sizes: "fixed" | "free";
  /**
   * The output tokens of an image of 1024x1024, and of one of 1536x1024 or 1024x1536, by quality. The model has the
   * qualities that have an entry.
   */
  readonly outputTokens: Readonly<Partial<Record<Quality, readonly [square: number, oblong: number]>>>;
  readonly inputFidelity: readonly ("low" | "high")[];
  /** `complexity`, and the formats gif and svg. */
  readonly isNewest: boolean;
  /** `markup` of edits. */
  readonly hasMarkup: boolean;
}

/**
 * The tokens of `high` and below follow from the prices per image that OpenAI publishes, divided by the price per token.
 * `xhigh` and `max` are not published: they are the emulator's choice, 1.5 and 2 times `high`.
 */
const version2Tokens = {
  low: [200, 167],
  medium: [1767, 1367],
  high: [7033, 5500],
} as const;
const version25Tokens = {
  ...version2Tokens,
  low: [196, 164],
  xhigh: [10_550, 8250],
  max: [14_066, 11_000],
} as const;
const version1Tokens = { low: [272, 408], medium: [1056, 1584], high: [4160, 6240] } as const;

/** From OpenAI's SDK and guide, November 2026. */
const models: readonly OpenaiModel[] = [
  {
    names: ["gpt-image-2.6-sunburst", "gpt-image-2.6-flare"],
    sizes: "free",
    outputTokens: { ...version25Tokens, low: [686, 574], medium: [6184, 4785] }, // 3.5 times those of 2.5
    inputFidelity: [],
    isNewest: true,
    hasMarkup: true,
  },
  {
    names: [
      "gpt-image-2.5-sunburst",
      "gpt-image-2.5-sunburst-2026-09-08",
      "gpt-image-2.5-flare",
      "gpt-image-2.5-flare-2026-09-08",
    ],
    sizes: "free",
    outputTokens: version25Tokens,
    inputFidelity: [],
    isNewest: false,
    hasMarkup: true,
  },
  {
    names: ["gpt-image-2", "gpt-image-2-2026-04-21"],
    sizes: "free",
    outputTokens: version2Tokens,
    inputFidelity: [],
    isNewest: false,
    hasMarkup: false,
  },
  {
    names: ["gpt-image-1.5", "chatgpt-image-latest"],
    sizes: "fixed",
    outputTokens: version1Tokens,
    inputFidelity: ["low", "high"],
    isNewest: false,
    hasMarkup: false,
  },
  {
    names: ["gpt-image-1-mini"],
    sizes: "fixed",
    outputTokens: version1Tokens,
    inputFidelity: ["low"],
    isNewest: false,
    hasMarkup: false,
  },
];

/** Finds a model by its name. Models that OpenAI has shut down (`gpt-image-1`, `dall-e-*`) do not exist. */
export function findOpenaiModel(name: string): OpenaiModel | undefined {
  return models.find(({ names }) => names.includes(name));
}

/** The model behind a deployment of Azure whose name is not that of a model. */
export const modelOfOtherDeployments = "gpt-image-2";

const formatsOfAll = ["png", "jpeg", "webp"] as const;

/** The values of `output_format`. */
export function formatsOf({ isNewest }: OpenaiModel): readonly ("png" | "jpeg" | "webp" | "gif" | "svg")[] {
  return isNewest ? [...formatsOfAll, "gif", "svg"] : formatsOfAll;
}

const allQualities = ["low", "medium", "high", "xhigh", "max"] as const satisfies readonly Quality[];

/** The values of `quality` besides `auto`. */
export function qualitiesOf({ outputTokens }: OpenaiModel): readonly Quality[] {
  return allQualities.filter((quality) => outputTokens[quality] !== undefined);
}
