import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import { type Channel, type ChannelOptions, createChannel } from "./channel.js";

const create = (options: Partial<ChannelOptions>): Channel =>
  createChannel({ id: "c", family: "seedream", apiKey: "k", ...options }, seedream);

describe("the address of a channel", () => {
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
  ])("%s is %s", (model, upstream) => {
    expect(mapped.toUpstreamModel(model)).toBe(upstream);
  });

  it("keep their names where nothing is mapped", () => {
    expect(create({}).toUpstreamModel("anything")).toBe("anything");
  });

  it("are none where the mapping is empty", () => {
    expect(create({ modelMapping: {} }).toUpstreamModel("anything")).toBeUndefined();
  });
});

describe("the other options of a channel", () => {
  it("have defaults, each on its own", () => {
    expect(create({}).timeouts).toEqual({ connectMs: 10_000, firstByteMs: 900_000, idleMs: 300_000 });
    const timeouts = { idleMs: 5, connectMs: undefined } as object;
    expect(create({ timeouts }).timeouts).toEqual({ connectMs: 10_000, firstByteMs: 900_000, idleMs: 5 });
    expect(create({})).toMatchObject({ priority: 0, weight: 1, headers: {}, retryUnsafe: false });
  });

  it("hold header names in lower case", () => {
    expect(create({ headers: { Authorization: "x", "X-Team": "Y" } }).headers).toEqual({
      authorization: "x",
      "x-team": "Y",
    });
  });
});
