import type { SizeLimits } from "../images/size.js";

/**
 * What one model can do. Data, not code: rows of a family, of the option `capabilities`, or of one model in
 * `models[…].capabilities`. Values that a row does not state are not checked.
 */
export interface Capabilities {
  /** The sizes that the model accepts; `"none"` if it accepts no `size` at all. */
  readonly size?: SizeLimits | "none" | undefined;
  /** The sizes with reference images, if they differ from `size`. Default: `size`. */
  readonly sizeWithReferences?: SizeLimits | undefined;
  /** The number of reference images of a request. Default: the limits of the family. */
  readonly references?: { readonly min?: number | undefined; readonly max: number } | undefined;
  /**
   * The largest number of images that the provider makes in one call, without layers. A whole number of at least 1.
   * Default: the limit of the family.
   */
  readonly imagesPerCall?: number | undefined;
  /** How many images the provider makes without a number of images. A whole number of at least 1. Default 1. */
  readonly defaultImages?: number | undefined;
  /**
   * The largest number of images of one call that makes a sequence of images (`enable_sequential` of Wan). Default:
   * `imagesPerCall`.
   */
  readonly imagesPerSequence?: number | undefined;
  /** The largest number of reference images and images made by one call, together. Default: the limit of the family. */
  readonly maxReferencesAndImages?: number | undefined;
  /** False if the provider refuses the field `stream` for this model. */
  readonly streaming?: boolean | undefined;
  /** False if the provider refuses the field `sequential_image_generation` for this model. */
  readonly sequentialImages?: boolean | undefined;
  /** What the model accepts as `background`. If absent, the field is not sent. */
  readonly background?: BackgroundRules | undefined;
  /**
   * What `layer_decomposition` makes; `"none"` if the model makes no layers. If absent, requests with layers are not
   * checked, and the hold counts the most layers of any model of the family.
   */
  readonly layers?: LayerRules | "none" | undefined;
  /** The values of `output_format`. If absent, any value is sent. */
  readonly outputFormats?: readonly string[] | undefined;
  /** The values of `quality`, without `auto`. If absent, any value is sent. */
  readonly qualities?: readonly string[] | undefined;
  /**
   * The most tokens of one image, by what its tokens depend on: the preset of its size (family `gemini`) or its quality
   * (family `openai`); `default` is for others. Only prices by token use it, for the hold and to cut a report of more.
   * Default: a bound of the family.
   */
  readonly outputTokens?: Readonly<Record<string, number>> | undefined;
  /** The most tokens of text and thoughts beside an image, used as `outputTokens`. Default: a bound of the family. */
  readonly textTokens?: number | undefined;
  /** The most input tokens of one reference image, used as `outputTokens`. Default: a bound of the family. */
  readonly referenceTokens?: number | undefined;
  /** When the provider released the model, such as `2026-11-12`. `/v1/models` shows it as `created`. Default: not known. */
  readonly released?: string | undefined;
  /** The document that states these facts, for people. */
  readonly source?: string | undefined;
  /** When the facts were last compared with the source, such as `2026-11`. For people. */
  readonly checked?: string | undefined;
}

/** What a model accepts as `background`. */
export interface BackgroundRules {
  readonly values: readonly string[];
  /** True if `transparent` requires a reference image that is a PNG with an alpha channel. Default false. */
  readonly transparentNeedsPng?: boolean | undefined;
}

/** What a model makes with `layer_decomposition`. */
export interface LayerRules {
  /** The largest number of layers beside the base image. */
  readonly max: number;
  /** The values of `size` with layers, in any letter case. If absent, the rules for `size` apply. */
  readonly sizes?: readonly string[] | undefined;
}

/** A row of a family's table of models: the names of one model, what it can do, and where that is stated. */
export interface ModelRow extends Capabilities {
  /** The model's names without the provider's prefix and without the date of a build. */
  readonly names: readonly string[];
  /** The model's names at the provider as far as they are known, for the documentation. */
  readonly upstreamNames?: readonly string[] | undefined;
  /** Facts that the gateway does not check, for the documentation. Plain sentences. */
  readonly note?: string | undefined;
  readonly source: string;
  readonly checked: string;
}
