import * as z from "zod/mini";
import type { ChannelOptions, FieldChanges } from "../../channels/channel.js";
import { name, names } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";

/** The schema of the option `parameters` of a channel. */
export const parametersSchema = /* @__PURE__ */ (() => {
  const fields = z.optional(z.record(name, z.unknown(), "must be an object of fields"));
  const changes = z.strictObject(
    { set: fields, default: fields, remove: z.optional(names) } satisfies Fields<FieldChanges>,
    "must be an object with set, default or remove",
  );
  return z.strictObject({
    parameters: z.record(name, changes, "must be an object of changes by model"),
  } satisfies Fields<Pick<ChannelOptions, "parameters">>);
})();
