import type { DecimalInput } from "./decimal-input.js";

/** Charged by image: `model_price × usage.generated_images × group_ratio`. */
export interface PerRequestDetails {
  pricing_mode: "per-request";
  /** The price of one image. */
  model_price: DecimalInput;
  /** Round the charge once, half up, to so many places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/** Charged by the tokens that the provider reports. */
export interface PerTokenDetails {
  pricing_mode: "per-token";
  /** The price of a million output tokens. */
  output_token_price: DecimalInput;
  /** The price of a million of the other tokens, `total_tokens − output_tokens`. Default 0. */
  input_token_price?: DecimalInput | undefined;
  /** Round the charge once, half up, to so many places (0 to 30). Default: exact. */
  decimal_places?: number | undefined;
}

/** How one model is charged. In the spelling of the interface's back office. */
export type ModelDetails = PerRequestDetails | PerTokenDetails;
