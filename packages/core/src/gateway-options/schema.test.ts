import { describe, expect, it } from "vitest";
import { createMemoryAdmissionStore } from "../features/limits/memory-store.js";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import { createGateway } from "../gateway.js";
import { GatewayOptionsError } from "../options/options-error.js";
import type { GatewayOptions } from "./options.js";

const MODELS = { a: { family: "seedream" } };
const CHANNELS = [{ id: "ark", family: "seedream", apiKey: "k1" }];
const API_KEYS = [{ id: "me", key: "secret" }];
const PRICES = { a: { pricing_mode: "per-request" as const, model_price: "1" } };
const GOOD: GatewayOptions = { models: MODELS, channels: CHANNELS, callers: API_KEYS };

/** The problems that `createGateway` reports, as `path message`. */
function problemsOf(changed: object): readonly string[] {
  try {
    createGateway({ ...GOOD, ...changed });
    return [];
  } catch (error) {
    if (!(error instanceof GatewayOptionsError)) throw error;
    return error.problems.map(({ path, message }) => `${path} ${message}`);
  }
}

/** A store of results whose links are valid for 7 days at most. */
const LINKS = { put() {}, link() {}, maxLinkSeconds: 604_800 };
const FILES = { put() {}, open() {}, readSecrets() {} };

const SECRET_24 = `whsec_${btoa("s".repeat(24))}`;
const SECRET_64 = `whsec_${btoa("t".repeat(64))}`;
const ENDPOINT = { url: "https://example.com/hooks", secrets: [SECRET_24] };
const ENDPOINT_SECRET =
  "must be whsec_ and the base64 of 24 to 64 random bytes; is the environment variable set?";

const webhooks = (endpoints: object, more: object = {}): { readonly webhooks: object } => ({
  webhooks: { endpoints, ...more },
});
const toUrl = (url: unknown, allowHosts?: unknown): object =>
  webhooks({ me: { app: { ...ENDPOINT, url } } }, { allowHosts });
const signedWith = (...secrets: unknown[]): object => webhooks({ me: { app: { ...ENDPOINT, secrets } } });

const withKey = (key: object): object => ({ callers: [{ ...API_KEYS[0], ...key }] });
const price = (value: unknown): object => ({ billing: { model_details: () => value } });
const without = (part: object, name: string): object => ({ ...part, [name]: undefined });

describe("options are taken", () => {
  it.each<[string, object]>([
    [
      "limits of every kind",
      { limits: { requestsPerMinute: 1, imagesPerMinute: null, concurrent: undefined } },
    ],
    ["no limits at all", { limits: {} }],
    ["limits of a key", withKey({ limits: { concurrent: null } })],
    ["limits of a model", { models: { a: { family: "seedream", limits: { imagesPerMinute: 5 } } } }],
    ["a budget as a string", { ...withKey({ budget: "12.50" }), billing: { model_details: PRICES } }],
    ["a budget as a number", { ...withKey({ budget: 0 }), billing: { model_details: PRICES } }],
    ["an end of a key as a time", withKey({ expiresAt: "2027-01-31T00:00:00+08:00" })],
    ["an end of a key as a Date", withKey({ expiresAt: new Date(0) })],
    ["a ledger", { ledger: createMemoryLedger() }],
    ["an admission store", { admission: createMemoryAdmissionStore() }],
    ["how long responses are stored", { idempotency: { seconds: 1 } }],
    ["how large stored responses may be", { idempotency: { maxResponseBytes: 1 } }],
    ["bytes in flight", { maxBytesInFlight: 1 }],
    ["a share for one caller", { maxCallerShare: 1 }],
    ["limits of slow bodies", { bodyLimits: { minBytesPerSecond: 1, slowAfterSeconds: 3_600 } }],
    ["a store of results with links", { results: { store: { put() {}, link() {} } } }],
    ["a store of results with a secret", { results: { store: { put() {}, open() {}, readSecrets() {} } } }],
    ["a function that stores results", { results: { store() {}, native: true, timeoutSeconds: 0.5 } }],
    [
      "links to the gateway for a store that makes links",
      {
        results: {
          store: { put() {}, open() {}, link() {}, maxLinkSeconds: 1 },
          urls: "gateway",
          secrets: ["s".repeat(32)],
          ttlSeconds: 315_360_000,
          publicUrl: "https://api.example.com/ai/",
        },
      },
    ],
    [
      "links that are valid for the longest time that the store allows",
      { results: { store: LINKS, ttlSeconds: 604_800 } },
    ],
    [
      "webhooks",
      webhooks({ me: { app: ENDPOINT, "log.2": { ...ENDPOINT, secrets: [SECRET_64, SECRET_24] } } }),
    ],
    ["a function that loads webhooks", { webhooks: () => webhooks({ me: { app: ENDPOINT } }).webhooks }],
    ["a function that finds webhooks", { webhooks: { endpoints() {}, timeoutSeconds: 60 } }],
    ["webhooks to a host in a private network", toUrl("https://10.0.0.1:8443/", ["10.0.0.1"])],
    ["webhooks over plain http to an allowed loopback host", toUrl("http://localhost:8080/", ["localhost"])],
    ["hooks", { beforeSend() {}, onUsage() {}, onError() {}, onRequest() {} }],
    ["what becomes of lost requests", { billing: { model_details: PRICES, onLost: "charge" } }],
  ])("%s", (_what, changed) => {
    expect(problemsOf(changed)).toEqual([]);
  });
});

