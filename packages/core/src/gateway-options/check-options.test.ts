import { describe, expect, it } from "vitest";
import { hashApiKey } from "../auth/api-key.js";
import { seedream } from "../families/seedream/seedream.js";
import type { OptionsProblem } from "../options/options.js";
import { GatewayOptionsError } from "../options/options-error.js";
import { checkOptions } from "./check-options.js";
import type { LoadedOptions } from "./load.js";

const GOOD: LoadedOptions = {
  models: { a: { family: "seedream" }, "b*": { family: "qwen-image" } },
  channels: [
    { id: "ark", family: "seedream", apiKey: "k1" },
    { id: "bailian", family: "qwen-image", apiKey: "k2" },
  ],
  callers: [{ id: "me", key: "secret" }],
};

function problemsOf(options: unknown): readonly OptionsProblem[] {
  try {
    checkOptions(options as LoadedOptions);
    return [];
  } catch (error) {
    if (error instanceof GatewayOptionsError) return error.problems;
    throw error;
  }
}

const pathsOf = (options: unknown): readonly string[] => problemsOf(options).map(({ path }) => path);

const withChannel = (channel: object): object => ({
  ...GOOD,
  channels: [{ ...GOOD.channels[0], ...channel }, GOOD.channels[1]],
});

const perRequest = { pricing_mode: "per-request", model_price: "1" };
const perToken = { pricing_mode: "per-token", output_token_price: "1" };

const withPrices = (model_details: object, models: object = {}): object => ({
  models: { "image-edit*": { family: "qwen-image" }, ...models },
  channels: GOOD.channels,
  callers: GOOD.callers,
  billing: { model_details },
});

describe("options are taken", () => {
  it.each<[string, object]>([
    ["as few as possible", GOOD],
    ["with a function for the keys", { ...GOOD, callers: undefined, authenticate: () => null }],
    ["with hashes", { ...GOOD, callers: [{ id: "me", hash: hashApiKey("x") }] }],
    [
      "with every option of a channel",
      withChannel({
        baseUrl: "https://x.example/v3",
        modelMapping: { a: "ep" },
        priority: -1,
        weight: 0.5,
        headers: { "X-Team": "a\tb" },
        timeouts: { connectSeconds: 0.001, firstByteSeconds: 86400 },
        retryUnsafe: true,
      }),
    ],
    ["with plain http on loopback", withChannel({ baseUrl: "http://127.0.0.1:1/x" })],
    ["with plain http if it is allowed", withChannel({ baseUrl: "http://emulator:4010", allowHttp: true })],
    ["with prices", { ...GOOD, billing: { model_details: { a: perToken, "b*": perRequest } } }],
    [
      "with a price for all",
      { ...GOOD, billing: { model_details: { "*": perRequest }, group_ratio: { default: 0.5 } } },
    ],
    [
      "with a row of capabilities",
      {
        ...GOOD,
        models: {
          ...GOOD.models,
          a: {
            family: "seedream",
            capabilities: {
              size: { presets: ["S"], list: [[1, 2]], totalPixels: { min: 1, max: 2 } },
              imagesPerCall: 1,
            },
          },
        },
      },
    ],
    ["with the longest heartbeat", { ...GOOD, heartbeatSeconds: 86_400 }],
    ["with a base path", { ...GOOD, basePath: "/ai/images-v1" }],
  ])("%s", (_what, options) => {
    expect(problemsOf(options)).toEqual([]);
  });
});

it("takes options that are constant through and through", () => {
  const options = {
    basePath: "/ai",
    models: { a: { family: "seedream", capabilities: { size: { presets: ["S"], list: [[1, 2]] } } } },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: "k",
        modelMapping: { a: "ep" },
        headers: { x: "y" },
        timeouts: { idleSeconds: 0.001 },
        resultHosts: ["files.example"],
      },
    ],
    callers: [{ id: "me", key: "secret", models: ["a"] }],
    billing: {
      model_details: { a: { pricing_mode: "per-request", model_price: "1" } },
      group_ratio: { default: "1" },
    },
    bodyLimits: { json: 1 },
    families: [],
  } as const;
  // The assignment is the test: a list that is not `readonly` in the types does not take these.
  const taken: LoadedOptions = options;
  expect(problemsOf(taken)).toEqual([]);
});

