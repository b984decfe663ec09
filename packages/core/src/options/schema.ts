import * as z from "zod/mini";
import type { PriceTables } from "../billing/model-details.js";
import type { ModelOptions } from "../models/resolve-model.js";
import type { BodyLimits } from "../request/read-request.js";
import type { Fields } from "../util/parse-fields.js";
import { capabilitiesSchema } from "./capabilities-schema.js";
import { channelSchema } from "./channel-schema.js";
import type { LoadedBilling } from "./options.js";
import { decimal, modelDetails } from "./price-schema.js";
import { boolean, bytes, limits, name, preferences, seconds, whole, withMethods } from "./schema-parts.js";

const BASE_PATH = "must begin with a slash and end without one, such as /ai";

const NAMED_ROWS = "must be an object of names and their rows";

const FAN_OUT = "must be false or an object with max";

const model = z.strictObject(
  {
    family: name,
    capabilities: z.optional(
      z.union([name, capabilitiesSchema], "must be the name of a row of capabilities, or a row"),
    ),
    fanOut: z.optional(
      z.union(
        [
          z.literal(false),
          z.strictObject({ max: whole(2).check(z.maximum(100, "must be at most 100")) }, FAN_OUT),
        ],
        FAN_OUT,
      ),
    ),
    edits: boolean,
    ...preferences,
    limits,
  } satisfies Fields<ModelOptions>,
  "must be an object with family",
);

const priceTables = {
  model_details: z.record(name, modelDetails, "is missing: an object of model names and their prices"),
  group_ratio: z.optional(z.record(name, decimal, "must be an object of groups and their ratios")),
} satisfies Fields<PriceTables>;

/** The schema of prices alone. */
export const priceTablesSchema = z.strictObject(priceTables, "must be an object with model_details");

const billing = z.strictObject(
  {
    ...priceTables,
    onLost: z.optional(z.literal(["release", "charge"], 'must be "release" or "charge"')),
  } satisfies Fields<LoadedBilling>,
  "must be an object with model_details",
);

/** How the gateway and its models are named. */
export const nameOptions = {
  basePath: z.optional(z.string(BASE_PATH).check(z.regex(/^(?:\/[\w.~-]+)+$/, BASE_PATH))),
  capabilities: z.optional(
    z.record(
      name,
      z.record(name, capabilitiesSchema, NAMED_ROWS),
      "must be an object of families and their rows",
    ),
  ),
  caseInsensitiveNames: boolean,
};

/** The models, and the accounts that make their images. */
export const providerOptions = {
  models: z.record(name, model, "is missing: an object of model names and their options"),
  channels: z
    .array(channelSchema, "is missing: a list of channels")
    .check(z.minLength(1, "must contain at least one channel")),
};

/** What every call is charged, and what it may take of time and memory. */
export const callOptions = {
  billing: z.optional(billing),
  ledger: withMethods("hold", "settle", "release", "sweep", "balance", "takeUndelivered", "markDelivered"),
  ...preferences,
  bodyLimits: z.optional(
    z.strictObject(
      {
        json: bytes,
        form: bytes,
        file: bytes,
        minBytesPerSecond: bytes,
        slowAfterSeconds: z.optional(
          z
            .int("must be a whole number of seconds")
            .check(z.minimum(1, "must be at least 1"), z.maximum(3_600, "must be at most 3600, an hour")),
        ),
      } satisfies Fields<BodyLimits>,
      "must be an object of limits in bytes",
    ),
  ),
  maxUpstreamResponseBytes: bytes,
  maxBytesInFlight: bytes,
  maxCallerShare: z.optional(
    z.number("must be a number").check(z.positive("must be above 0"), z.maximum(1, "must be at most 1")),
  ),
  uploadMemoryBytes: z.optional(whole(0)),
  heartbeatSeconds: seconds,
  responseIdleSeconds: seconds,
};