describe("a wrong option is named", () => {
  const WHOLE = "must be a whole number";
  const AT_LEAST_1 = "must be at least 1";
  const FUNCTION = "must be a function";
  const NAME = "a string of at most 512 bytes in UTF-8, without NUL and without an unpaired surrogate";
  const END = "must be a Date, or a time with a zone such as 2027-01-31T00:00:00Z";
  const LEDGER =
    "must have the functions hold, settle, release, sweep, balance, takeUndelivered, markDelivered";
  const BILLING = { model_details: PRICES };

  const RESULTS_URL = "must be an http or https address without query, fragment and credentials";
  const SECRET = "must be a string of at least 32 characters; is the environment variable set?";

  it.each<[string, object]>([
    ["healthz must be true or false", { healthz: "yes" }],
    ["openapi must be true, false, or an OpenAPI document", { openapi: "yes" }],
    ["openapi must be true, false, or an OpenAPI document", { openapi: null }],
    ["reference must be a function", { openapi: true, reference: {} }],
    ["reference needs openapi", { reference: async () => undefined }],
    ["webhooks must be an object with endpoints", { webhooks: "https://example.com" }],
    ["webhooks.endpoints must be a function, or an object of callers and their endpoints", { webhooks: {} }],
    ["webhooks.urls is not an option", webhooks({}, { urls: [] })],
    ["webhooks.timeoutSeconds must be at most 60", webhooks({}, { timeoutSeconds: 61 })],
    ["webhooks.allowHosts must be a list of host names", webhooks({}, { allowHosts: "localhost" })],
    ["webhooks.endpoints.you is not the id of an entry of callers", webhooks({ you: { app: ENDPOINT } })],
    ["webhooks.endpoints.me must be an object of endpoints by their names", webhooks({ me: [] })],
    [
      "webhooks.endpoints.me must have at most 10 endpoints",
      webhooks({ me: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`e${index}`, ENDPOINT])) }),
    ],
    [
      'webhooks.endpoints.me["a b"] must be a name of 1 to 64 letters, digits, dots, hyphens and underscores that begins with a letter or a digit',
      webhooks({ me: { "a b": ENDPOINT } }),
    ],
    ["webhooks.endpoints.me.app must be an object with url and secrets", webhooks({ me: { app: "x" } })],
    [
      "webhooks.endpoints.me.app.secret is not an option",
      webhooks({ me: { app: { ...ENDPOINT, secret: "" } } }),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address without credentials and fragment",
      toUrl("/hooks"),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address without credentials and fragment",
      toUrl(undefined),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address without credentials and fragment",
      toUrl("https://a:b@example.com/"),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address without credentials and fragment",
      toUrl("https://example.com/#a"),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address without credentials and fragment",
      toUrl("ftp://example.com/"),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address: plain http is only for a loopback host that is listed in allowHosts",
      toUrl("http://example.com/", ["example.com"]),
    ],
    [
      "webhooks.endpoints.me.app.url must be an https address: plain http is only for a loopback host that is listed in allowHosts",
      toUrl("http://127.0.0.1/"),
    ],
    [
      "webhooks.endpoints.me.app.url must have a public host, or one that is listed in allowHosts: 127.0.0.1",
      toUrl("https://2130706433/"),
    ],
    [
      "webhooks.endpoints.me.app.url must have a public host, or one that is listed in allowHosts: [fd00::1]",
      toUrl("https://[fd00::1]/", ["fd00::1"]),
    ],
    ["webhooks.endpoints.me.app.secrets must contain at least one secret", signedWith()],
    [
      "webhooks.endpoints.me.app.secrets must contain at most 5 secrets",
      signedWith(...Array(6).fill(SECRET_24)),
    ],
    [`webhooks.endpoints.me.app.secrets[1] ${ENDPOINT_SECRET}`, signedWith(SECRET_24, undefined)],
    [`webhooks.endpoints.me.app.secrets[0] ${ENDPOINT_SECRET}`, signedWith(btoa("s".repeat(24)))],
    [`webhooks.endpoints.me.app.secrets[0] ${ENDPOINT_SECRET}`, signedWith(`whsec_${btoa("s".repeat(23))}`)],
    [`webhooks.endpoints.me.app.secrets[0] ${ENDPOINT_SECRET}`, signedWith(`whsec_${btoa("s".repeat(65))}`)],
    [`webhooks.endpoints.me.app.secrets[0] ${ENDPOINT_SECRET}`, signedWith(`${SECRET_24} `)],
    [`webhooks.endpoints.me.app.secrets[0] ${ENDPOINT_SECRET}`, signedWith(`${SECRET_24.slice(0, -4)}-_-_`)],
    ["results must be an object with store", { results() {} }],
    ["results.store must be a store with put, or a function", { results: {} }],
    ["results.store must be a store with put, or a function", { results: { store: { open() {} } } }],
    ["results.store must be a store with put, or a function", { results: { store: "files" } }],
    ["results.folder is not an option", { results: { store: FILES, folder: "x" } }],
    ['results.urls must be "store" or "gateway"', { results: { store: FILES, urls: "public" } }],
    [
      'results.urls must not be "gateway" if the store is a function: the function returns the links',
      { results: { store() {}, urls: "gateway" } },
    ],
    [
      'results.urls must not be "gateway": this store has no function open',
      { results: { store: LINKS, urls: "gateway", secrets: ["s".repeat(32)] } },
    ],
    [
      'results.urls must not be "store": this store makes no links',
      { results: { store: FILES, urls: "store" } },
    ],
    [
      "results.store must have link or open: clients could not read the images",
      { results: { store: { put() {} } } },
    ],
    [
      "results.secrets is missing: the gateway signs links with it, and this store keeps no secret of its own",
      { results: { store: { put() {}, open() {} } } },
    ],
    ["results.secrets must be a list of secrets", { results: { store: FILES, secrets: "s".repeat(32) } }],
    ["results.secrets must contain at least one secret", { results: { store: FILES, secrets: [] } }],
    [`results.secrets[1] ${SECRET}`, { results: { store: FILES, secrets: ["s".repeat(32), "short"] } }],
    [`results.secrets[0] ${SECRET}`, { results: { store: FILES, secrets: [undefined] } }],
    [
      "results.ttlSeconds must be at most 604800: links of this store are not valid for longer (604801 s)",
      { results: { store: LINKS, ttlSeconds: 604_801 } },
    ],
    [
      "results.ttlSeconds must be at most 60: links of this store are not valid for longer (604800 s)",
      { results: { store: { ...LINKS, maxLinkSeconds: 60 } } },
    ],
    [
      "results.ttlSeconds must be at most 315360000, ten years",
      { results: { store: FILES, ttlSeconds: 315_360_001 } },
    ],
    [`results.ttlSeconds ${AT_LEAST_1}`, { results: { store: FILES, ttlSeconds: 0 } }],
    ["results.timeoutSeconds must be above 0", { results: { store: FILES, timeoutSeconds: 0 } }],
    [`results.publicUrl ${RESULTS_URL}`, { results: { store: FILES, publicUrl: "api.example.com" } }],
    [`results.publicUrl ${RESULTS_URL}`, { results: { store: FILES, publicUrl: "https://a.example/?x=1" } }],
    ["results.native must be true or false", { results: { store: FILES, native: "yes" } }],
    ["limits must be an object of limits", { limits: 60 }],
    ["limits must be an object of limits", { limits: null }],
    [`limits.requestsPerMinute ${WHOLE}`, { limits: { requestsPerMinute: "60" } }],
    [`limits.requestsPerMinute ${WHOLE}`, { limits: { requestsPerMinute: Infinity } }],
    [`limits.imagesPerMinute ${WHOLE}`, { limits: { imagesPerMinute: 1.5 } }],
    [`limits.concurrent ${AT_LEAST_1}`, { limits: { concurrent: 0 } }],
    ["limits.perMinute is not an option", { limits: { perMinute: 1 } }],
    [`callers[0].limits.concurrent ${AT_LEAST_1}`, withKey({ limits: { concurrent: -1 } })],
    ["callers[0].limits must be an object of limits", withKey({ limits: null })],
    ['callers[0].budget must be a decimal of at least 0, such as "0.04"', withKey({ budget: "-1" })],
    ['callers[0].budget must be a decimal of at least 0, such as "0.04"', withKey({ budget: "1e3" })],
    [
      'callers[0].budget must be a decimal of at least 0, such as "0.04", or an object of amount, period and timeZone',
      withKey({ budget: null }),
    ],
    [`callers[0].id must be ${NAME}`, withKey({ id: "x".repeat(513) })],
    [`callers[0].group must be ${NAME}`, withKey({ group: "图".repeat(171) })],
    [`callers[0].expiresAt ${END}`, withKey({ expiresAt: "2027-01-31" })],
    [`callers[0].expiresAt ${END}`, withKey({ expiresAt: 1_801_353_600_000 })],
    [`callers[0].expiresAt ${END}`, withKey({ expiresAt: new Date(Number.NaN) })],
    [
      `models.a.limits.concurrent ${WHOLE}`,
      { models: { a: { family: "seedream", limits: { concurrent: "2" } } } },
    ],
    [
      "models.a.limits must be an object of limits; the row of what the model can do is now called capabilities",
      { models: { a: { family: "seedream", limits: 2 } } },
    ],
    [`ledger ${LEDGER}`, { ledger: "sqlite" }],
    [`ledger ${LEDGER}`, { ledger: null }],
    [`ledger ${LEDGER}`, { ledger: {} }],
    [`ledger ${LEDGER}`, { ledger: without(createMemoryLedger(), "balance") }],
    [`ledger ${LEDGER}`, { ledger: () => createMemoryLedger() }],
    ["admission must have the functions admit, finish, setCooldown", { admission: null }],
    [
      "admission must have the functions admit, finish, setCooldown",
      { admission: without(createMemoryAdmissionStore(), "finish") },
    ],
    ["idempotency must be an object with seconds or maxResponseBytes", { idempotency: 86_400 }],
    ["idempotency.seconds must be a whole number of seconds", { idempotency: { seconds: "1" } }],
    [`idempotency.seconds ${AT_LEAST_1}`, { idempotency: { seconds: 0 } }],
    [
      "idempotency.maxResponseBytes must be a whole number of bytes",
      { idempotency: { maxResponseBytes: 0.5 } },
    ],
    ["idempotency.ttl is not an option", { idempotency: { ttl: 1 } }],
    ["maxBytesInFlight must be a whole number of bytes", { maxBytesInFlight: "1GiB" }],
    [`maxBytesInFlight ${AT_LEAST_1}`, { maxBytesInFlight: 0 }],
    ["maxCallerShare must be a number", { maxCallerShare: "half" }],
    ["maxCallerShare must be above 0", { maxCallerShare: 0 }],
    ["maxCallerShare must be at most 1", { maxCallerShare: 1.5 }],
    [
      "bodyLimits.minBytesPerSecond must be a whole number of bytes",
      { bodyLimits: { minBytesPerSecond: 0.5 } },
    ],
    [`bodyLimits.minBytesPerSecond ${AT_LEAST_1}`, { bodyLimits: { minBytesPerSecond: 0 } }],
    [
      "bodyLimits.slowAfterSeconds must be a whole number of seconds",
      { bodyLimits: { slowAfterSeconds: 1.5 } },
    ],
    [`bodyLimits.slowAfterSeconds ${AT_LEAST_1}`, { bodyLimits: { slowAfterSeconds: 0 } }],
    [
      "bodyLimits.slowAfterSeconds must be at most 3600, an hour",
      { bodyLimits: { slowAfterSeconds: 3_601 } },
    ],
    [`beforeSend ${FUNCTION}`, { beforeSend: "moderate" }],
    [`onUsage ${FUNCTION}`, { onUsage: {} }],
    [`onUsageBatch ${FUNCTION}`, { onUsageBatch: {} }],
    [
      "reports must have the functions records and totals, and history with the functions series, page, list and find",
      { reports: { records() {}, totals() {} } },
    ],
    [`onError ${FUNCTION}`, { onError: null }],
    [`onRequest ${FUNCTION}`, { onRequest: true }],
    ["logger must have the functions warn, error", { logger: { warn: true, error: true } }],
    ['billing.onLost must be "release" or "charge"', { billing: { ...BILLING, onLost: "refund" } }],
    ["onLost is not an option", { onLost: "charge" }],
  ])("%s", (problem, changed) => {
    expect(problemsOf(changed)).toEqual([problem]);
  });
});