describe("options are refused", () => {
  it.each<[string, unknown, readonly string[]]>([
    ["of another type", "x", [""]],
    ["null", null, [""]],
    ["a list", [], [""]],
    ["with an unknown name", { ...GOOD, model: {} }, ["model"]],
    ["without access", { ...GOOD, callers: undefined }, ["callers"]],
    ["with two ways of access", { ...GOOD, authenticate: () => null }, ["callers"]],
    ["with a base path that ends in a slash", { ...GOOD, basePath: "/ai/" }, ["basePath"]],
    ["with a base path of one slash", { ...GOOD, basePath: "/" }, ["basePath"]],
    ["without channels", { ...GOOD, channels: [] }, ["channels"]],
    [
      "with an unknown family",
      { ...GOOD, models: { a: { family: "dall-e" } } },
      ["models.a.family", "models.a"],
    ],
    [
      "with a channel of an unknown family",
      withChannel({ family: "dall-e" }),
      ["channels[0].family", "models.a"],
    ],
    ["without a channel's key", withChannel({ apiKey: undefined }), ["channels[0].apiKey"]],
    ["with a key of two lines", withChannel({ apiKey: "a\nb" }), ["channels[0].apiKey"]],
    ["with no key in a list", withChannel({ apiKey: [] }), ["channels[0].apiKey"]],
    ["with a missing key in a list", withChannel({ apiKey: ["k", undefined] }), ["channels[0].apiKey[1]"]],
    [
      "with wrong keys in a list",
      withChannel({ apiKey: ["k", "a b", ""] }),
      ["channels[0].apiKey[1]", "channels[0].apiKey[2]"],
    ],
    ["with one key twice", withChannel({ apiKey: ["k", "l", "k"] }), ["channels[0].apiKey[2]"]],
    ["with a key of no ASCII", withChannel({ apiKey: "schlüssel" }), ["channels[0].apiKey"]],
    ["with plain http", withChannel({ baseUrl: "http://example.com" }), ["channels[0].baseUrl"]],
    [
      "with plain http that is not allowed",
      withChannel({ baseUrl: "http://example.com", allowHttp: false }),
      ["channels[0].baseUrl"],
    ],
    [
      "with another protocol, whatever is allowed",
      withChannel({ baseUrl: "ftp://example.com", allowHttp: true }),
      ["channels[0].baseUrl"],
    ],
    ["with an allowHttp that is not a boolean", withChannel({ allowHttp: "yes" }), ["channels[0].allowHttp"]],
    [
      "with http that only looks like loopback",
      withChannel({ baseUrl: "http://127.0.0.1.example.com" }),
      ["channels[0].baseUrl"],
    ],
    [
      "with a fragment in the address",
      withChannel({ baseUrl: "https://example.com/#x" }),
      ["channels[0].baseUrl"],
    ],
    [
      "with a name in the address",
      withChannel({ baseUrl: "https://me@example.com/" }),
      ["channels[0].baseUrl"],
    ],
    ["with no address", withChannel({ baseUrl: "example.com" }), ["channels[0].baseUrl"]],
    [
      "with a header name of two words",
      withChannel({ headers: { "x y": "1" } }),
      ['channels[0].headers["x y"]'],
    ],
    ["with a header of two lines", withChannel({ headers: { x: "1\r\ny: 2" } }), ["channels[0].headers.x"]],
    ["with weight 0", withChannel({ weight: 0 }), ["channels[0].weight"]],
    ["with endless weight", withChannel({ weight: Infinity }), ["channels[0].weight"]],
    ["with half a priority", withChannel({ priority: 0.5 }), ["channels[0].priority"]],
    ["with timeout 0", withChannel({ timeouts: { idleSeconds: 0 } }), ["channels[0].timeouts.idleSeconds"]],
    [
      "with a timeout that timers cannot hold",
      withChannel({ timeouts: { firstByteSeconds: 3e6 } }),
      ["channels[0].timeouts.firstByteSeconds"],
    ],
    [
      "with a name mapped to a series",
      withChannel({ modelMapping: { a: "ep*" } }),
      ["channels[0].modelMapping.a"],
    ],
    ["with a model that no channel serves", withChannel({ modelMapping: { other: "ep" } }), ["models.a"]],
    [
      "with a series that no channel serves",
      {
        ...GOOD,
        models: { "c*": { family: "qwen-image" } },
        channels: [{ ...GOOD.channels[1], modelMapping: { "b*": "x" } }],
      },
      ['models["c*"]'],
    ],
    [
      "with two channels of one name",
      { ...GOOD, channels: [...GOOD.channels, GOOD.channels[0]] },
      ["channels[2].id"],
    ],
    [
      "with an unknown row of capabilities",
      { ...GOOD, models: { ...GOOD.models, a: { family: "seedream", capabilities: "seedream-9" } } },
      ["models.a.capabilities"],
    ],
    ["with a caller without a key", { ...GOOD, callers: [{ id: "me" }] }, ["callers[0]"]],
    [
      "with a caller with key and hash",
      { ...GOOD, callers: [{ id: "me", key: "k", hash: hashApiKey("k") }] },
      ["callers[0]"],
    ],
    [
      "with a hash that is not a SHA-256",
      { ...GOOD, callers: [{ id: "me", hash: "abc" }] },
      ["callers[0].hash"],
    ],
    [
      "with one key for two callers",
      {
        ...GOOD,
        callers: [
          { id: "me", key: "k" },
          { id: "you", hash: hashApiKey("k").toUpperCase() },
        ],
      },
      ["callers[1]"],
    ],
    [
      "with a model without a price",
      { ...GOOD, billing: { model_details: { "b*": perRequest } } },
      ["billing.model_details.a"],
    ],
    [
      "by token for a family that reports none",
      { ...GOOD, billing: { model_details: { a: perToken, "b*": perToken } } },
      ['billing.model_details["b*"]'],
    ],
    [
      "with a caller of an unknown group",
      {
        ...GOOD,
        callers: [{ id: "me", key: "k", group: "vip" }],
        billing: { model_details: { "*": perRequest } },
      },
      ["callers[0].group"],
    ],
    [
      "with an unknown way of pricing",
      { ...GOOD, billing: { model_details: { "*": { pricing_mode: "free" } } } },
      ['billing.model_details["*"].pricing_mode'],
    ],
    [
      "with a negative price",
      { ...GOOD, billing: { model_details: { "*": { ...perRequest, model_price: -1 } } } },
      ['billing.model_details["*"].model_price'],
    ],
    [
      "with a price that is NaN",
      { ...GOOD, billing: { model_details: { "*": { ...perRequest, model_price: Number.NaN } } } },
      ['billing.model_details["*"].model_price'],
    ],
    [
      "with an exponent bomb",
      { ...GOOD, billing: { model_details: { "*": { ...perRequest, model_price: "1e1000000000" } } } },
      ['billing.model_details["*"].model_price'],
    ],
    [
      "with a ratio that is a word",
      { ...GOOD, billing: { model_details: { "*": perRequest }, group_ratio: { default: "half" } } },
      ["billing.group_ratio.default"],
    ],
    [
      "with 31 decimal places",
      { ...GOOD, billing: { model_details: { "*": { ...perRequest, decimal_places: 31 } } } },
      ['billing.model_details["*"].decimal_places'],
    ],
    ["with a response format of its own", { ...GOOD, responseFormat: "png" }, ["responseFormat"]],
    [
      "with a limit of 0 bytes",
      { ...GOOD, bodyLimits: { json: 0 }, maxUpstreamResponseBytes: 0 },
      ["bodyLimits.json", "maxUpstreamResponseBytes"],
    ],
    [
      "with a heartbeat that timers cannot hold",
      { ...GOOD, heartbeatSeconds: 2_592_000 },
      ["heartbeatSeconds"],
    ],
    ["with a heartbeat that is endless", { ...GOOD, heartbeatSeconds: Infinity }, ["heartbeatSeconds"]],
    ["with onUsage that is not a function", { ...GOOD, onUsage: {} }, ["onUsage"]],
    ["with a logger that cannot warn", { ...GOOD, logger: { error: () => {} } }, ["logger"]],
  ])("%s", (_what, options, paths) => {
    expect(pathsOf(options)).toEqual(paths);
  });

  it.each<[string, object]>([
    ["apiKey", { apiKey: undefined }],
    ["baseUrl", { baseUrl: "x" }],
    ["headers.x", { headers: { x: 1 } }],
    ["priority", { priority: "1" }],
    ["resultHosts", { resultHosts: "x" }],
    ["retryUnsafe", { retryUnsafe: "yes" }],
    ["timeouts.idleSeconds", { timeouts: { idleSeconds: 0 } }],
    ["weight", { weight: 0 }],
  ])("with a wrong %s of a channel, and with what spans options beside it", (path, wrong) => {
    const options = { ...withChannel(wrong), models: { ...GOOD.models, a: { family: "dall-e" } } };
    expect(pathsOf(options)).toEqual([`channels[0].${path}`, "models.a.family", "models.a"]);
  });

  const withCapabilities = (capabilities: unknown): object => ({
    ...GOOD,
    models: { ...GOOD.models, a: { family: "seedream", capabilities } },
  });
  const ROW = "models.a.capabilities";

  it.each<[string, object, string, string]>([
    [
      "a long heartbeat",
      { ...GOOD, heartbeatSeconds: 86_401 },
      "heartbeatSeconds",
      "must be at most 86400, a day",
    ],
    [
      "a base path",
      { ...GOOD, basePath: 1 },
      "basePath",
      "must begin with a slash and end without one, such as /ai",
    ],
    ["callers", { ...GOOD, callers: {} }, "callers", "must be a list of callers"],
    ["limits of bodies", { ...GOOD, bodyLimits: 1 }, "bodyLimits", "must be an object of limits in bytes"],
    [
      "prices",
      { ...GOOD, billing: {} },
      "billing.model_details",
      "is missing: an object of model names and their prices",
    ],
    ["retries", withChannel({ retryUnsafe: "yes" }), "channels[0].retryUnsafe", "must be true or false"],
    ["hosts", withChannel({ resultHosts: "x" }), "channels[0].resultHosts", "must be a list of names"],
    ["a host", withChannel({ resultHosts: [1] }), "channels[0].resultHosts[0]", "must be a string"],
    ["timeouts", withChannel({ timeouts: 5 }), "channels[0].timeouts", "must be an object of seconds"],
    ["headers", withChannel({ headers: [] }), "channels[0].headers", "must be an object of headers"],
    [
      "the name of a header",
      withChannel({ headers: { "x y": "1" } }),
      'channels[0].headers["x y"]',
      "is not a valid header name",
    ],
    [
      "a mapping",
      withChannel({ modelMapping: "x" }),
      "channels[0].modelMapping",
      "must be an object of names",
    ],
    ["capabilities", withCapabilities(1), ROW, "must be the name of a row of capabilities, or a row"],
    ["an empty row", withCapabilities(""), ROW, "must not be empty"],
    ["a strange limit", withCapabilities({ maxPictures: 1 }), `${ROW}.maxPictures`, "is not an option"],
    ["no images", withCapabilities({ imagesPerCall: 0 }), `${ROW}.imagesPerCall`, "must be at least 1"],
    ["images", withCapabilities({ imagesPerCall: "2" }), `${ROW}.imagesPerCall`, "must be a whole number"],
    ["references", withCapabilities({ references: 3 }), `${ROW}.references`, "must be {min, max}"],
    [
      "references in the wrong order",
      withCapabilities({ references: { min: 2, max: 1 } }),
      `${ROW}.references`,
      "must have a min that is not above its max",
    ],
    ["a size", withCapabilities({ size: "2K" }), `${ROW}.size`, 'must be "none" or an object of sizes'],
    [
      "presets",
      withCapabilities({ size: { presets: "2K" } }),
      `${ROW}.size.presets`,
      "must be a list of names",
    ],
    ["a pair", withCapabilities({ size: { list: [[1]] } }), `${ROW}.size.list[0]`, "must be [width, height]"],
    [
      "a ratio",
      withCapabilities({ size: { maxAspectRatio: 0 } }),
      `${ROW}.size.maxAspectRatio`,
      "must be at least 1",
    ],
    [
      "sides in the wrong order",
      withCapabilities({ size: { side: { min: 2, max: 1 } } }),
      `${ROW}.size.side`,
      "must have a min that is not above its max",
    ],
    [
      "pixels in the wrong order",
      withCapabilities({ size: { totalPixels: { min: 2, max: 1 } } }),
      `${ROW}.size.totalPixels`,
      "must have a min that is not above its max",
    ],
  ])("in words, when %s cannot be read", (_what, options, path, message) => {
    expect(problemsOf(options)).toEqual([{ path, message }]);
  });

  it("with every problem at once", () => {
    const options = {
      ...GOOD,
      basePath: "x",
      nonsense: 1,
      channels: [
        { id: "", family: "seedream", apiKey: undefined, weight: -1, baseUrl: "http://example.com" },
        { ...GOOD.channels[1], surprise: 1 },
      ],
      callers: [{ id: "me" }, { key: "k" }],
      authenticate: () => null,
      billing: { model_details: { a: { ...perRequest, model_price: "-1" } } },
    };
    expect(pathsOf(options).toSorted()).toEqual(
      [
        "callers",
        "callers[0]",
        "callers[1].id",
        "basePath",
        "billing.model_details.a.model_price",
        "channels[0].apiKey",
        "channels[0].baseUrl",
        "channels[0].id",
        "channels[0].weight",
        "channels[1].surprise",
        "nonsense",
      ].toSorted(),
    );
  });

  it("of an empty environment variable ask for it, once", () => {
    const channels = [{ id: "ark", family: "seedream", apiKey: "" }, GOOD.channels[1]];
    expect(problemsOf({ ...GOOD, channels, callers: [{ id: "me", key: "" }] })).toEqual([
      { path: "channels[0].apiKey", message: "is missing; is the environment variable set?" },
      { path: "callers[0].key", message: "is missing; is the environment variable set?" },
    ]);
  });

  it("in a message of one line for each, without a key", () => {
    const { message } = new GatewayOptionsError(
      problemsOf({ ...GOOD, callers: [{ id: "me", key: "my secret key" }], basePath: "x" }),
    );
    expect(message.split("\n")).toEqual([
      "The options of the gateway are wrong:",
      "  basePath must begin with a slash and end without one, such as /ai",
      "  callers[0].key must be letters, digits and signs without spaces",
    ]);
    expect(message).not.toContain("secret");
  });
});

