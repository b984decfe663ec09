import type { Host } from "./host.ts";

/** Of every runtime whose way to the providers is `fetch`. Names are those of the checks. */
export const WITHOUT_ADDRESSES: Host["cannot"] = {
  "downloads nothing from a name with a private address":
    "fetch does not show which address a name has, so only addresses that stand in the link are refused",
};

/** Of workerd. */
export const WITHOUT_CAUSES: Host["cannot"] = {
  "knows that nothing was sent to a provider it cannot reach, and asks the next channel":
    "fetch fails with the same words before and after something was sent",
  "asks the next channel when the provider's name does not resolve":
    "fetch fails with the same words before and after something was sent",
};
