import { z } from "zod";
import type { CallerLimits } from "../admission/caller-limits.js";
import { parseDecimal } from "../billing/decimal.js";
import type { UsageReports } from "../billing/ledger.js";
import type { ModelLimits } from "../families/model-limits.js";
import type { ApiKeyOptions } from "../request/authenticate.js";
import { parseExpiry } from "../request/expiry.js";
import type { SizeLimits } from "../request/image-size.js";
import type { BodyLimits } from "../request/read-fields.js";
import type { ChannelOptions } from "../routing/channel.js";
import type { ModelOptions } from "../routing/resolve-model.js";
import type { Timeouts } from "../upstream/transport.js";
import type { LoadedBilling, LoadedOptions } from "./load-options.js";
import type { IdempotencyOptions } from "./options.js";

const name = z.string("must be a text").min(1, "must not be empty");
const responseFormat = z.enum(["url", "b64_json"], 'must be "url" or "b64_json"').optional();
const decimal = z
  .union([z.string(), z.number()], 'must be a decimal such as "0.04"')
  .refine((value) => parseDecimal(value) !== undefined, 'must be a decimal of at least 0, such as "0.04"');
const decimalPlaces = z
  .int("must be a whole number")
  .min(0, "must be at least 0")
  .max(30, "must be at most 30")
  .optional();
const BASE_PATH = "must begin with a slash and end without one, such as /ai";
const bytes = z.int("must be a whole number of bytes").min(1, "must be at least 1").optional();
/** A day. Timers that are set past 2^31 milliseconds end at once. */
const MAX_SECONDS = 86_400;
const MAX_MILLISECONDS = MAX_SECONDS * 1000;
const milliseconds = z
  .int("must be a whole number of milliseconds")
  .min(1, "must be at least 1")
  .max(MAX_MILLISECONDS, `must be at most ${MAX_MILLISECONDS}, a day`)
  .optional();
const asFunction = z.custom<never>((value) => typeof value === "function", "must be a function");
const TRUE_OR_FALSE = "must be true or false";
const names = z.array(name, "must be a list of names");

/** A whole number of at least `min`. */
function whole(min: number) {
  return z.int("must be a whole number").min(min, `must be at least ${min}`);
}

function isInOrder({ min = 0, max }: { readonly min?: number | undefined; readonly max: number }): boolean {
  return min <= max;
}

const IN_ORDER = "must have a min that is not above its max";
const range = z
  .strictObject({ min: whole(0), max: whole(0) }, "must be {min, max}")
  .refine(isInOrder, IN_ORDER);
const sizePair = z.tuple([whole(1), whole(1)], "must be [width, height]");

const size = z.strictObject(
  {
    presets: names.optional(),
    list: z.array(sizePair, "must be a list of [width, height]").optional(),
    totalPixels: range.optional(),
    side: range.optional(),
    maxAspectRatio: z.number("must be a number").min(1, "must be at least 1").optional(),
  } satisfies Record<keyof SizeLimits, z.ZodType>,
  'must be "none" or an object of sizes',
);

const limits = z.strictObject(
  {
    size: z.union([z.literal("none"), size], 'must be "none" or an object of sizes').optional(),
    references: z
      .strictObject({ min: whole(0).optional(), max: whole(0) }, "must be {min, max}")
      .refine(isInOrder, IN_ORDER)
      .optional(),
    maxImages: whole(1).optional(),
    maxReferencesAndImages: whole(1).optional(),
  } satisfies Record<keyof ModelLimits, z.ZodType>,
  "must be the name of a row of limits, or a row",
);

const limit = whole(1).nullable().optional();
const callerLimits = z.strictObject(
  { requestsPerMinute: limit, imagesPerMinute: limit, concurrent: limit } satisfies Record<
    keyof CallerLimits,
    z.ZodType
  >,
  "must be an object of limits",
);

const model = z.strictObject(
  {
    family: name,
    limits: z.union([name, limits], "must be the name of a row of limits, or a row").optional(),
    responseFormat,
    callerLimits: callerLimits.optional(),
  } satisfies Record<keyof ModelOptions, z.ZodType>,
  "must be an object with family",
);

const baseUrl = z
  .string("must be a text")
  .refine(isAllowedBaseUrl, "must be an https address (http on loopback only)");

const KEY_MISSING = "is missing; is the environment variable set?";
const channelKey = z
  .string(KEY_MISSING)
  .regex(/^[\x21-\x7e]+$/, "must be a key: letters, digits and signs without spaces");
const channelKeys = z
  .array(channelKey)
  .min(1, "must hold at least one key")
  .check(({ value, issues }) => {
    for (const [index, key] of value.entries()) {
      if (value.indexOf(key) === index) continue;
      issues.push({ code: "custom", path: [index], message: "is given twice", input: undefined });
    }
  });