describe("a price by tokens of a family that reports none", () => {
  it.each<[string, object]>([
    ["the series itself", { "image-edit*": perToken }],
    ["a wider series", { "image-*": perToken }],
    ["everything", { "*": perToken }],
    ["a narrower series", { "image-edit-p*": perToken }],
    ["one name of the series", { "image-edit-plus": perToken }],
    ["the shortest name of the series", { "image-edit": perToken }],
    [
      "a wider series in which only one name has its own price",
      { "image-*": perToken, "image-edit": perRequest },
    ],
    [
      "one name, beside a good price of the series",
      { "image-edit*": perRequest, "image-edit-plus": perToken },
    ],
  ])("is refused for %s", (_what, prices) => {
    expect(problemsOf(withPrices(prices))).toMatchObject([
      { message: "must be per-request: it prices image-edit*, and qwen-image reports no tokens" },
    ]);
  });

  it.each<[string, object, object]>([
    [
      "no name of the series",
      { "image-edit*": perRequest, "a*": perToken },
      { "a-1": { family: "seedream" } },
    ],
    ["a wider series, when the series has a good price", { "*": perToken, "image-edit*": perRequest }, {}],
    [
      "a name that another family makes",
      { "image-edit*": perRequest, "image-edit-x": perToken },
      { "image-edit-x": { family: "seedream" } },
    ],
  ])("is taken for %s", (_what, prices, models) => {
    expect(problemsOf(withPrices(prices, models))).toEqual([]);
  });
});

