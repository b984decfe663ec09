import * as z from "zod/mini";
import type { CallerOptions } from "../auth/authenticate.js";
import { findBudgetProblem } from "../billing/budget.js";
import type { UsageReports } from "../billing/ledger.js";
import type { ChannelOptions, TimeoutOptions } from "../channels/channel.js";
import type { BackgroundRules, Capabilities, LayerRules } from "../families/capabilities.js";
import type { SizeLimits } from "../images/size.js";
import type { ModelOptions } from "../models/resolve-model.js";
import { CLIENT_PROFILES } from "../request/client-profiles.js";
import type { BodyLimits } from "../request/read-request.js";
import { MIN_SECRET_LENGTH, type ResultsOptions } from "../results/results.js";
import type { Caller, CallerLimits, Preferences } from "../types.js";
import { parseInstant } from "../util/instant.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { isName, NAME_RULE } from "../util/name.js";
import { webhooksSchema } from "../webhooks/webhook-schema.js";
import type { LoadedBilling, LoadedOptions } from "./load.js";
import { type CorsOptions, type IdempotencyOptions, IS_WORKERS, type TaskOptions } from "./options.js";
import { decimal, modelDetails } from "./price-schema.js";

/** The schema of an object has exactly the fields of its type. */
type Fields<T> = Record<keyof T, z.ZodMiniType>;

const TRUE_OR_FALSE = "must be true or false";
/** A day. A timer of more than 2^31 ms would fire at once. */
const MAX_SECONDS = 86_400;

/** A name that every ledger can store. */
const name = z
  .string("must be a string")
  .check(z.minLength(1, "must not be empty"), z.refine(isName, `must be ${NAME_RULE}`));
/** Names or series. */
const names = z.array(name, "must be a list of names");
const preferences = {
  responseFormat: z.optional(z.literal(["url", "b64_json"], 'must be "url" or "b64_json"')),
  streamFormat: z.optional(z.literal(["native", "openai"], 'must be "native" or "openai"')),
  sizes: z.optional(z.literal(["strict", "nearest"], 'must be "strict" or "nearest"')),
} satisfies Fields<Preferences>;
const CLIENT_NAMES = Object.keys(CLIENT_PROFILES);
const boolean = z.optional(z.boolean(TRUE_OR_FALSE));
const asFunction = z.custom<never>((value) => typeof value === "function", "must be a function");
const hook = z.optional(asFunction);
const bytes = z.optional(z.int("must be a whole number of bytes").check(z.minimum(1, "must be at least 1")));
const seconds = z.optional(
  z
    .number("must be a number of seconds")
    .check(z.positive("must be above 0"), z.maximum(MAX_SECONDS, `must be at most ${MAX_SECONDS}, a day`)),
);
const IN_ORDER = "must have a min that is not above its max";
const range = z
  .strictObject({ min: whole(0), max: whole(0) }, "must be {min, max}")
  .check(z.refine(isInOrder, IN_ORDER));

const WIDTH_AND_HEIGHT = "must be [width, height]";
const size = z.strictObject(
  {
    presets: z.optional(names),
    list: z.optional(
      z.array(
        z.array(whole(1), WIDTH_AND_HEIGHT).check(z.refine(({ length }) => length === 2, WIDTH_AND_HEIGHT)),
        "must be a list of [width, height]",
      ),
    ),
    totalPixels: z.optional(range),
    side: z.optional(range),
    maxAspectRatio: z.optional(z.number("must be a number").check(z.minimum(1, "must be at least 1"))),
    multipleOf: z.optional(whole(1)),
  } satisfies Fields<SizeLimits>,
  'must be "none" or an object of sizes',
);

const filledNames = names.check(z.minLength(1, "must not be empty"));
const LAYERS = 'must be "none" or an object with max';

const RELEASED = "must be a date such as 2026-11-12";
const NAMED_ROWS = "must be an object of names and their rows";

