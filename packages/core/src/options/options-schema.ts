import { z } from "zod";
import type { UsageReports } from "../billing/ledger.js";
import type { BodyLimits } from "../request/read-request.js";
import { billing } from "./billing-schema.js";
import { apiKey, callerLimits } from "./caller-schema.js";
import { channel } from "./channel-schema.js";
import type { LoadedOptions } from "./load-options.js";
import { model } from "./model-schema.js";
import type { IdempotencyOptions } from "./options.js";
import {
  asFunction,
  bytes,
  MAX_SECONDS,
  name,
  responseFormat,
  TRUE_OR_FALSE,
  whole,
  withMethods,
} from "./schema-values.js";

const BASE_PATH = "must begin with a slash and end without one, such as /ai";

const family = z.looseObject(
  {
    name,
    defaultBaseUrl: z.url("must be an address"),
    operations: z.instanceof(Set, { error: "must be a Set of operations" }),
    reportsTokens: z.boolean(TRUE_OR_FALSE),
    normalize: asFunction,
    toUpstream: asFunction,
    fromUpstream: asFunction,
    toFailure: asFunction,
  },
  "must be a family",
);

const seconds = z
  .number("must be a number of seconds")
  .positive("must be above 0")
  .max(MAX_SECONDS, `must be at most ${MAX_SECONDS}, a day`);

const REPORTS = ["balance", "records", "totals"] satisfies (keyof UsageReports)[];

const shape = {
  basePath: z
    .string(BASE_PATH)
    .regex(/^(?:\/[\w.~-]+)+$/, BASE_PATH)
    .optional(),
  caseInsensitiveNames: z.boolean(TRUE_OR_FALSE).optional(),
  models: z.record(name, model, "is missing: names and what is behind them"),
  channels: z.array(channel, "is missing: a list of channels").min(1, "must hold at least one channel"),
  callers: z.array(apiKey, "must be a list of keys").optional(),
  authenticate: asFunction.optional(),
  billing: billing.optional(),
  limits: callerLimits.optional(),
  ledger: withMethods("hold", "settle", "release", "sweep", "takeUndelivered", "markDelivered", ...REPORTS),
  admission: withMethods("admit", "finish", "setCooldown"),
  idempotency: z
    .strictObject(
      {
        seconds: z.int("must be a whole number of seconds").min(1, "must be at least 1").optional(),
        maxResponseBytes: bytes,
      } satisfies Record<keyof IdempotencyOptions, z.ZodType>,
      "must be an object with seconds or maxResponseBytes",
    )
    .optional(),
  responseFormat,
  bodyLimits: z
    .strictObject(
      {
        json: bytes,
        form: bytes,
        file: bytes,
        minBytesPerSecond: bytes,
        slowAfterSeconds: z
          .int("must be a whole number of seconds")
          .min(1, "must be at least 1")
          .max(3_600, "must be at most 3600, an hour")
          .optional(),
      } satisfies Record<keyof BodyLimits, z.ZodType>,
      "must be an object of limits in bytes",
    )
    .optional(),
  maxResponseBytes: bytes,
  maxBytesInFlight: bytes,
  maxCallerShare: z
    .number("must be a number")
    .positive("must be above 0")
    .max(1, "must be at most 1")
    .optional(),
  uploadMemoryBytes: whole(0).optional(),
  heartbeatSeconds: seconds.optional(),
  responseIdleSeconds: seconds.optional(),
  families: z.array(family, "must be a list of families").optional(),
  beforeSend: asFunction.optional(),
  onUsage: asFunction.optional(),
  onError: asFunction.optional(),
  onRequest: asFunction.optional(),
  logger: withMethods("warn", "error"),
  fetch: asFunction.optional(),
} satisfies Record<keyof LoadedOptions, z.ZodType>;

/** The shape of the options; what spans several of them is checked in `check-options.ts`. */
export const gatewayOptionsSchema = z.strictObject(shape, "must be an object");

const { models: _models, channels: _channels, callers: _apiKeys, billing: _billing, ...fixedShape } = shape;

/** The same without what may be a function that reads it. */
export const fixedOptionsSchema = z.strictObject(fixedShape);