describe("a family of the operator's", () => {
  const own = { ...seedream, name: "own" };

  it("is taken when it is whole", () => {
    expect(pathsOf({ ...GOOD, families: [own] })).toEqual([]);
  });

  it.each([
    "name",
    "defaultBaseUrl",
    "operations",
    "delivers",
    "reportsTokens",
    "normalize",
    "toUpstream",
    "fromUpstream",
    "toFailure",
  ])("is refused without %s", (member) => {
    expect(pathsOf({ ...GOOD, families: [{ ...own, [member]: undefined }] })).toContain(
      `families[0].${member}`,
    );
  });

  it.each([
    ["an unknown dialect", { dialect: "b" }, "channels[0].dialect", "must be one of a, bare"],
    [
      "no address where the dialect has none",
      { dialect: "bare" },
      "channels[0].baseUrl",
      "is missing: the dialect bare has no address of its own",
    ],
  ])("is refused with %s", (_what, channel, path, message) => {
    const dialects = { a: {}, bare: { defaultBaseUrl: undefined } };
    const options = {
      ...GOOD,
      families: [{ ...own, dialects }],
      models: { m: { family: "own" } },
      channels: [{ id: "c", family: "own", apiKey: "k", ...channel }],
      billing: undefined,
    };
    expect(problemsOf(options)).toEqual([{ path, message }]);
  });

  it("has no prices by token if one of its channels has a dialect that reports no tokens", () => {
    const options = {
      ...GOOD,
      families: [{ ...own, dialects: { mute: { reportsTokens: false } } }],
      models: { m: { family: "own" } },
      channels: [
        { id: "c", family: "own", apiKey: "k" },
        { id: "d", family: "own", apiKey: "k", dialect: "mute" },
      ],
      billing: { model_details: { m: { pricing_mode: "per-token" as const, output_token_price: "1" } } },
    };
    expect(problemsOf(options)).toEqual([
      {
        path: "billing.model_details.m",
        message: "must be per-request: it prices m, and mute reports no tokens",
      },
    ]);
  });

  it("does not take the place of another", () => {
    expect(pathsOf({ ...GOOD, families: [seedream, own, own] })).toEqual([
      "families[0].name",
      "families[2].name",
    ]);
  });

  it("names the missing options if nothing is given", () => {
    expect(problemsOf({ callers: GOOD.callers })).toMatchObject([
      { path: "models", message: "is missing: an object of model names and their options" },
      { path: "channels", message: "is missing: a list of channels" },
    ]);
  });
});

