import * as z from "zod/mini";
import { modelDetails } from "../../options/price-schema.js";
import { name } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";

/** The options of `costs`. */
export interface CostsOptions {
  /**
   * Which of the usable channels of the highest priority gets a request. `"priority"`: all of them, by their weights. `"cost"`: those
   * with the lowest cost, as far as it is known, by their weights. Default `"priority"`.
   */
  readonly routing?: "priority" | "cost" | undefined;
}

export const routing = /* @__PURE__ */ (() =>
  z.optional(z.enum(["priority", "cost"], 'must be "priority" or "cost"')))();

/** The schema of {@link CostsOptions}. */
export const costsSchema = /* @__PURE__ */ (() =>
  z.strictObject({ routing } satisfies Fields<CostsOptions>))();

/** The schema of the option `costs` of a channel. */
export const channelSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    costs: z.record(name, modelDetails, 'must be an object of prices by model, or "reported"'),
  }))();
