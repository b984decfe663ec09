import type { SizeLimits } from "../images/size.js";

/** What one model can do. Data, not code: a row can be replaced in `models[…].limits`. */
export interface ModelLimits {
  /** Sizes the model takes; `"none"` when it takes no size at all. Absent: not checked. */
  readonly size?: SizeLimits | "none" | undefined;
  /** How many reference images a request carries. */
  readonly references?: { readonly min?: number | undefined; readonly max: number } | undefined;
  /** Images that one request may make. */
  readonly maxImages?: number | undefined;
  /**
   * The most layers that `layer_decomposition` makes beside the base image. Default for `seedream`: 99 for a model
   * with `5-5` in its name or in its name at a channel, 16 for all others. Set it if an endpoint identifier (`ep-…`)
   * hides the name.
   */
  readonly maxLayers?: number | undefined;
  /** Reference images and images made, together. */
  readonly maxReferencesAndImages?: number | undefined;
}
