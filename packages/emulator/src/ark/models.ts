/** A name for a group of sizes. The model picks the size of the group whose aspect ratio suits the prompt. */
export type ArkPreset = "1K" | "1.5K" | "2K" | "3K" | "4K";

/** What one Seedream model takes and returns. */
export interface ArkModel {
  /** Every name of the model, on Ark (`doubao-…`) and on BytePlus. A name without its date does not exist. */
  readonly names: readonly string[];
  readonly presets: readonly ArkPreset[];
  /** Bounds of width × height, both inclusive. */
  readonly minPixels: number;
  readonly maxPixels: number;
  readonly maxReferences: number;
  /** Whether one call can make several images. If not, `sequential_image_generation` and `stream` are refused. */
  readonly makesBatches: boolean;
  /** `background: "transparent"`: ignored, taken, or taken if a reference is a PNG with an alpha channel. */
  readonly transparency: "none" | "free" | "needs-alpha-reference";
  /** The most layers of `layer_decomposition`, without the base image; 0: the field is ignored. */
  readonly maxLayers: number;
  /** Whether `output_format` has an effect and is in the response. If not, every image is a JPEG. */
  readonly hasOutputFormat: boolean;
  /**
   * Which references `usage.input_images` counts, the references that are charged: all `"after-the-first"`, or
   * `"none"` (the model reports 0). Absent: the model does not report `input_images`.
   */
  readonly chargedReferences?: "none" | "after-the-first";
  /** `optimize_prompt_options.mode: "fast"`. */
  readonly hasFastMode: boolean;
  /** `tools: [{ "type": "web_search" }]`. */
  readonly searchesTheWeb: boolean;
}

/** From Ark's and BytePlus ModelArk's image generation references, November 2026. */
const models: readonly ArkModel[] = [
  {
    names: ["doubao-seedream-5-5-261028", "dola-seedream-5-5-261028", "seedream-5-5-261028"],
    presets: ["1K", "1.5K", "2K"],
    minPixels: 921_600,
    maxPixels: 4_624_220,
    maxReferences: 10,
    makesBatches: false,
    transparency: "free",
    maxLayers: 99,
    hasOutputFormat: true,
    chargedReferences: "none",
    hasFastMode: false,
    searchesTheWeb: false,
  },
  {
    names: ["doubao-seedream-5-0-pro-260628", "dola-seedream-5-0-pro-260628"],
    presets: ["1K", "1.5K", "2K"],
    minPixels: 921_600,
    maxPixels: 4_624_220,
    maxReferences: 10,
    makesBatches: false,
    transparency: "needs-alpha-reference",
    maxLayers: 16,
    hasOutputFormat: true,
    chargedReferences: "after-the-first",
    hasFastMode: false,
    searchesTheWeb: false,
  },
  {
    names: ["doubao-seedream-5-0-flash-260915", "dola-seedream-5-0-flash-260915"],
    presets: ["1K", "1.5K", "2K"],
    minPixels: 921_600,
    maxPixels: 4_624_220,
    maxReferences: 10,
    makesBatches: false,
    transparency: "free",
    maxLayers: 16,
    hasOutputFormat: true,
    chargedReferences: "none",
    hasFastMode: false,
    searchesTheWeb: false,
  },
  {
    names: [
      "doubao-seedream-5-0-lite-260128",
      "doubao-seedream-5-0-260128",
      "seedream-5-0-lite-260128",
      "seedream-5-0-260128",
    ],
    presets: ["2K", "3K", "4K"],
    minPixels: 3_686_400,
    maxPixels: 16_777_216,
    maxReferences: 14,
    makesBatches: true,
    transparency: "none",
    maxLayers: 0,
    hasOutputFormat: true,
    hasFastMode: false,
    searchesTheWeb: true,
  },
  {
    names: ["doubao-seedream-4-5-251128", "seedream-4-5-251128"],
    presets: ["2K", "4K"],
    minPixels: 3_686_400,
    maxPixels: 16_777_216,
    maxReferences: 14,
    makesBatches: true,
    transparency: "none",
    maxLayers: 0,
    hasOutputFormat: false,
    hasFastMode: false,
    searchesTheWeb: false,
  },
  {
    names: ["doubao-seedream-4-0-250828", "seedream-4-0-250828"],
    presets: ["1K", "2K", "4K"],
    minPixels: 921_600,
    maxPixels: 16_777_216,
    maxReferences: 14,
    makesBatches: true,
    transparency: "none",
    maxLayers: 0,
    hasOutputFormat: false,
    hasFastMode: true,
    searchesTheWeb: false,
  },
];

/** A model of the table under the name that the response shows. */
export type NamedArkModel = ArkModel & { readonly name: string };

/** Finds a model by one of its names, or by an endpoint id that `endpoints` maps to one. */
export function findArkModel(
  nameOrEndpoint: string,
  endpoints: Readonly<Record<string, string>>,
): NamedArkModel | undefined {
  const mapped = Object.hasOwn(endpoints, nameOrEndpoint) ? endpoints[nameOrEndpoint] : undefined;
  const name = mapped ?? nameOrEndpoint;
  const model = models.find(({ names }) => names.includes(name));
  return model && { ...model, name };
}
