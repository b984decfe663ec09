import { describe, expect, it } from "vitest";
import { createTestGateway } from "../testing/test-gateway.js";
import { isJsonObject } from "../util/json.js";

const options = {
  models: {
    "image-edit*": { family: "qwen-image" },
    "seedream-4-0-250828": { family: "seedream" },
    half: { family: "seedream" },
  },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: "k",
      modelMapping: { "seedream-4-0-250828": "ep-1", half: "ep-2" },
    },
    {
      id: "bailian",
      family: "qwen-image",
      apiKey: "k",
      modelMapping: { "image-edit-p*": "qwen-image-edit-p*" },
    },
  ],
};

describe("a service model that is mapped to an endpoint id", () => {
  it.each<[string, number, string | undefined]>([
    ["1K", 400, "size"],
    ["1024x1024", 400, "size"],
    ["512x512", 400, "size"],
    ["2K", 200, undefined],
    ["2048x2048", 200, undefined],
  ])("has the sizes of its service name: %s gets %i", async (size, status, param) => {
    const { post, calls } = createTestGateway(undefined, {
      models: { "seedream-4-5-251128": { family: "seedream" } },
      channels: [
        {
          id: "ark",
          family: "seedream",
          apiKey: "key-of-the-channel",
          modelMapping: { "seedream-4-5-251128": "ep-20260101-abcde" },
        },
      ],
    });
    const response = await post({ model: "seedream-4-5-251128", prompt: "x", size });
    expect(response.status).toBe(status);
    const { error } = response.body;
    expect(isJsonObject(error) ? error["param"] : undefined).toBe(param);
    expect(calls.map(({ body }) => body["model"])).toEqual(status === 200 ? ["ep-20260101-abcde"] : []);
  });
});

describe("the model of a request", () => {
  it("is sent with its name on the channel, and other fields are unchanged", async () => {
    const { post, calls } = createTestGateway(undefined, options);
    await post({ model: "image-edit-plus", prompt: "x", image: "https://x.test/y" });
    expect(calls[0]?.body["model"]).toBe("qwen-image-edit-plus");
    expect(calls[0]?.url).toBe(
      "https://dashscope.aliyuncs.com/api/v1/services/aigc/multimodal-generation/generation",
    );
    expect(calls[0]?.headers.get("authorization")).toBe("Bearer k");
  });

  it.each([
    [undefined, 400, "model is required"],
    [null, 400, "model is required"],
    ["", 400, "model is required"],
    [5, 400, "model must be a string."],
    [["seedream-4-0-250828"], 400, "model must be a string."],
    [{}, 400, "model must be a string."],
    ["gpt-image-1", 404, "The model gpt-image-1 does not exist."],
    [
      "Seedream-4-0-250828",
      404,
      "The model Seedream-4-0-250828 does not exist. Names are case-sensitive: send seedream-4-0-250828.",
    ],
    [" half", 404, "The model  half does not exist."],
    ["__proto__", 404, "The model __proto__ does not exist."],
    ["constructor", 404, "The model constructor does not exist."],
    ["image-edit-max", 404, "The model image-edit-max does not exist."],
    ["ep-1", 404, "The model ep-1 does not exist."],
    ["x".repeat(1_000), 404, `The model ${"x".repeat(128)} does not exist.`],
  ])("is refused if it is %j", async (model, status, message) => {
    const { post, calls } = createTestGateway(undefined, options);
    const response = await post({ model, prompt: "x" });
    expect(response.status).toBe(status);
    expect(response.body).toEqual({
      error: {
        message,
        type: "invalid_request_error",
        code: status === 404 ? "model_not_found" : "invalid_request_error",
        param: "model",
      },
    });
    expect(calls).toEqual([]);
  });

  it.each([
    ["the longest that there is", "p".repeat(256 - "image-edit-".length), 200],
    ["longer", "p".repeat(257 - "image-edit-".length), 404],
    ["with a NUL, which databases refuse", "p\0", 404],
    ["with a line end", "p\n", 404],
    ["with half of a surrogate pair", "p\ud83d", 404],
    ["with a whole one", "p😀", 200],
  ])("has a valid name in a series: %s", async (_what, rest, status) => {
    const { post, calls } = createTestGateway(undefined, options);
    const response = await post({ model: `image-edit-${rest}`, prompt: "x", image: "https://x.test/y" });
    expect(response.status).toBe(status);
    expect(calls).toHaveLength(status === 200 ? 1 : 0);
  });

  it.each([
    [["half"], "half", 200],
    [["h*"], "half", 200],
    [["*"], "half", 200],
    [[], "half", 403],
    [["seedream*"], "half", 403],
    [undefined, "half", 200],
  ])("of a caller with the models %j: %s gets %i", async (models, model, status) => {
    const { post } = createTestGateway(undefined, {
      ...options,
      callers: undefined,
      authenticate: () => ({ id: "me", models }),
    });
    const response = await post({ model, prompt: "x" });
    expect(response.status).toBe(status);
    expect(response.body["error"] ?? "none").toEqual(
      status === 200
        ? "none"
        : {
            message: "This API key may not use the model half.",
            type: "permission_error",
            code: "model_not_allowed",
            param: "model",
          },
    );
  });
});

