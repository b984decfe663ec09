import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  DASHSCOPE_KEY,
  type Provider,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";

const NATIVE = "http://gateway.test/api/v3/images/generations";
const MODEL = "seedream-4-5-251128";

async function ask({ gateway }: TestGateway, body: unknown): Promise<ReadResponse> {
  return readResponse(await gateway.fetch(new Request(NATIVE, createPost(body))));
}

const channel = (id: string, modelMapping: Record<string, string>, more: object = {}) => ({
  id,
  family: "seedream",
  apiKey: ARK_KEY,
  modelMapping,
  ...more,
});

/** A provider that responds to every call with this text. */
const json =
  (text: string, status = 200): Provider =>
  () =>
    new Response(text, { status, headers: { "content-type": "application/json", "x-tt-logid": "1" } });

const refusing = json('{"error":{"code":"ServerOverloaded"}}', 503);

/** Models, and channels that know them by other names. */
const MAPPED = {
  models: {
    [MODEL]: { family: "seedream" },
    "seedream-4-0-250828": { family: "seedream" },
    "seedream-5-0*": { family: "seedream" },
    "image-max": { family: "qwen-image" },
  },
  channels: [
    channel("one", { [MODEL]: "ep-one", "seedream-4-0-250828": "ep-shared", "seedream-5-0*": "doubao-5-0*" }),
    channel("two", { [MODEL]: "ep-two" }),
    channel("three", { [MODEL]: "ep-shared" }, { priority: -1 }),
    {
      id: "bailian",
      family: "qwen-image",
      apiKey: DASHSCOPE_KEY,
      modelMapping: { "image-max": "qwen-image-max" },
    },
  ],
} satisfies Partial<GatewayOptions>;

