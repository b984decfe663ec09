import * as z from "zod/mini";
import type { UsageReports } from "../billing/ledger.js";
import type { PriceTables } from "../billing/model-details.js";
import { MIN_SECRET_LENGTH, type ResultsOptions } from "../features/results/results-options.js";
import { webhooksSchema } from "../features/webhooks/webhook-schema.js";
import type { ModelOptions } from "../models/resolve-model.js";
import type { BodyLimits } from "../request/read-request.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import type { Fields } from "../util/parse-fields.js";
import { callerSchema } from "./caller-schema.js";
import { capabilitiesSchema } from "./capabilities-schema.js";
import { channelSchema, isChannelUrl } from "./channel-schema.js";
import type { LoadedBilling, LoadedOptions } from "./load.js";
import { type CorsOptions, type IdempotencyOptions, IS_WORKERS, type TaskOptions } from "./options.js";
import { decimal, modelDetails } from "./price-schema.js";
import {
  asFunction,
  boolean,
  bytes,
  hasFunctions,
  hook,
  limits,
  MAX_SECONDS,
  name,
  names,
  preferences,
  seconds,
  TRUE_OR_FALSE,
  whole,
  wholeUpTo,
  withMethods,
} from "./schema-parts.js";

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

const ORIGIN = "must be an origin such as https://app.example.com, without a path";

const ORIGINS = 'must be "*" or a list of origins';

const cors = z.strictObject(
  {
    origins: z.union(
      [
        z.literal("*"),
        z
          .array(z.string(ORIGIN).check(z.refine(isOrigin, ORIGIN)), ORIGINS)
          .check(z.minLength(1, "must contain at least one origin")),
      ],
      ORIGINS,
    ),
    maxAgeSeconds: z.optional(
      whole(0).check(z.maximum(MAX_SECONDS, `must be at most ${MAX_SECONDS}, a day`)),
    ),
  } satisfies Fields<CorsOptions>,
  "must be an object with origins",
);

const STORE = "must be a store with put, or a function";

const SECRETS = "must be a list of secrets";

const SECRET = `must be a string of at least ${MIN_SECRET_LENGTH} characters; is the environment variable set?`;

/** Ten years. */
const MAX_TTL_SECONDS = 315_360_000;

const results = z.strictObject(
  {
    store: z.custom<never>((value) => typeof value === "function" || hasFunctions(value, ["put"]), STORE),
    urls: z.optional(z.literal(["store", "gateway"], 'must be "store" or "gateway"')),
    ttlSeconds: z.optional(
      whole(1).check(z.maximum(MAX_TTL_SECONDS, `must be at most ${MAX_TTL_SECONDS}, ten years`)),
    ),
    timeoutSeconds: seconds,
    publicUrl: z.optional(
      z
        .string("must be a string")
        .check(
          z.refine(isBaseUrl, "must be an http or https address without query, fragment and credentials"),
        ),
    ),
    secrets: z.optional(
      z
        .array(z.string(SECRET).check(z.minLength(MIN_SECRET_LENGTH, SECRET)), SECRETS)
        .check(z.minLength(1, "must contain at least one secret")),
    ),
    native: boolean,
  } satisfies Fields<ResultsOptions>,
  "must be an object with store",
);

const tasks = z.strictObject(
  {
    concurrency: z.optional(wholeUpTo(0, 1_000)),
    expiresAfterSeconds: z.optional(wholeUpTo(60, 2_592_000)),
    keepSeconds: z.optional(wholeUpTo(60, 31_536_000)),
    maxOpen: z.optional(wholeUpTo(1, 10_000_000)),
    maxOpenBytes: z.optional(wholeUpTo(1024 * 1024, Number.MAX_SAFE_INTEGER)),
  } satisfies Fields<TaskOptions>,
  "must be an object",
);

const OPENAPI = "must be true, false, or an OpenAPI document";

const OPENAPI_ON_WORKERS =
  "must be the document on Cloudflare Workers: openApiDocument of @calotype/core/openapi";

const BASE_PATH = "must begin with a slash and end without one, such as /ai";

const REPORTS = ["balance", "records", "totals"] satisfies (keyof UsageReports)[];

const shape = {
  basePath: z.optional(z.string(BASE_PATH).check(z.regex(/^(?:\/[\w.~-]+)+$/, BASE_PATH))),
  capabilities: z.optional(
    z.record(
      name,
      z.record(name, capabilitiesSchema, NAMED_ROWS),
      "must be an object of families and their rows",
    ),
  ),
  caseInsensitiveNames: boolean,
  cors: z.optional(cors),
  showPrices: boolean,
  showCharge: boolean,
  healthz: boolean,
  openapi: z.optional(
    z
      .custom<boolean | JsonObject>((value) => typeof value === "boolean" || isJsonObject(value), OPENAPI)
      .check(z.refine((value) => value !== true || !IS_WORKERS, OPENAPI_ON_WORKERS)),
  ),
  reference: hook,
  models: z.record(name, model, "is missing: an object of model names and their options"),
  channels: z
    .array(channelSchema, "is missing: a list of channels")
    .check(z.minLength(1, "must contain at least one channel")),
  callers: z.optional(z.array(callerSchema, "must be a list of callers")),
  authenticate: hook,
  billing: z.optional(billing),
  limits,
  ledger: withMethods("hold", "settle", "release", "sweep", "takeUndelivered", "markDelivered", ...REPORTS),
  admission: withMethods("admit", "finish", "setCooldown"),
  idempotency: z.optional(
    z.strictObject(
      {
        seconds: z.optional(
          z.int("must be a whole number of seconds").check(z.minimum(1, "must be at least 1")),
        ),
        maxResponseBytes: bytes,
      } satisfies Fields<IdempotencyOptions>,
      "must be an object with seconds or maxResponseBytes",
    ),
  ),
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
  results: z.optional(results),
  webhooks: z.optional(webhooksSchema),
  tasks: z.optional(tasks),
  families: z.optional(z.array(family, "must be a list of families")),
  beforeSend: hook,
  afterImage: hook,
  onUsage: hook,
  onBudget: hook,
  onError: hook,
  onRequest: hook,
  logger: withMethods("warn", "error"),
  logCalls: boolean,
  telemetry: withMethods("callStarted"),
  fetch: hook,
} satisfies Fields<LoadedOptions>;

/** The shape of the options. `validate.ts` checks the rules that span several options. */
export const gatewayOptionsSchema = z.strictObject(shape, "must be an object");

const {
  models: _models,
  channels: _channels,
  callers: _callers,
  billing: _billing,
  webhooks: _webhooks,
  ...fixedShape
} = shape;

/** The options that cannot be functions that load them. */
export const fixedOptionsSchema = z.strictObject(fixedShape);

function isBaseUrl(value: string): boolean {
  return isChannelUrl(value) && new URL(value).search === "";
}

/** Browsers send origins in this form. Apps have schemes of their own, such as `capacitor://localhost`. */
function isOrigin(value: string): boolean {
  if (!URL.canParse(value) || value.includes("*")) return false;
  const { origin } = new URL(value);
  return origin === "null"
    ? /^(?!https?:|file:)[a-z][a-z\d+.-]*:\/\/[\w.:-]+$/.test(value)
    : origin === value;
}
