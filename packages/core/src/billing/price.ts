import type { Usage } from "../types.js";
import { remember } from "../util/remember.js";
import { type Charge, calculateCharge } from "./calculate-charge.js";
import type { DecimalInput } from "./decimal-input.js";
import { estimateCharge, type RequestBounds } from "./estimate-charge.js";
import type { ModelDetails } from "./model-details.js";

/** The price of one model for one group of callers. */
export interface Price {
  /** What a request costs that the provider reported on. */
  charge(usage: Usage | undefined): Charge;
  /** The most that a request can cost, before it is sent. */
  estimate(request: RequestBounds): Charge;
}

/** A price that works each charge out once: most requests ask for one to four images of few sizes. */
export function createPrice(details: ModelDetails, group_ratio: DecimalInput): Price {
  return {
    charge: remember(
      (usage) => calculateCharge({ details, usage, group_ratio }),
      (usage) => `${usage?.generated_images} ${usage?.output_tokens} ${usage?.total_tokens}`,
    ),
    estimate: remember(
      (request) => estimateCharge({ details, request, group_ratio }),
      (request) => `${request.maxImages} ${request.maxPixels}`,
    ),
  };
}