describe("the model of a native request", () => {
  it.each([
    ["a service name", "seedream-4-0-250828", "ep-shared", "seedream-4-0-250828", "one"],
    ["an endpoint id", "ep-two", "ep-two", MODEL, "two"],
    ["another endpoint id of the same model", "ep-one", "ep-one", MODEL, "one"],
    ["a name of a series, read back", "doubao-5-0-260128", "doubao-5-0-260128", "seedream-5-0-260128", "one"],
    ["a service name of a series", "seedream-5-0-260128", "doubao-5-0-260128", "seedream-5-0-260128", "one"],
  ])("may be %s: %s", async (_what, model, upstreamModel, serviceModel, channelId) => {
    const test = createTestGateway(undefined, MAPPED);
    const response = await ask(test, { model, prompt: "x" });
    expect(response.status).toBe(200);
    expect(test.calls.map(({ body }) => body["model"])).toEqual([upstreamModel]);
    expect(test.records).toMatchObject([
      { model: serviceModel, upstreamModel, channel: channelId, operation: "native" },
    ]);
  });

  it.each([
    ["an id of Ark", "doubao-seedream-5-5-261028", "ark"],
    ["an id of BytePlus", "dola-seedream-5-5-261028", "byteplus"],
    ["a service name", "seedream-5-5-261028", "ark"],
  ])("may be %s, if a channel maps the series to it: %s", async (_what, model, channelId) => {
    const test = createTestGateway(undefined, {
      models: { "seedream-*": { family: "seedream" } },
      channels: [
        channel("ark", { "seedream-*": "doubao-seedream-*" }, { priority: 1 }),
        channel("byteplus", { "seedream-*": "dola-seedream-*" }),
      ],
    });
    expect((await ask(test, { model, prompt: "x" })).status).toBe(200);
    expect(test.records).toMatchObject([{ model: "seedream-5-5-261028", channel: channelId }]);
  });

  it("may be an id of BytePlus that one channel maps an exact name to", async () => {
    const test = createTestGateway(undefined, {
      models: { "seedream-5-0-pro-260628": { family: "seedream" } },
      channels: [channel("byteplus", { "seedream-5-0-pro-260628": "dola-seedream-5-0-pro-260628" })],
    });
    const response = await ask(test, { model: "dola-seedream-5-0-pro-260628", prompt: "x" });
    expect(response.status).toBe(200);
    expect(test.calls.map(({ body }) => body["model"])).toEqual(["dola-seedream-5-0-pro-260628"]);
    expect(test.records).toMatchObject([{ model: "seedream-5-0-pro-260628" }]);
  });

  it.each([
    ["an identifier that no channel serves", "ep-nobody"],
    ["an identifier of a series to which nothing is left", "doubao-4-0"],
    ["an identifier in other letters", "EP-ONE"],
    ["nothing but a star", "*"],
  ])("is not found when it is %s", async (_what, model) => {
    const test = createTestGateway(undefined, MAPPED);
    const response = await ask(test, { model, prompt: "x" });
    expect(response.status).toBe(404);
    expect(response.body).toMatchObject({ error: { code: "model_not_found", param: "model" } });
    expect(test.calls).toEqual([]);
  });

  it("must be requested by its service name if several models are mapped to an identifier", async () => {
    const test = createTestGateway(undefined, MAPPED);
    const response = await ask(test, { model: "ep-shared", prompt: "x" });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({
      error: {
        message: "Several models are mapped to ep-shared: send the service model's name.",
        code: "invalid_request_error",
        param: "model",
      },
    });
    expect(test.calls).toEqual([]);
  });

  it("needs its service name if an identifier is mapped from a whole series", async () => {
    const test = createTestGateway(undefined, {
      models: { "seedream*": { family: "seedream" } },
      channels: [channel("one", { "seedream*": "ep-all" })],
    });
    expect((await ask(test, { model: "ep-all", prompt: "x" })).status).toBe(400);
    expect((await ask(test, { model: "seedream-x", prompt: "x" })).status).toBe(200);
  });

  it("is found behind a mapping of a series when it alone is served", async () => {
    const test = createTestGateway(undefined, {
      models: { [MODEL]: { family: "seedream" } },
      channels: [channel("one", { "seedream-4-5*": "ep-all" })],
    });
    expect((await ask(test, { model: "ep-all", prompt: "x" })).status).toBe(200);
    expect(test.records).toMatchObject([{ model: MODEL, upstreamModel: "ep-all" }]);
  });

  it("is not sought behind entries of a mapping that do not count", async () => {
    const test = createTestGateway(undefined, {
      models: { "a*": { family: "seedream" }, c: { family: "seedream" } },
      // For ab the exact entry counts, and e is not a model.
      channels: [channel("one", { "a*": "x*", ab: "y", c: "xb", e: "xb" })],
    });
    expect((await ask(test, { model: "xb", prompt: "x" })).status).toBe(200);
    expect(test.records).toMatchObject([{ model: "c", upstreamModel: "xb" }]);
  });

  it("goes only to channels that map to the identifier, also when those fail", async () => {
    const test = createTestGateway(refusing, MAPPED);
    expect((await ask(test, { model: "ep-two", prompt: "x" })).status).toBe(502);
    expect(test.calls.map(({ body }) => body["model"])).toEqual(["ep-two"]);

    const byName = createTestGateway(refusing, MAPPED);
    await ask(byName, { model: MODEL, prompt: "x" });
    expect(new Set(byName.calls.map(({ body }) => body["model"]))).toEqual(
      new Set(["ep-one", "ep-two", "ep-shared"]),
    );
    expect(byName.calls).toHaveLength(3);
  });

  it("is an identifier on the native endpoint only", async () => {
    const test = createTestGateway(undefined, MAPPED);
    expect((await test.post({ model: "ep-one", prompt: "x" })).status).toBe(404);
  });

  it("is allowed and priced as the service model behind an identifier", async () => {
    const billing = {
      model_details: Object.fromEntries(
        Object.keys(MAPPED.models).map((name) => [
          name,
          { pricing_mode: "per-request" as const, model_price: "0.01" },
        ]),
      ),
    };
    billing.model_details[MODEL] = { pricing_mode: "per-request", model_price: "0.25" };
    const allowed = (models: string[]) =>
      createTestGateway(undefined, {
        ...MAPPED,
        billing,
        callers: undefined,
        authenticate: () => ({ id: "me", models }),
      });
    const test = allowed([MODEL]);
    expect((await ask(test, { model: "ep-one", prompt: "x" })).status).toBe(200);
    expect(test.records).toMatchObject([{ charge: "0.25" }]);
    const refused = await ask(allowed(["ep-one", "seedream-4-0*"]), { model: "ep-one", prompt: "x" });
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({ error: { code: "model_not_allowed" } });
  });

  it.each(["image-max", "qwen-image-max"])("of family B, %s, is sent to its own endpoints", async (model) => {
    const test = createTestGateway(undefined, MAPPED);
    const response = await ask(test, { model, prompt: "x" });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({
      error: {
        message:
          "The model image-max is served at /v1/images/generations and /api/v1/services/aigc/multimodal-generation/generation only.",
        param: "model",
      },
    });
  });

  it.each([undefined, null, ""])("is required, not %j", async (model) => {
    const response = await ask(createTestGateway(), { model, prompt: "x" });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: {
        message: "model is required",
        type: "invalid_request_error",
        code: "invalid_request_error",
        param: "model",
      },
    });
  });
});