const channel = z.strictObject(
  {
    id: name,
    family: name,
    apiKey: z.union([channelKey, channelKeys], KEY_MISSING),
    baseUrl: baseUrl.optional(),
    modelMapping: z.record(name, name, "must be an object of names").optional(),
    priority: z.int("must be a whole number").optional(),
    weight: z.number("must be a number").positive("must be above 0").optional(),
    headers: z
      .record(
        z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "is no header name"),
        z.string("must be a text").regex(/^[\t\x20-\x7e]*$/, "must be a text without line ends"),
        "must be an object of headers",
      )
      .optional(),
    timeouts: z
      .strictObject(
        { connectMs: milliseconds, firstByteMs: milliseconds, idleMs: milliseconds } satisfies Record<
          keyof Timeouts,
          z.ZodType
        >,
        "must be an object of milliseconds",
      )
      .optional(),
    resultHosts: names.optional(),
    retryUnsafe: z.boolean(TRUE_OR_FALSE).optional(),
  } satisfies Record<keyof ChannelOptions, z.ZodType>,
  "must be an object with id, family and apiKey",
);

const EXPIRES_AT = "must be a Date, or a time with a zone such as 2027-01-31T00:00:00Z";
const expiresAt = z
  .union([z.string(), z.date()], EXPIRES_AT)
  .refine((value) => parseExpiry(value) !== undefined, EXPIRES_AT);

const apiKey = z
  .strictObject(
    {
      id: name,
      key: z
        .string("must be a text")
        .regex(/^[\x21-\x7e]+$/, "must be letters, digits and signs without spaces")
        .optional(),
      hash: z
        .string("must be a SHA-256 of 64 hexadecimal digits")
        .regex(/^[\da-f]{64}$/i, "must be a SHA-256 of 64 hexadecimal digits")
        .optional(),
      group: name.optional(),
      models: names.optional(),
      responseFormat,
      expiresAt: expiresAt.optional(),
      budget: decimal.optional(),
      limits: callerLimits.optional(),
    } satisfies Record<keyof ApiKeyOptions, z.ZodType>,
    "must be an object with id and key or hash",
  )
  .refine(
    ({ key, hash }) => (key === undefined) !== (hash === undefined),
    "needs either key or hash; is the environment variable set?",
  );

const modelDetails = z.discriminatedUnion(
  "pricing_mode",
  [
    z.strictObject({
      pricing_mode: z.literal("per-request"),
      model_price: decimal,
      decimal_places: decimalPlaces,
    }),
    z.strictObject({
      pricing_mode: z.literal("per-token"),
      output_token_price: decimal,
      input_token_price: decimal.optional(),
      decimal_places: decimalPlaces,
    }),
  ],
  'needs pricing_mode: "per-request" or "per-token"',
);

const billing = z.strictObject(
  {
    model_details: z.record(name, modelDetails, "is missing: names and their prices"),
    group_ratio: z.record(name, decimal, "must be an object of groups and their ratios").optional(),
    onLost: z.enum(["release", "charge"], 'must be "release" or "charge"').optional(),
  } satisfies Record<keyof LoadedBilling, z.ZodType>,
  "must be an object with model_details",
);

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

/** An object of the operator's, or a library's, that is only called. */
function withMethods(...methods: readonly string[]) {
  return z
    .custom<never>(
      (value) =>
        typeof value === "object" &&
        value !== null &&
        methods.every((method) => typeof Reflect.get(value, method) === "function"),
      `must have the functions ${methods.join(", ")}`,
    )
    .optional();
}

const REPORTS = ["balance", "records", "totals"] satisfies (keyof UsageReports)[];

const shape = {
  basePath: z
    .string(BASE_PATH)
    .regex(/^(?:\/[\w.~-]+)+$/, BASE_PATH)
    .optional(),
  models: z.record(name, model, "is missing: names and what is behind them"),
  channels: z.array(channel, "is missing: a list of channels").min(1, "must hold at least one channel"),
  apiKeys: z.array(apiKey, "must be a list of keys").optional(),
  authenticate: asFunction.optional(),
  billing: billing.optional(),
  limits: callerLimits.optional(),
  ledger: withMethods("hold", "settle", "release", "sweep", "takeUndelivered", "markDelivered", ...REPORTS),
  admission: withMethods("admit", "finish", "setCooldown"),
  idempotency: z
    .strictObject(
      {
        seconds: z.int("must be a whole number of seconds").min(1, "must be at least 1").optional(),
        maxAnswerBytes: bytes,
      } satisfies Record<keyof IdempotencyOptions, z.ZodType>,
      "must be an object with seconds or maxAnswerBytes",
    )
    .optional(),
  responseFormat,
  bodyLimits: z
    .strictObject(
      { json: bytes, form: bytes, file: bytes } satisfies Record<keyof BodyLimits, z.ZodType>,
      "must be an object of limits in bytes",
    )
    .optional(),
  maxAnswerBytes: bytes,
  maxBytesInFlight: bytes,
  uploadMemoryBytes: whole(0).optional(),
  heartbeatSeconds: z
    .number("must be a number of seconds")
    .positive("must be above 0")
    .max(MAX_SECONDS, `must be at most ${MAX_SECONDS}, a day`)
    .optional(),
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

const { models: _models, channels: _channels, apiKeys: _apiKeys, billing: _billing, ...fixedShape } = shape;

/** The same without what may be a function that reads it. */
export const fixedOptionsSchema = z.strictObject(fixedShape);

function isAllowedBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, search, hash, username } = new URL(value);
  if (search !== "" || hash !== "" || username !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
