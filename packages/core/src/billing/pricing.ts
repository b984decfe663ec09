import { GatewayError } from "../errors.js";
import type { Usage } from "../image-request.js";
import { createSeriesMap } from "../series.js";
import { type Charge, calculateCharge } from "./calculate-charge.js";
import type { DecimalInput } from "./decimal-input.js";
import type { ModelDetails } from "./model-details.js";

/** Prices and ratios, in the spelling of the interface's back office. */
export interface BillingOptions {
  /** Service model, or series such as `image-edit*`, to its price. An exact name wins, then the longest prefix. */
  model_details: Readonly<Record<string, ModelDetails>>;
  /** Caller group to its ratio. Default `{ default: "1" }`. */
  group_ratio?: Readonly<Record<string, DecimalInput>> | undefined;
}

/** The group of a caller that names none. */
export const DEFAULT_GROUP = "default";

/** The price of one model for one group of callers. */
export interface Price {
  charge(usage: Usage | undefined): Charge;
}

/** Finds prices; built once from the options. */
export interface PriceList {
  /**
   * @throws GatewayError `model_not_priced` or `group_not_priced`: with billing on, nothing is
   * given away because an entry is missing.
   */
  find(model: string, group: string): Price;
}

/** A price list from validated options. */
export function createPriceList({ model_details, group_ratio }: BillingOptions): PriceList {
  const details = createSeriesMap(model_details);
  const ratios = new Map(Object.entries(group_ratio ?? { [DEFAULT_GROUP]: "1" }));
  return {
    find(model, group) {
      const found = details.find(model);
      if (found === undefined)
        throw new GatewayError("model_not_priced", `The model ${model.slice(0, 128)} has no price here.`);
      const ratio = ratios.get(group);
      if (ratio === undefined)
        throw new GatewayError("group_not_priced", `The group ${group} has no price ratio here.`);
      return { charge: (usage) => calculateCharge({ details: found.value, usage, group_ratio: ratio }) };
    },
  };
}
