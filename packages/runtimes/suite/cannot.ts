import type { Host } from "./host.ts";

/** The checks that runtimes with the transport `fetch` cannot run, by the name of the check. */
export const WITHOUT_ADDRESSES: Host["cannot"] = {
  "downloads nothing from a name with a private address":
    "fetch does not show the address of a name, so only addresses in the link itself are refused",
};

/** The checks that workerd cannot run. */
export const WITHOUT_CAUSES: Host["cannot"] = {
  "tries the next channel if a provider cannot be reached, because nothing was sent":
    "fetch fails with the same message before and after something was sent",
  "tries the next channel when the provider's name does not resolve":
    "fetch fails with the same message before and after something was sent",
};
