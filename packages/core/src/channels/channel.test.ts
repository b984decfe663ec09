import { describe, expect, it } from "vitest";
import type { Family } from "../families/family.js";
import { seedream } from "../families/seedream/seedream.js";
import { type Channel, type ChannelOptions, createChannel, healthIdsOf, secretsOf } from "./channel.js";

const create = (options: Partial<ChannelOptions>): Channel =>
  createChannel({ id: "c", family: "seedream", apiKey: "k", ...options }, seedream);

const idsOf = (options: Partial<ChannelOptions>): string[] => healthIdsOf([create(options)]);

describe("the base URL of a channel", () => {
  it.each([
    [undefined, "https://ark.cn-beijing.volces.com/api/v3"],
    ["https://ark.ap-southeast.bytepluses.com", "https://ark.ap-southeast.bytepluses.com/api/v3"],
    ["https://ark.ap-southeast.bytepluses.com/", "https://ark.ap-southeast.bytepluses.com/api/v3"],
    ["https://proxy.example/ark/v3", "https://proxy.example/ark/v3"],
    ["https://proxy.example/ark/v3///", "https://proxy.example/ark/v3"],
    ["https://proxy.example:443/x", "https://proxy.example/x"],
    ["http://127.0.0.1:8787", "http://127.0.0.1:8787/api/v3"],
    ["HTTP://LOCALHOST:8787/x/", "http://localhost:8787/x"],
  ])("%s becomes %s", (baseUrl, expected) => {
    expect(create({ baseUrl }).baseUrl).toBe(expected);
  });
});

describe("the URL of a call", () => {
  const family: Family = {
    ...seedream,
    hosts: ["poll.example", "*.regions.example"],
    dialects: { azure: { defaultBaseUrl: undefined, defaultPath: "/openai/v1" } },
  };
  const urlOf = (options: Partial<ChannelOptions>, call: { path: string; query?: Record<string, string> }) =>
    createChannel({ id: "c", family: "seedream", apiKey: "k", ...options }, family).toUrl(call);

  it.each([
    ["https://a.example/v1", { path: "/x" }, "https://a.example/v1/x"],
    ["https://a.example/v1", { path: "/x", query: { alt: "sse" } }, "https://a.example/v1/x?alt=sse"],
    ["https://a.example/v1?api-version=v1", { path: "/x" }, "https://a.example/v1/x?api-version=v1"],
    [
      "https://a.example/v1?api-version=v1",
      { path: "/x", query: { alt: "a b" } },
      "https://a.example/v1/x?api-version=v1&alt=a+b",
    ],
    ["https://a.example/v1?v=1&w=2", { path: "/x", query: { v: "3" } }, "https://a.example/v1/x?v=3&w=2"],
    ["https://a.example/v1?v=1", { path: "https://a.example/t/1?id=2" }, "https://a.example/t/1?id=2"],
    ["https://a.example/v1", { path: "https://poll.example/1" }, "https://poll.example/1"],
    ["https://a.example/v1", { path: "https://eu.regions.example/1" }, "https://eu.regions.example/1"],
    ["http://127.0.0.1:8080/v1", { path: "http://127.0.0.1:8080/t" }, "http://127.0.0.1:8080/t"],
  ])("below %s for %j is %s", (baseUrl, call, url) => {
    expect(urlOf({ baseUrl }, call)).toBe(url);
  });

  it.each([
    "https://evil.example/1",
    "http://poll.example/1",
    "https://regions.example/1",
    "https://a.example.evil.example/1",
    "https://a.example:8443/1",
    "http://169.254.169.254/1",
  ])("is not %s, which is not a host of the channel", (path) => {
    expect(() => urlOf({ baseUrl: "https://a.example/v1" }, { path })).toThrow(
      "not on a host of the channel",
    );
  });

  it("has the path of the dialect if the base URL has none", () => {
    const options = { dialect: "azure", baseUrl: "https://r.openai.azure.com?api-version=v1" };
    const url = "https://r.openai.azure.com/openai/v1/images/edits?api-version=v1";
    expect(urlOf(options, { path: "/images/edits" })).toBe(url);
  });
});

describe("a dialect", () => {
  const family: Family = {
    ...seedream,
    authorize: (key) => ({ "X-Key": key }),
    dialects: {
      plain: {},
      other: { authorize: (key) => ({ authorization: `Key ${key}` }), reportsTokens: false },
    },
  };
  const open = (dialect: string | undefined) =>
    createChannel(
      {
        id: "c",
        family: "seedream",
        apiKey: "k",
        headers: { Authorization: "mine", "x-key": "mine" },
        dialect,
      },
      family,
    );

  it.each([
    [undefined, { authorization: "mine", "x-key": "k", accept: "a" }],
    ["plain", { authorization: "mine", "x-key": "k", accept: "a" }],
    ["other", { authorization: "Key k", "x-key": "mine", accept: "a" }],
  ])("%s sends the key in its own headers", (dialect, headers) => {
    expect(open(dialect).keys[0]?.toHeaders({ Accept: "a" })).toEqual(headers);
  });

  it("has the key as a secret in each form in which it is sent", () => {
    const apiKey = "me:canary-71a9f604";
    const basic: Family = { ...seedream, authorize: (key) => ({ authorization: `Basic ${btoa(key)}` }) };
    const channel = createChannel({ id: "c", family: "seedream", apiKey }, basic);
    expect(secretsOf(channel)).toEqual(expect.arrayContaining([apiKey, btoa(apiKey)]));
  });

  it("has the members of the family that it does not replace", () => {
    const { dialect } = open("other");
    expect(dialect.reportsTokens).toBe(false);
    expect(dialect.delivers).toEqual(["url", "b64_json"]);
    expect(dialect.defaultBaseUrl).toBe(family.defaultBaseUrl);
  });
});