describe("the result of a function has the same paths as a value in the options", () => {
  const SOURCES: readonly (readonly [string, object])[] = [
    ["models is missing: an object of model names and their options", { models: () => undefined }],
    ["models.a must be an object with family", { models: () => ({ a: null }) }],
    ["channels is missing: a list of channels", { channels: () => ({}) }],
    [
      "channels[0].apiKey is missing; is the environment variable set?",
      { channels: () => [without(CHANNELS[0] ?? {}, "apiKey")] },
    ],
    ["callers must be a list of callers", { callers: () => "secret" }],
    [
      "callers[1] has the same key as another entry",
      { callers: () => [...API_KEYS, { id: "you", key: "secret" }] },
    ],
    ["billing.model_details is missing: an object of model names and their prices", price(null)],
    ["billing.model_details.a is missing: the model has no price", price({})],
    [
      'billing.group_ratio.vip must be a decimal of at least 0, such as "0.04"',
      { billing: { model_details: PRICES, group_ratio: () => ({ default: "1", vip: "cheap" }) } },
    ],
  ];

  it.each(SOURCES)("at once: %s", (problem, changed) => {
    expect(problemsOf(changed)).toEqual([problem]);
  });

  it.each(SOURCES)("later: %s", async (problem, changed) => {
    const gateway = createGateway({
      ...GOOD,
      models: async () => MODELS,
      channels: async () => CHANNELS,
      callers: async () => API_KEYS,
      ...changed,
      logger: { warn() {}, error() {} },
    });
    const [path = ""] = problem.split(" ");
    await expect(gateway.reload()).rejects.toThrow(path);
  });

  it("an error of a function is thrown unchanged", () => {
    const error = new Error("no such file");
    const options: GatewayOptions = {
      ...GOOD,
      channels: () => {
        throw error;
      },
    };
    expect(() => createGateway(options)).toThrow(error);
  });
});

it("names wrong results while other options are still loading", () => {
  const results = { store: { put() {}, open() {} } };
  expect(problemsOf({ models: async () => MODELS, results })).toEqual([
    "results.secrets is missing: the gateway signs links with it, and this store keeps no secret of its own",
  ]);
});