const capabilities = z.strictObject(
  {
    size: z.optional(z.union([z.literal("none"), size], 'must be "none" or an object of sizes')),
    references: z.optional(
      z
        .strictObject({ min: z.optional(whole(0)), max: whole(0) }, "must be {min, max}")
        .check(z.refine(isInOrder, IN_ORDER)),
    ),
    sizeWithReferences: z.optional(size),
    imagesPerCall: z.optional(whole(1)),
    defaultImages: z.optional(whole(1)),
    imagesPerSequence: z.optional(whole(1)),
    maxReferencesAndImages: z.optional(whole(1)),
    streaming: boolean,
    sequentialImages: boolean,
    background: z.optional(
      z.strictObject(
        { values: filledNames, transparentNeedsPng: boolean } satisfies Fields<BackgroundRules>,
        "must be an object with values",
      ),
    ),
    layers: z.optional(
      z.union(
        [
          z.literal("none"),
          z.strictObject(
            { max: whole(1), sizes: z.optional(filledNames) } satisfies Fields<LayerRules>,
            LAYERS,
          ),
        ],
        LAYERS,
      ),
    ),
    outputFormats: z.optional(filledNames),
    qualities: z.optional(filledNames),
    outputTokens: z.optional(z.record(name, whole(1), "must be an object of names and numbers of tokens")),
    textTokens: z.optional(whole(0)),
    referenceTokens: z.optional(whole(0)),
    released: z.optional(
      z
        .string(RELEASED)
        .check(
          z.refine((date) => /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date)), RELEASED),
        ),
    ),
    source: z.optional(name),
    checked: z.optional(name),
  } satisfies Fields<Capabilities>,
  "must be the name of a row of capabilities, or a row",
);

const limit = z.optional(z.nullable(whole(1)));
const limits = z.optional(
  z.strictObject(
    { requestsPerMinute: limit, imagesPerMinute: limit, concurrent: limit } satisfies Fields<CallerLimits>,
    "must be an object of limits",
  ),
);

const FAN_OUT = "must be false or an object with max";