describe("the models of a channel", () => {
  const mapped = create({
    modelMapping: {
      "image-edit*": "qwen-image-edit*",
      "image-edit-max": "special",
      "image-2.0*": "one-for-all",
      "image-2.0-pro*": "pro*",
    },
  });

  it.each([
    ["image-edit", "qwen-image-edit"],
    ["image-edit-plus", "qwen-image-edit-plus"],
    ["image-edit-max", "special"],
    ["image-edit-max-2", "qwen-image-edit-max-2"],
    ["image-2.0-lite", "one-for-all"],
    ["image-2.0-pro", "pro"],
    ["image-2.0-pro-x", "pro-x"],
    ["image-max", undefined],
    ["__proto__", undefined],
    ["constructor", undefined],
  ])("map %s to %s", (model, upstream) => {
    expect(mapped.toUpstreamModel(model)).toBe(upstream);
  });

  it("keep their names without a mapping", () => {
    expect(create({}).toUpstreamModel("anything")).toBe("anything");
  });

  it("do not exist if the mapping is empty", () => {
    expect(create({ modelMapping: {} }).toUpstreamModel("anything")).toBeUndefined();
  });
});

describe("the other options of a channel", () => {
  it("have separate defaults", () => {
    expect(create({}).timeouts).toEqual({ connectMs: 10_000, firstByteMs: 900_000, idleMs: 300_000 });
    const timeouts = { idleSeconds: 0.005, connectSeconds: undefined } as object;
    expect(create({ timeouts }).timeouts).toEqual({ connectMs: 10_000, firstByteMs: 900_000, idleMs: 5 });
    expect(create({})).toMatchObject({ priority: 0, weight: 1, headers: {}, retryUnsafe: false });
  });

  it("have header names in lower case", () => {
    expect(create({ headers: { Authorization: "x", "X-Team": "Y" } }).headers).toEqual({
      authorization: "x",
      "x-team": "Y",
    });
  });
});

describe("the keys of a channel", () => {
  it("keep their order", () => {
    const { keys } = create({ apiKey: ["first-key", "second-key"] });
    expect(keys).toMatchObject([
      { index: 0, apiKey: "first-key" },
      { index: 1, apiKey: "second-key" },
    ]);
  });

  it("are sent with the channel's headers, which replace those of the family", () => {
    const headers = { "X-Team": "c", "content-type": "text/x-of-the-channel" };
    const [first, second] = create({ apiKey: ["a", "b"], headers }).keys;
    const given = { "content-type": "application/json", accept: "x", authorization: "of the family" };
    const whole = { accept: "x", "content-type": "text/x-of-the-channel", "x-team": "c" };
    expect(first?.toHeaders(given)).toEqual({ ...whole, authorization: "Bearer a" });
    expect(second?.toHeaders(given)).toEqual({ ...whole, authorization: "Bearer b" });
    expect(first?.toHeaders({ accept: "y" })).toEqual({ ...whole, accept: "y", authorization: "Bearer a" });
    expect(first?.toHeaders(given)).toEqual({ ...whole, authorization: "Bearer a" });
    expect(given.authorization).toBe("of the family");
  });

  it("are secrets, and headers with the name of a secret are too", () => {
    const headers = { "x-api-key": "third-key", "x-team": "pictures" };
    const apiKey = ["first-key", "second-key"];
    expect(secretsOf(create({ apiKey, headers }))).toEqual([...apiKey, "third-key"]);
  });

  it("are not secrets if they are as short as a placeholder", () => {
    expect(secretsOf(create({}))).toEqual([]);
  });
});

describe("the health ids of a channel", () => {
  it("are equal for a channel and its only key, and different with several keys", () => {
    expect(idsOf({})).toHaveLength(1);
    expect(idsOf({ apiKey: ["only"] })).toEqual(idsOf({ apiKey: "only" }));
    expect(new Set(idsOf({ apiKey: ["a", "b"] })).size).toBe(3);
  });

  it("begin with the channel's id and contain no key", () => {
    for (const id of idsOf({ apiKey: ["secret-one", "secret-two"] })) {
      expect(id).toMatch(/^c@[\da-f]{16}$/);
    }
  });

  it("are the same in every process", () => {
    expect(idsOf({})).toEqual(["c@3845e59a21eb3fef"]);
  });

  it.each<[string, Partial<ChannelOptions>]>([
    ["another key", { apiKey: "other" }],
    ["another URL", { baseUrl: "https://proxy.example/x" }],
    ["another id", { id: "d" }],
  ])("change with %s", (_what, options) => {
    expect(idsOf(options)).not.toEqual(idsOf({}));
  });

  it("stay the same for keys in another order", () => {
    const before = idsOf({ apiKey: ["a", "b"] });
    const after = idsOf({ apiKey: ["c", "b", "d"] });
    expect(after[0]).toBe(before[0]);
    expect(after[2]).toBe(before[2]);
    expect(after).not.toContain(before[1]);
    expect(idsOf({ apiKey: "b" })).toEqual([before[2]]);
  });

  it.each<[string, Partial<ChannelOptions>]>([
    ["weights", { weight: 7, priority: 3 }],
    ["mappings", { modelMapping: { a: "b" } }],
    ["timeouts", { timeouts: { idleSeconds: 0.005 } }],
  ])("stay the same with other %s", (_what, options) => {
    expect(idsOf(options)).toEqual(idsOf({}));
  });
});