const price = (model_price: string) => ({ pricing_mode: "per-request" as const, model_price });

describe("a name that differs only in case", () => {
  const cased = {
    models: {
      "image-2.0*": { family: "qwen-image" },
      "image-Max": { family: "qwen-image" },
      "image-*": { family: "qwen-image" },
    },
    channels: [
      { id: "bailian", family: "qwen-image", apiKey: "k", modelMapping: { "image-*": "qwen-image-*" } },
    ],
    billing: {
      model_details: { "image-*": price("0.1"), "image-2.0*": price("0.2"), "image-2.0-pro*": price("0.5") },
    },
  };

  it.each([
    ["IMAGE-2.0", "image-2.0"],
    ["image-2.0-PRO", "image-2.0-pro"],
    ["image-2.0-Pro-2026", "image-2.0-pro-2026"],
    ["image-max", "image-Max"],
    ["image-PLUS", "image-plus"],
  ])("from the name of a model, a price or a row gets a 404 with that name: %s", async (model, meant) => {
    const { post, calls } = createTestGateway(undefined, cased);
    expect(await post({ model, prompt: "x" })).toMatchObject({
      status: 404,
      body: {
        error: {
          code: "model_not_found",
          message: `The model ${model} does not exist. Names are case-sensitive: send ${meant}.`,
        },
      },
    });
    expect(calls).toEqual([]);
  });

  it("gets a 404 without the name of a model that the caller may not use", async () => {
    const { post } = createTestGateway(undefined, {
      ...cased,
      callers: undefined,
      authenticate: () => ({ id: "me", models: ["image-Max"] }),
    });
    expect((await post({ model: "image-2.0-PRO", prompt: "x" })).body).toMatchObject({
      error: { message: "The model image-2.0-PRO does not exist." },
    });
  });

  it("in a part that is not configured is another name of the series", async () => {
    const { post, records } = createTestGateway(undefined, cased);
    expect((await post({ model: "image-2.0-Blue", prompt: "x" })).status).toBe(200);
    expect(records).toMatchObject([{ model: "image-2.0-Blue", charge: "0.2" }]);
  });

  it.each([
    ["IMAGE-2.0-PRO", "image-2.0-pro", "qwen-image-2.0-pro", "0.5"],
    ["image-2.0-Blue", "image-2.0-blue", "qwen-image-2.0-blue", "0.2"],
    ["IMAGE-max", "image-Max", "qwen-image-Max", "0.1"],
  ])(
    "is read as %s if case does not count, and has one spelling everywhere",
    async (sent, model, upstream, charge) => {
      const { post, calls, records } = createTestGateway(undefined, { ...cased, caseInsensitiveNames: true });
      expect((await post({ model: sent, prompt: "x" })).status).toBe(200);
      expect(calls.map(({ body }) => body["model"])).toEqual([upstream]);
      expect(records).toMatchObject([{ model, upstreamModel: upstream, charge }]);
    },
  );

  it("is accepted in a caller's models too", async () => {
    const { post } = createTestGateway(undefined, {
      ...cased,
      caseInsensitiveNames: true,
      callers: undefined,
      authenticate: () => ({ id: "me", models: ["Image-2.0*"] }),
    });
    expect((await post({ model: "image-2.0-PRO", prompt: "x" })).status).toBe(200);
    expect((await post({ model: "IMAGE-MAX", prompt: "x" })).status).toBe(403);
  });
});
