import { z } from "zod";
import { parseDecimal } from "./billing/decimal.js";
import type { GatewayOptions } from "./options.js";

const name = z.string("must be a text").min(1, "must not be empty");
const responseFormat = z.enum(["url", "b64_json"], 'must be "url" or "b64_json"').optional();
const decimal = z
  .union([z.string(), z.number()], 'must be a decimal such as "0.04"')
  .refine((value) => parseDecimal(value) !== undefined, 'must be a decimal of at least 0, such as "0.04"');
const decimalPlaces = z.int("must be a whole number").min(0).max(30).optional();
const bytes = z.int("must be a whole number of bytes").min(1, "must be at least 1").optional();
/** A day. Timers that are set past 2^31 milliseconds end at once. */
const MAX_MILLISECONDS = 86_400_000;
const milliseconds = z
  .int("must be a whole number of milliseconds")
  .min(1, "must be at least 1")
  .max(MAX_MILLISECONDS, `must be at most ${MAX_MILLISECONDS}, a day`)
  .optional();
const asFunction = z.custom<never>((value) => typeof value === "function", "must be a function");
const range = z.strictObject({ min: z.int().min(0), max: z.int().min(0) });

const limits = z.strictObject({
  size: z
    .union([
      z.literal("none"),
      z.strictObject({
        presets: z.array(name).optional(),
        list: z.array(z.tuple([z.int().min(1), z.int().min(1)])).optional(),
        totalPixels: range.optional(),
        side: range.optional(),
        maxAspectRatio: z.number().min(1).optional(),
      }),
    ])
    .optional(),
  references: z.strictObject({ min: z.int().min(0).optional(), max: z.int().min(0) }).optional(),
  maxImages: z.int().min(1).optional(),
  maxReferencesAndImages: z.int().min(1).optional(),
});

const model = z.strictObject({
  family: name,
  limits: z.union([name, limits], "must be the name of a row of limits, or a row").optional(),
  responseFormat,
});

const baseUrl = z
  .string("must be a text")
  .refine(isAllowedBaseUrl, "must be an https address (http on loopback only)");

const channel = z.strictObject({
  id: name,
  family: name,
  apiKey: z
    .string("is missing; is the environment variable set?")
    .regex(/^[\x21-\x7e]+$/, "must be a key: letters, digits and signs without spaces"),
  baseUrl: baseUrl.optional(),
  modelMapping: z.record(name, name).optional(),
  priority: z.int("must be a whole number").optional(),
  weight: z.number("must be a number").positive("must be above 0").optional(),
  headers: z
    .record(
      z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "is no header name"),
      z.string("must be a text").regex(/^[\t\x20-\x7e]*$/, "must be a text without line ends"),
    )
    .optional(),
  timeouts: z
    .strictObject({ connectMs: milliseconds, firstByteMs: milliseconds, idleMs: milliseconds })
    .optional(),
  resultHosts: z.array(name).optional(),
  retryUnsafe: z.boolean().optional(),
});

const apiKey = z
  .strictObject({
    id: name,
    key: z
      .string("must be a text")
      .regex(/^[\x21-\x7e]+$/, "must be letters, digits and signs without spaces")
      .optional(),
    hash: z
      .string()
      .regex(/^[\da-f]{64}$/i, "must be a SHA-256 of 64 hexadecimal digits")
      .optional(),
    group: name.optional(),
    models: z.array(name).optional(),
    responseFormat,
  })
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

const billing = z.strictObject({
  model_details: z.record(name, modelDetails),
  group_ratio: z.record(name, decimal).optional(),
});

const family = z.looseObject(
  {
    name,
    defaultBaseUrl: z.url("must be an address"),
    operations: z.instanceof(Set, { error: "must be a Set of operations" }),
    reportsTokens: z.boolean("must be true or false"),
    normalize: asFunction,
    toUpstream: asFunction,
    fromUpstream: asFunction,
    toFailure: asFunction,
  },
  "must be a family",
);

const logger = z.custom<never>(
  (value) => typeof value === "object" && value !== null && "warn" in value && "error" in value,
  "must have warn and error functions",
);

/** The shape of the options; what spans several of them is checked in `check-options.ts`. */
export const gatewayOptionsSchema = z.strictObject({
  basePath: z
    .string()
    .regex(/^(?:\/[\w.~-]+)+$/, "must begin with a slash and end without one, such as /ai")
    .optional(),
  models: z.record(name, model, "is missing: names and what is behind them"),
  channels: z.array(channel, "is missing: a list of channels").min(1, "must hold at least one channel"),
  apiKeys: z.array(apiKey).optional(),
  authenticate: asFunction.optional(),
  billing: billing.optional(),
  responseFormat,
  bodyLimits: z.strictObject({ json: bytes, form: bytes, file: bytes }).optional(),
  maxAnswerBytes: bytes,
  heartbeatSeconds: z.number("must be a number of seconds").positive("must be above 0").optional(),
  families: z.array(family, "must be a list of families").optional(),
  onUsage: asFunction.optional(),
  logger: logger.optional(),
  fetch: asFunction.optional(),
}) satisfies z.ZodType<unknown, Partial<Record<keyof GatewayOptions, unknown>>>;

function isAllowedBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, search, hash, username } = new URL(value);
  if (search !== "" || hash !== "" || username !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