describe("entries of one caller", () => {
  const SHOP = {
    id: "shop",
    group: "vip",
    models: ["a", "b*"],
    responseFormat: "url",
    budget: "20",
    limits: { requestsPerMinute: 5, imagesPerMinute: null },
  };
  const withKeys = (...others: readonly object[]): object => ({
    ...GOOD,
    callers: [SHOP, ...others].map((entry, index) => ({ key: `key-${index}`, ...entry })),
    billing: { model_details: { "*": perRequest }, group_ratio: { default: "1", vip: "0.8" } },
  });

  it.each<[string, object]>([
    ["alike", SHOP],
    ["that end at different times", { ...SHOP, expiresAt: "2027-01-31T00:00:00Z" }],
    ["with the same budget in another spelling", { ...SHOP, budget: 20 }],
    ["with the same models in another order", { ...SHOP, models: ["b*", "a", "a"] }],
    [
      "with the same limits in another order",
      { ...SHOP, limits: { concurrent: undefined, imagesPerMinute: null, requestsPerMinute: 5 } },
    ],
    ["of another id", { id: "other" }],
  ])("are taken: %s", (_what, other) => {
    expect(problemsOf(withKeys(other))).toEqual([]);
  });

  it.each<[string, object]>([
    ["budget", { budget: undefined }],
    ["budget", { budget: "20.01" }],
    ["group", { group: undefined }],
    ["models", { models: undefined }],
    ["models", { models: ["a"] }],
    ["responseFormat", { responseFormat: "b64_json" }],
    ["limits", { limits: undefined }],
    ["limits", { limits: { requestsPerMinute: 5 } }],
    ["limits", { limits: { requestsPerMinute: 6, imagesPerMinute: null } }],
  ])("that differ in %s are refused: %j", (field, change) => {
    expect(problemsOf(withKeys({ id: "other" }, { ...SHOP, ...change }))).toEqual([
      {
        path: `callers[2].${field}`,
        message: `must be the same as callers[0].${field}: both entries have the id shop, and only key, hash and expiresAt may differ`,
      },
    ]);
  });
});