describe("the fields of a native request", () => {
  it("are sent to the provider unchanged, with any type", async () => {
    const fields = {
      prompt: "雪 \ud83d\ude00 \\u0000",
      image: ["not a url", "", "oss://x", "file:///etc/passwd", "data:image/PNG;base64,???"],
      size: "auto",
      seed: 0,
      guidance_scale: 0,
      watermark: null,
      output_format: "webp",
      response_format: null,
      sequential_image_generation: null,
      sequential_image_generation_options: { max_images: null, other: [1, { a: null }] },
      optimize_prompt_options: { mode: "anything" },
      stream: false,
      tools: [{ type: "web_search" }],
      quality: "hd",
      user: "u",
      mask: "m",
      unknown: { nested: { deep: [null, false, 0, ""] } },
      "": "empty",
      constructor: "c",
    };
    const test = createTestGateway(undefined, { responseFormat: "b64_json" });
    const response = await ask(test, { model: MODEL, ...fields });
    expect(response.status).toBe(200);
    expect(test.calls.map(({ body }) => body)).toEqual([{ model: MODEL, ...fields }]);
    expect(response.headers.get("x-calotype-ignored")).toBeNull();
  });

  it("have no default added", async () => {
    const test = createTestGateway(undefined, {
      responseFormat: "b64_json",
      callers: undefined,
      authenticate: () => ({ id: "me", responseFormat: "b64_json" }),
    });
    await ask(test, { model: MODEL, prompt: "x" });
    expect(test.calls.map(({ text }) => text)).toEqual([`{"model":"${MODEL}","prompt":"x"}`]);
  });

  it.each([1, 3, "3", null, { a: 1 }])("have no n: %j is dropped and named", async (n) => {
    const test = createTestGateway();
    const response = await ask(test, { model: MODEL, prompt: "x", n });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-calotype-ignored")).toBe("n");
    expect(test.calls.map(({ body }) => body)).toEqual([{ model: MODEL, prompt: "x" }]);
  });

  it.each([
    [{}, "prompt is required.", "prompt"],
    [{ prompt: null }, "prompt must be a string.", "prompt"],
    [{ prompt: "" }, "prompt must not be empty.", "prompt"],
    [{ prompt: 5 }, "prompt must be a string.", "prompt"],
    [{ prompt: ["x"] }, "prompt must be a string.", "prompt"],
    [{ stream: "true" }, "stream must be true or false.", "stream"],
    [{ stream: 1 }, "stream must be true or false.", "stream"],
    [
      { sequential_image_generation: "on" },
      'sequential_image_generation must be "auto" or "disabled".',
      "sequential_image_generation",
    ],
    [
      { sequential_image_generation_options: [] },
      'sequential_image_generation_options must be an object such as {"max_images": 4}.',
      "sequential_image_generation_options",
    ],
    [
      { sequential_image_generation_options: { max_images: "4" } },
      "sequential_image_generation_options.max_images must be a whole number.",
      "sequential_image_generation_options.max_images",
    ],
    [
      { sequential_image_generation_options: { max_images: 0 } },
      "sequential_image_generation_options.max_images must be at least 1.",
      "sequential_image_generation_options.max_images",
    ],
    [
      { sequential_image_generation_options: { max_images: 1.5 } },
      "sequential_image_generation_options.max_images must be a whole number.",
      "sequential_image_generation_options.max_images",
    ],
    [
      { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 16 } },
      "sequential_image_generation_options.max_images asks for 16 images; at most 15 are allowed.",
      "sequential_image_generation_options.max_images",
    ],
  ])("that charges depend on are checked: %j", async (fields, message, param) => {
    const test = createTestGateway();
    const prompt = "prompt" in fields || Object.keys(fields).length === 0 ? {} : { prompt: "x" };
    const response = await ask(test, { model: MODEL, ...prompt, ...fields });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: { message, type: "invalid_request_error", code: "invalid_request_error", param },
    });
    expect(test.calls).toEqual([]);
  });

  it("may request fifteen images", async () => {
    const test = createTestGateway();
    const fields = {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 15 },
    };
    expect((await ask(test, { model: MODEL, prompt: "x", ...fields })).status).toBe(200);
    expect(test.calls[0]?.body).toMatchObject(fields);
  });

  it("must be JSON", async () => {
    const { gateway } = createTestGateway();
    const form = new FormData();
    form.append("model", MODEL);
    const { authorization = "" } = Object.fromEntries(createPost({}).headers);
    const response = await gateway.fetch(
      new Request(NATIVE, { method: "POST", headers: { authorization }, body: form }),
    );
    expect(response.status).toBe(415);
  });
});

