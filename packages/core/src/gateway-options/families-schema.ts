import * as z from "zod/mini";
import { asFunction, boolean, name, names, TRUE_OR_FALSE } from "../options/schema-parts.js";

const DELIVERS = 'must be a list of "url" and "b64_json", the format of the provider first';

const ADDRESS = "must be an address";

const family = z.looseObject(
  {
    name,
    defaultBaseUrl: z.string(ADDRESS).check(z.refine((value) => URL.canParse(value), ADDRESS)),
    delivers: z.array(z.literal(["url", "b64_json"], DELIVERS), DELIVERS).check(z.minLength(1, DELIVERS)),
    dialects: z.optional(
      z.record(name, z.looseObject({}, "must be a dialect"), "must be an object of dialects"),
    ),
    operations: z.custom((value) => value instanceof Set, "must be a Set of operations"),
    reportsTokens: z.boolean(TRUE_OR_FALSE),
    readsQuality: boolean,
    modelNames: z.optional(names),
    normalize: asFunction,
    toUpstream: asFunction,
    fromUpstream: asFunction,
    toFailure: asFunction,
  },
  "must be a family",
);

/** The schema of `families`. */
export const familiesSchema = z.array(family, "must be a list of families");

/** The schema of `features`. */
export const featuresSchema = z.array(
  z.looseObject({ name, setup: asFunction }, "must be a feature"),
  "must be a list of features",
);