describe("what would be ignored", () => {
  const PRICED = { ...GOOD, billing: { model_details: { "*": perRequest } } };

  it.each<[string, object, string, string]>([
    [
      "a budget without prices",
      { ...GOOD, callers: [{ id: "me", key: "secret", budget: "5" }] },
      "callers[0].budget",
      "needs billing: without prices nothing is charged, so the budget would have no effect",
    ],
    ...["aa", "b", "A", "c*"].map((name): [string, object, string, string] => [
      `the price ${name}`,
      { ...GOOD, billing: { model_details: { "*": perRequest, [name]: perRequest } } },
      name === "c*" ? 'billing.model_details["c*"]' : `billing.model_details.${name}`,
      "is a price without a model: no key of models has this name or belongs to this series",
    ]),
  ])("is refused: %s", (_what, options, path, message) => {
    const wide = { ...options, models: { a: { family: "seedream" }, "bb*": { family: "qwen-image" } } };
    expect(problemsOf(wide)).toEqual([{ path, message }]);
  });

  it.each<[string, object]>([
    [
      "a price of one name of a series",
      { ...GOOD, billing: { model_details: { "*": perRequest, "b-1": perRequest } } },
    ],
    [
      "a price of a narrower series",
      { ...GOOD, billing: { model_details: { "*": perRequest, "bb*": perRequest } } },
    ],
    [
      "a group without callers",
      { ...PRICED, billing: { ...PRICED.billing, group_ratio: { default: 1, vip: 2 } } },
    ],
    [
      "one model of several that does not exist",
      { ...PRICED, callers: [{ id: "me", key: "s", models: ["a", "c"] }] },
    ],
    // A model can be taken out of service without a change to its callers, who may come from a database.
    [
      "a caller none of whose models exists",
      { ...PRICED, callers: [{ id: "me", key: "s", models: ["aa", "c*"] }] },
    ],
    ["a caller that may use nothing", { ...PRICED, callers: [{ id: "me", key: "s", models: [] }] }],
  ])("has no problem with %s", (_what, options) => {
    expect(problemsOf(options)).toEqual([]);
  });
});

