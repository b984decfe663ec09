import type { CallerOptions } from "../auth/authenticate.js";
import { checkEndpoints, type WebhooksOptions } from "../features/webhooks/webhook-options.js";
import { formatPath } from "../util/parse-fields.js";
import type { OptionsProblem } from "./options.js";

/**
 * Checks endpoints that are not a function against `allowHosts` and the callers. The types were checked before.
 *
 * @param callers `undefined` if they are not known
 */
export function* checkWebhooks(
  webhooks: WebhooksOptions | undefined,
  callers: readonly CallerOptions[] | undefined,
): Iterable<OptionsProblem> {
  if (webhooks === undefined || typeof webhooks.endpoints === "function") return;
  const ids = callers && new Set(callers.map(({ id }) => id));
  for (const [caller, endpoints] of Object.entries(webhooks.endpoints)) {
    const path = ["webhooks", "endpoints", caller];
    // A misspelled id would leave a caller without its webhooks.
    if (ids?.has(caller) === false) {
      yield { path: formatPath(path), message: "is not the id of an entry of callers" };
    }
    for (const { name, message } of checkEndpoints(endpoints, webhooks.allowHosts ?? [])) {
      yield { path: formatPath([...path, name, "url"]), message };
    }
  }
}
