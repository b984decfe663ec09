/** How a model reads `parameters.size`, and what it makes without it. */
export type SizeRule =
  /**
   * Any size with `minPixels` to `maxPixels` (width × height), at most `maxSideRatio` times as long as wide. The
   * default has `defaultPixels`, in the ratio of the last reference, else of the prompt or square.
   */
  | {
      readonly kind: "pixels";
      readonly minPixels: number;
      readonly maxPixels: number;
      readonly maxSideRatio: number;
      readonly defaultPixels: number;
      readonly ratioWithoutReference: "of-the-prompt" | "square";
    }
  /** Each side from `min` to `max`. The default has about `defaultPixels` in the ratio of the last reference. */
  | { readonly kind: "sides"; readonly min: number; readonly max: number; readonly defaultPixels: number }
  /** One of these sizes; the first is the default. */
  | { readonly kind: "list"; readonly sizes: readonly string[] }
  /** One of the tiers, of which the last has `4K` without input images only; or a size with these bounds. */
  | {
      readonly kind: "tiers";
      readonly tiers: readonly ("1K" | "2K" | "4K")[];
      readonly minPixels: number;
      readonly maxPixels: number;
      readonly maxSideRatio: number;
    }
  /** The model ignores the parameter. It makes the default of the rule above. */
  | { readonly kind: "none"; readonly min: number; readonly max: number; readonly defaultPixels: number };

/** What one Qwen-Image or Wan model takes and returns. */
export interface DashscopeModel {
  readonly name: string;
  /** Whether there are names with a date, such as `qwen-image-plus-2026-01-09`, besides the name itself. */
  readonly hasSnapshots: boolean;
  readonly size: SizeRule;
  /** The largest `n`. */
  readonly maxImages: number;
  /** The value of an absent `n`. Default 1. */
  readonly usualImages?: number;
  /** The largest `n` with `enable_sequential`. Absent: the model does not have the field. */
  readonly maxSequentialImages?: number;
  readonly minReferences: number;
  /** Default 3. */
  readonly maxReferences?: number;
  /** The largest file of an input image. Default 10 MB. */
  readonly maxReferenceBytes?: number;
  /** What exceeds this length of the prompt is dropped. */
  readonly promptLimit: { readonly characters: number } | { readonly tokens: number };
  readonly hasPromptExtend: boolean;
  /** `enable_thinking` and `prompt_extend_mode`. */
  readonly hasThinking: boolean;
  /** The fields of `usage`: `image_count` with `width` and `height` or with `size`, or counts of input and output images. */
  readonly usage: "image_count" | "input_and_output" | "image_count_and_size";
  /** Whether it also runs as a task, with `X-DashScope-Async: enable`. Its images then have a `type`. */
  readonly runsAsTask?: true;
}

const version3Sizes: SizeRule = {
  kind: "pixels",
  minPixels: 512 * 512,
  maxPixels: 2560 * 2560, // some sources: 2048 * 2048
  maxSideRatio: 8,
  defaultPixels: 2048 * 2048,
  ratioWithoutReference: "of-the-prompt",
};
const version2Sizes: SizeRule = {
  kind: "pixels",
  minPixels: 512 * 512,
  maxPixels: 2048 * 2048,
  maxSideRatio: Number.POSITIVE_INFINITY,
  defaultPixels: 2048 * 2048,
  ratioWithoutReference: "square",
};
/** The bounds of sizes in pixels are not documented: they are those of the tiers. */
const wanSizes = { kind: "tiers", minPixels: 512 * 512, maxSideRatio: 8 } as const;
const wanFacts = {
  hasSnapshots: false,
  maxImages: 4,
  usualImages: 4, // some sources: 1 if the call is synchronous
  maxSequentialImages: 12,
  minReferences: 0,
  maxReferences: 9,
  maxReferenceBytes: 20 * 1024 * 1024,
  promptLimit: { characters: 5000 },
  hasPromptExtend: false,
  hasThinking: false,
  usage: "image_count_and_size",
  runsAsTask: true,
} as const;

