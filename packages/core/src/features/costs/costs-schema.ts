import * as z from "zod/mini";
import { modelDetails } from "../../options/price-schema.js";
import { name } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";
import type { CostsOptions } from "./rank-by-cost.js";

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
