import type { Usage } from "../image-request.js";
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
  const charges = createMemory<Charge>();
  const estimates = createMemory<Charge>();
  return {
    charge: (usage) =>
      charges(usage?.generated_images, usage?.output_tokens, usage?.total_tokens, () =>
        calculateCharge({ details, usage, group_ratio }),
      ),
    estimate: (request) =>
      estimates(request.maxImages, request.maxPixels, undefined, () =>
        estimateCharge({ details, request, group_ratio }),
      ),
  };
}

/** Counts are a client's and a provider's, so there may be any number of them. */
const MOST_REMEMBERED = 1_000;

type Count = number | undefined;

/** By numbers and not by one text of them, which takes longer to make than all else that is done here. */
function createMemory<T>(): (a: Count, b: Count, c: Count, make: () => T) => T {
  const values = new Map<Count, Map<Count, Map<Count, T>>>();
  let remembered = 0;
  return (a, b, c, make) => {
    const known = values.get(a)?.get(b)?.get(c);
    if (known !== undefined) return known;
    const value = make();
    if (remembered >= MOST_REMEMBERED) values.clear();
    remembered = values.size === 0 ? 1 : remembered + 1;
    const ofA = values.get(a) ?? new Map<Count, Map<Count, T>>();
    const ofB = ofA.get(b) ?? new Map<Count, T>();
    values.set(a, ofA.set(b, ofB.set(c, value)));
    return value;
  };
}