const model = z.strictObject(
  {
    family: name,
    capabilities: z.optional(
      z.union([name, capabilities], "must be the name of a row of capabilities, or a row"),
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

const EXPIRES_AT = "must be a Date, or a time with a zone such as 2027-01-31T00:00:00Z";
const SHA256 = "must be a SHA-256 of 64 hexadecimal digits";

const budget = z
  .custom<NonNullable<CallerOptions["budget"]>>(() => true)
  .check(({ value, issues }) => {
    const problem = findBudgetProblem(value);
    if (problem === undefined) return;
    const path = problem.field === "" ? [] : [problem.field];
    issues.push({ code: "custom", input: value, path, message: problem.rule });
  });

const callerSettings = {
  group: z.optional(name),
  models: z.optional(names),
  client: z.optional(z.literal(CLIENT_NAMES, `must be one of ${CLIENT_NAMES.join(", ")}`)),
  ...preferences,
  expiresAt: z.optional(z.custom<string | Date>((value) => parseInstant(value) !== undefined, EXPIRES_AT)),
  budget: z.optional(budget),
  limits,
} satisfies Fields<Omit<Caller, "id">>;

/** The schema of a caller that is created at run time, without its id and its keys. */
export const callerSettingsSchema = z.strictObject(callerSettings, "must be an object");

/** The schema of a caller's id. */
export const callerIdSchema = name;

const caller = z
  .strictObject(
    {
      id: name,
      key: z.optional(
        z
          .string("must be a string")
          .check(z.regex(/^[\x21-\x7e]+$/, "must be letters, digits and signs without spaces")),
      ),
      hash: z.optional(z.string(SHA256).check(z.regex(/^[\da-f]{64}$/i, SHA256))),
      ...callerSettings,
    } satisfies Fields<CallerOptions>,
    "must be an object with id and key or hash",
  )
  .check(
    z.refine(
      (value) => (value.key === undefined) !== (value.hash === undefined),
      "needs either key or hash; is the environment variable set?",
    ),
  );

const KEY_MISSING = "is missing; is the environment variable set?";
const channelKey = z
  .string(KEY_MISSING)
  .check(z.regex(/^[\x21-\x7e]+$/, "must be a key: letters, digits and signs without spaces"));
const channelKeys = z
  .array(channelKey)
  .check(z.minLength(1, "must contain at least one key"), ({ value, issues }) => {
    for (const [index, channelKeyValue] of value.entries()) {
      if (value.indexOf(channelKeyValue) === index) continue;
      issues.push({ code: "custom", path: [index], message: "is given twice", input: undefined });
    }
  });

const channel = z
  .strictObject(
    {
      id: name,
      family: name,
      dialect: z.optional(name),
      apiKey: z.union([channelKey, channelKeys], KEY_MISSING),
      baseUrl: z.optional(
        z
          .string("must be a string")
          .check(z.refine(isChannelUrl, "must be an http or https address without fragment and credentials")),
      ),
      modelMapping: z.optional(z.record(name, name, "must be an object of names")),
      priority: z.optional(z.int("must be a whole number")),
      weight: z.optional(z.number("must be a number").check(z.positive("must be above 0"))),
      headers: z.optional(
        z.record(
          z.string().check(z.regex(/^[\w!#$%&'*+.^`|~-]+$/, "is not a valid header name")),
          z
            .string("must be a string")
            .check(z.regex(/^[\t\x20-\x7e]*$/, "must be a string without line ends")),
          "must be an object of headers",
        ),
      ),
      timeouts: z.optional(
        z.strictObject(
          {
            connectSeconds: seconds,
            firstByteSeconds: seconds,
            idleSeconds: seconds,
          } satisfies Fields<TimeoutOptions>,
          "must be an object of seconds",
        ),
      ),
      resultHosts: z.optional(names),
      retryUnsafe: boolean,
      allowHttp: boolean,
    } satisfies Fields<ChannelOptions>,
    "must be an object with id, family and apiKey",
  )
  .check(
    z.refine(isAllowedHttp, {
      path: ["baseUrl"],
      error:
        "must be an https address: plain http is allowed on loopback, and with allowHttp: true in a private network",
      // Checked also if another option of the channel is wrong: all problems are reported at once.
      when: () => true,
    }),
  );

const billing = z.strictObject(
  {
    model_details: z.record(name, modelDetails, "is missing: an object of model names and their prices"),
    group_ratio: z.optional(z.record(name, decimal, "must be an object of groups and their ratios")),
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
    z.record(name, z.record(name, capabilities, NAMED_ROWS), "must be an object of families and their rows"),
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
    .array(channel, "is missing: a list of channels")
    .check(z.minLength(1, "must contain at least one channel")),
  callers: z.optional(z.array(caller, "must be a list of callers")),
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

/** A whole number of at least `min`. */
function whole(min: number) {
  return z.int("must be a whole number").check(z.minimum(min, `must be at least ${min}`));
}

/** A whole number from `min` to `max`. */
function wholeUpTo(min: number, max: number) {
  return whole(min).check(z.maximum(max, `must be at most ${max}`));
}

function isInOrder({ min = 0, max }: { readonly min?: number | undefined; readonly max: number }): boolean {
  return min <= max;
}

/** An object with these methods. */
function withMethods(...methods: readonly string[]) {
  return z.optional(
    z.custom<never>((value) => hasFunctions(value, methods), `must have the functions ${methods.join(", ")}`),
  );
}

function hasFunctions(value: unknown, methods: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof Reflect.get(value, method) === "function")
  );
}

function isAllowedHttp(value: unknown): boolean {
  if (!isJsonObject(value)) return true;
  const { baseUrl: address, allowHttp } = value;
  return (
    typeof address !== "string" || !isChannelUrl(address) || allowHttp === true || isEncryptedOrLocal(address)
  );
}

function isBaseUrl(value: string): boolean {
  return isChannelUrl(value) && new URL(value).search === "";
}

/** Providers put the version of their interface into the query. */
function isChannelUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hash, username } = new URL(value);
  return /^https?:$/.test(protocol) && hash === "" && username === "";
}

/** Browsers send origins in this form. Apps have schemes of their own, such as `capacitor://localhost`. */
function isOrigin(value: string): boolean {
  if (!URL.canParse(value) || value.includes("*")) return false;
  const { origin } = new URL(value);
  return origin === "null"
    ? /^(?!https?:|file:)[a-z][a-z\d+.-]*:\/\/[\w.:-]+$/.test(value)
    : origin === value;
}

function isEncryptedOrLocal(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