const inCase = (
  models: readonly string[],
  prices: readonly string[],
  mapping: object | undefined,
): object => ({
  ...GOOD,
  models: Object.fromEntries(models.map((name) => [name, { family: "seedream" }])),
  channels: [{ id: "ark", family: "seedream", apiKey: "k1", modelMapping: mapping }],
  billing: { model_details: Object.fromEntries(["*", ...prices].map((name) => [name, perRequest])) },
  caseInsensitiveNames: true,
});

describe("names whose case does not count", () => {
  it.each<[string, object, string, string]>([
    ["two models", inCase(["a", "A"], [], undefined), "models.A", "models.a"],
    ["a model of a series", inCase(["ab*", "Abc"], [], undefined), "models.Abc", 'models["ab*"]'],
    ["a mapping", inCase(["a"], [], { "*": "x*", A: "y" }), "channels[0].modelMapping.A", "models.a"],
  ])("have one spelling: %s", (_what, options, path, other) => {
    expect(problemsOf(options)).toEqual([
      {
        path,
        message: `is spelled in another case than ${other}: with caseInsensitiveNames use one spelling`,
      },
    ]);
  });

  it("may have one spelling, and two if case matters", () => {
    const options = inCase(["Ab*", "Abc"], ["Abc"], { "*": "x*", "Ab*": "y*" });
    expect(problemsOf(options)).toEqual([]);
    expect(problemsOf({ ...inCase(["a", "A"], [], undefined), caseInsensitiveNames: undefined })).toEqual([]);
  });
});