/** In the order of the provider's message. */
const fiveSizes: SizeRule = {
  kind: "list",
  sizes: ["1664*928", "1472*1104", "1328*1328", "1104*1472", "928*1664"],
};
const editSizes = { kind: "sides", min: 512, max: 2048, defaultPixels: 1024 * 1024 } as const;

/** From Alibaba Cloud Model Studio's Qwen-Image and Wan references, November 2026. */
const models: readonly DashscopeModel[] = [
  {
    ...wanFacts,
    name: "wan2.7-image-pro",
    size: { ...wanSizes, tiers: ["1K", "2K", "4K"], maxPixels: 4096 * 4096 },
  },
  { ...wanFacts, name: "wan2.7-image", size: { ...wanSizes, tiers: ["1K", "2K"], maxPixels: 2048 * 2048 } },
  {
    name: "qwen-image-3.0-pro",
    hasSnapshots: true,
    size: version3Sizes,
    maxImages: 6,
    minReferences: 0,
    promptLimit: { tokens: 4500 },
    hasPromptExtend: true,
    hasThinking: true,
    usage: "input_and_output",
  },
  {
    name: "qwen-image-3.0",
    hasSnapshots: true,
    size: version3Sizes,
    maxImages: 6,
    minReferences: 0,
    promptLimit: { tokens: 4500 },
    hasPromptExtend: true,
    hasThinking: true,
    usage: "input_and_output",
  },
  {
    name: "qwen-image-2.0-pro",
    hasSnapshots: true,
    size: version2Sizes,
    maxImages: 6,
    minReferences: 0,
    promptLimit: { tokens: 1300 }, // some sources: 800 characters
    hasPromptExtend: true,
    hasThinking: false,
    usage: "input_and_output",
  },
  {
    name: "qwen-image-2.0",
    hasSnapshots: true,
    size: version2Sizes,
    maxImages: 6,
    minReferences: 0,
    promptLimit: { tokens: 1300 }, // some sources: 800 characters
    hasPromptExtend: true,
    hasThinking: false,
    usage: "input_and_output",
  },
  {
    name: "qwen-image-max",
    hasSnapshots: true,
    size: fiveSizes,
    maxImages: 1,
    minReferences: 0,
    promptLimit: { characters: 800 },
    hasPromptExtend: true,
    hasThinking: false,
    usage: "image_count",
  },
  {
    name: "qwen-image-plus",
    hasSnapshots: true,
    size: fiveSizes,
    maxImages: 1,
    minReferences: 0,
    promptLimit: { characters: 800 },
    hasPromptExtend: true,
    hasThinking: false,
    usage: "image_count",
  },
  {
    name: "qwen-image-edit-max",
    hasSnapshots: true,
    size: editSizes,
    maxImages: 6,
    minReferences: 1,
    promptLimit: { characters: 800 },
    hasPromptExtend: true,
    hasThinking: false,
    usage: "image_count",
  },
  {
    name: "qwen-image-edit-plus",
    hasSnapshots: true,
    size: editSizes,
    maxImages: 6,
    minReferences: 1,
    promptLimit: { characters: 800 },
    hasPromptExtend: true,
    hasThinking: false,
    usage: "image_count",
  },
  {
    name: "qwen-image-edit",
    hasSnapshots: false,
    size: { ...editSizes, kind: "none" },
    maxImages: 1,
    minReferences: 1,
    promptLimit: { characters: 800 },
    hasPromptExtend: false,
    hasThinking: false,
    usage: "image_count",
  },
];

/** Finds a model by its name, with or without the date of a snapshot. */
export function findDashscopeModel(name: string): DashscopeModel | undefined {
  const series = name.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  return models.find((model) => model.name === name || (model.hasSnapshots && model.name === series));
}