describe("the response of a native request", () => {
  const PRICED = {
    models: { [MODEL]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: ARK_KEY }],
    billing: { model_details: { [MODEL]: { pricing_mode: "per-request" as const, model_price: "0.04" } } },
  };
  const BATCH = { model: MODEL, prompt: "x", sequential_image_generation: "auto" };
  const askPriced = async (provider: Provider) => {
    const test = createTestGateway(provider, PRICED);
    return { response: await ask(test, BATCH), records: test.records, logs: test.logs };
  };

  it("is the provider's own, byte by byte", async () => {
    const text = `{ "model":"ep-1",\n\t"created": 1763683200.0, "data":[ {"url":"https:\\/\\/x\\/1.png","size":"2048x2048","seed":12345678901234567890},
      {"error":{"code":"OutputImageSensitiveContentDetected","message":"No."}}, {"url":"https://x/雪.png"} ], "usage":{"generated_images":2}, "data2": 1e400 }\r\n`;
    const { response, records } = await askPriced(json(text));
    expect(response.text).toBe(text);
    expect(response.status).toBe(200);
    expect(records).toMatchObject([{ images: 2, charge: "0.08", operation: "native" }]);
  });

  it("has our headers, and of the provider's none", async () => {
    const { response } = await askPriced(json(JSON.stringify(ARK_RESPONSE)));
    const headers = Object.fromEntries(response.headers);
    expect(Object.keys(headers).toSorted()).toEqual(["cache-control", "content-type", "x-request-id"]);
    expect(headers).toMatchObject({ "cache-control": "no-store", "content-type": "application/json" });
  });

  it("contains the provider's b64_json, and nothing is downloaded", async () => {
    const test = createTestGateway(undefined, PRICED);
    const response = await ask(test, { model: MODEL, prompt: "x", response_format: "b64_json" });
    expect(response.text).toBe(JSON.stringify(ARK_RESPONSE));
    expect(test.calls).toHaveLength(1);
  });

  it.each([
    ["no data", {}, "0", "upstream_no_image"],
    ["an empty list", { data: [] }, "0", "upstream_no_image"],
    [
      "an error for every image",
      { data: [{ error: { code: "Sensitive", message: "No." } }], usage: { generated_images: 0 } },
      "0",
      "Sensitive",
    ],
    [
      "an error for all",
      { error: { code: "InternalServiceError", message: "No." } },
      "0",
      "InternalServiceError",
    ],
    ["no image and usage", { data: [], usage: { generated_images: 2 } }, "0.08", "upstream_no_image"],
  ])("without an image passes on, charged as reported: %s", async (_what, body, charge, errorCode) => {
    const { response, records } = await askPriced(json(JSON.stringify(body)));
    expect(response.status).toBe(200);
    expect(response.text).toBe(JSON.stringify(body));
    expect(records).toMatchObject([{ images: 0, charge, errorCode, status: 200 }]);
  });

  it.each([
    [400, 400, { error: { code: "InvalidParameter", message: "size", param: "size", type: "BadRequest" } }],
    [400, 400, { error: "a text", more: [1] }],
    [404, 404, { error: { code: "InvalidEndpointOrModel.NotFound", message: "No." } }],
    [413, 413, { anything: true }],
    [429, 429, { error: { code: "QuotaExceeded", message: "No." } }],
    [429, 429, { error: { code: "ModelAccountRpmRateLimitExceeded", message: "No." } }],
    [500, 502, { error: { code: "InternalServiceError", message: "No." } }],
    [503, 502, { error: { code: "ServerOverloaded", message: "No." } }],
  ])("keeps the body of a refusal of %i, gets %i", async (status, answered, body) => {
    const { response, records } = await askPriced(json(JSON.stringify(body, undefined, 1), status));
    expect(response.status).toBe(answered);
    expect(response.text).toBe(JSON.stringify(body, undefined, 1));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(records).toMatchObject([{ charge: "0" }]);
  });

  it.each([
    [401, "AuthenticationError", `The API key ${ARK_KEY} is invalid.`],
    [401, "InvalidAccountStatus", "No."],
    [403, "AccountOverdueError", "No."],
    [404, "ModelNotOpen", "No."],
  ])("is our envelope for a refusal of our account with %i %s", async (status, code, message) => {
    const { response, logs } = await askPriced(json(JSON.stringify({ error: { code, message } }), status));
    expect(response.status).toBe(401);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.body).toMatchObject({
      error: {
        type: "authentication_error",
        code: "upstream_authentication_failed",
        message: expect.stringMatching(/^No channel of this model is accepted/),
      },
    });
    expect(logs).toMatchObject([{ level: "error" }]);
  });

  it.each([
    ["a page", 400, "<html>Bad</html>", 400],
    ["nothing", 404, "", 404],
    ["a list", 400, "[1]", 400],
    ["half of an object", 400, '{"error":', 400],
    ["a page", 500, "<html>Oops</html>", 502],
    ["a page that is a success", 200, "<html>Hello</html>", 502],
    ["nothing that is a success", 200, "", 502],
    ["a list that is a success", 200, "[]", 502],
  ])("has our envelope if the provider's response is %s with %i", async (_what, status, text, answered) => {
    const { response } = await askPriced(json(text, status));
    expect(response.status).toBe(answered);
    expect(Object.keys(response.body)).toEqual(["error"]);
    expect(response.body).toMatchObject({
      error: { message: expect.any(String), type: expect.any(String), param: null },
    });
  });

  it.each([
    ["a refusal", 400],
    ["a success without an image", 200],
  ])("hides our keys in the provider's own body of %s", async (_what, status) => {
    const body = { error: { code: "InvalidParameter", message: `Bearer ${ARK_KEY} was sent.` } };
    const { response, records } = await askPriced(json(JSON.stringify(body), status));
    expect(response.status).toBe(status);
    expect(response.text + JSON.stringify(records)).not.toContain(ARK_KEY);
    expect(response.body).toMatchObject({ error: { code: "InvalidParameter" } });
  });
});
