import { GatewayError } from "../errors.js";
import type { Loadable } from "../options/loadable.js";
import { createSeriesMap } from "../util/series.js";
import type { DecimalInput } from "./decimal-input.js";
import type { LostPolicy } from "./ledger.js";
import type { ModelDetails } from "./model-details.js";
import { createPrice, type Price } from "./price.js";

/** Prices and ratios, in the spelling of the interface's back office. */
export interface BillingOptions {
  /** Service model, or series such as `image-edit*`, to its price. An exact name wins, then the longest prefix. */
  model_details: Loadable<Readonly<Record<string, ModelDetails>>>;
  /** Caller group to its ratio. Default `{ default: "1" }`. */
  group_ratio?: Loadable<Readonly<Record<string, DecimalInput>>> | undefined;
  /**
   * What is charged for a request that was cut off by the death of its process: nothing (`release`), or all that was
   * held for it (`charge`). Default `release`.
   */
  onLost?: LostPolicy | undefined;
}

/** Prices and ratios as they stand in the back office. */
export interface PriceTables {
  readonly model_details: Readonly<Record<string, ModelDetails>>;
  readonly group_ratio?: Readonly<Record<string, DecimalInput>> | undefined;
}

/** The group of a caller that names none. */
export const DEFAULT_GROUP = "default";

/** Finds prices; built once from the options. */
export interface PriceList {
  /**
   * @throws GatewayError `model_not_priced` or `group_not_priced`: with billing on, nothing is
   * given away because an entry is missing.
   */
  find(model: string, group: string): Price;
}

/** A price list from validated options. */
export function createPriceList({ model_details, group_ratio }: PriceTables): PriceList {
  const details = createSeriesMap(model_details);
  const ratios = new Map(Object.entries(group_ratio ?? { [DEFAULT_GROUP]: "1" }));
  const prices = new Map<ModelDetails, Map<string, Price>>();
  const priceOf = (entry: ModelDetails, group: string, ratio: DecimalInput): Price => {
    const ofEntry = prices.get(entry) ?? new Map<string, Price>();
    prices.set(entry, ofEntry);
    const price = ofEntry.get(group) ?? createPrice(entry, ratio);
    ofEntry.set(group, price);
    return price;
  };
  return {
    find(model, group) {
      const found = details.find(model);
      if (found === undefined)
        throw new GatewayError("model_not_priced", `The model ${model.slice(0, 128)} has no price here.`);
      const ratio = ratios.get(group);
      if (ratio === undefined)
        throw new GatewayError("group_not_priced", `The group ${group} has no price ratio here.`);
      return priceOf(found.value, group, ratio);
    },
  };
}
