import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  CALLER_KEY,
  createPost,
  createTestGateway,
  DASHSCOPE_KEY,
  DASHSCOPE_RESPONSE,
  type Provider,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "../../testing/test-gateway.js";

const DASHSCOPE = "http://gateway.test/api/v1/services/aigc/multimodal-generation/generation";
const INPUT = { messages: [{ role: "user", content: [{ text: "a fox" }] }] };

async function send(
  { gateway }: TestGateway,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ReadResponse> {
  return readResponse(await gateway.fetch(new Request(DASHSCOPE, createPost(body, headers))));
}

/** A provider that responds to every call with this text. */
const json =
  (text: string, status = 200): Provider =>
  () =>
    new Response(text, { status, headers: { "content-type": "application/json" } });

const MAPPED = {
  models: { "image-max": { family: "qwen-image" }, "seedream-4-0-250828": { family: "seedream" } },
  channels: [
    {
      id: "bailian",
      family: "qwen-image",
      apiKey: DASHSCOPE_KEY,
      modelMapping: { "image-max": "qwen-image-max" },
    },
    { id: "ark", family: "seedream", apiKey: "k", modelMapping: { "seedream-4-0-250828": "ep-one" } },
  ],
} satisfies Partial<GatewayOptions>;

const BILLING = { model_details: { "*": { pricing_mode: "per-request" as const, model_price: "0.1" } } };

describe("the native endpoint of DashScope", () => {
  it("sends the body as it came, and the provider's response as it came", async () => {
    const text = ` {"output": {"choices": [{"message": {"content": [{"image": "https://d.test/1.png"}]}}]},\n"usage":{"image_count":1},"request_id":"b1"} `;
    const test = createTestGateway(json(text), { responseFormat: "b64_json", sizes: "nearest" });
    const fields = {
      input: {
        messages: [
          {
            role: "system",
            content: [{ text: "one" }, { image: "oss://x" }, { image: "" }, { text: "two" }, { video: 1 }],
          },
        ],
        prompt: "legacy",
        other: null,
      },
      parameters: { n: 2, size: "1x1", seed: -1, unknown: [null, { a: 0 }], watermark: null },
      response_format: "b64_json",
      prompt: "",
      mask: "m",
      n: 9,
    };
    const response = await send(test, { model: "image-2.0", ...fields });
    expect(response).toMatchObject({ status: 200, text });
    expect(response.headers.get("x-calotype-ignored")).toBeNull();
    expect(test.calls.map(({ body }) => body)).toEqual([{ model: "image-2.0", ...fields }]);
    expect(test.records).toMatchObject([{ operation: "native", model: "image-2.0", images: 1 }]);
  });

  it.each([
    ["the service name", "image-max"],
    ["the provider's name", "qwen-image-max"],
  ])("takes %s as model", async (_what, model) => {
    const test = createTestGateway(undefined, MAPPED);
    expect((await send(test, { model, input: INPUT })).status).toBe(200);
    expect(test.calls.map(({ body }) => body["model"])).toEqual(["qwen-image-max"]);
    expect(test.records).toMatchObject([{ model: "image-max", upstreamModel: "qwen-image-max" }]);
  });

  it.each([
    ["seedream-4-0-250828", "/v1/images/generations, /v1/images/edits and /api/v3/images/generations"],
    ["ep-one", "/v1/images/generations, /v1/images/edits and /api/v3/images/generations"],
  ])("refuses the model %s of another family", async (model, paths) => {
    const test = createTestGateway(undefined, MAPPED);
    const response = await send(test, { model, input: INPUT });
    expect(response).toMatchObject({
      status: 400,
      body: {
        error: { message: `The model seedream-4-0-250828 is served at ${paths} only.`, param: "model" },
      },
    });
    expect(test.calls).toEqual([]);
  });

  it.each<[object, string, string]>([
    [{}, "input must be an object with messages.", "input"],
    [{ input: { prompt: "x" } }, "input.messages is required: a list of one message.", "input.messages"],
    [{ input: { messages: {} } }, "input.messages is required: a list of one message.", "input.messages"],
    [{ input: { messages: [] } }, "input.messages must hold exactly one message.", "input.messages"],
    [{ input: { messages: [1, 2] } }, "input.messages must hold exactly one message.", "input.messages"],
    [
      { input: INPUT, parameters: [] },
      'parameters must be an object such as {"size": "1328*1328"}.',
      "parameters",
    ],
    [{ input: INPUT, parameters: { n: "2" } }, "parameters.n must be a whole number.", "parameters.n"],
    [{ input: INPUT, parameters: { n: 1.5 } }, "parameters.n must be a whole number.", "parameters.n"],
    [{ input: INPUT, parameters: { n: 0 } }, "parameters.n must be at least 1.", "parameters.n"],
    [
      { input: INPUT, parameters: { n: 7 } },
      "parameters.n asks for 7 images; this model makes at most 6.",
      "parameters.n",
    ],
  ])("refuses %j", async (fields, message, param) => {
    const test = createTestGateway();
    const response = await send(test, { model: "image-2.0", ...fields });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      request_id: response.headers.get("x-request-id"),
      code: "invalid_request_error",
      message,
      error: { message, type: "invalid_request_error", code: "invalid_request_error", param },
    });
    expect(test.calls).toEqual([]);
  });

  it.each([
    [{ n: 6 }, "0.6"],
    [{ n: null }, "0.1"],
    [{}, "0.1"],
    [null, "0.1"],
    [undefined, "0.1"],
  ])("holds what parameters %j can cost", async (parameters, held) => {
    const test = createTestGateway(undefined, { billing: BILLING, beforeSend: holdsOf(() => test) });
    await send(test, { model: "image-2.0", input: INPUT, parameters });
    expect(seen).toEqual([held]);
  });

  const seen: string[] = [];
  const holdsOf = (gateway: () => TestGateway) => async () => {
    seen.splice(0);
    seen.push((await gateway().gateway.usage.balance("me")).held);
  };

  it("charges what the provider reports", async () => {
    const text = JSON.stringify({ ...DASHSCOPE_RESPONSE, usage: { output_image_count: 2 } });
    const test = createTestGateway(json(text), { billing: BILLING });
    await send(test, { model: "image-2.0", input: INPUT, parameters: { n: 3 } });
    expect(test.records).toMatchObject([{ charge: "0.2", usage: { generated_images: 2 } }]);
  });

  it("prices an image by its size, and holds the price of the requested size", async () => {
    const image_prices = [{ up_to_pixels: 1_000_000, price: "0.1" }, { price: "0.5" }];
    const billing = { model_details: { "*": { pricing_mode: "per-request" as const, image_prices } } };
    const test = createTestGateway(
      () => Response.json({ ...DASHSCOPE_RESPONSE, usage: { image_count: 1, width: 512, height: 512 } }),
      { billing, beforeSend: holdsOf(() => test) },
    );
    await send(test, { model: "image-2.0", input: INPUT, parameters: { size: "512*512" } });
    expect(seen).toEqual(["0.1"]);
    await send(test, { model: "image-2.0", input: INPUT });
    expect(seen).toEqual(["0.5"]);
    expect(test.records).toMatchObject([{ charge: "0.1" }, { charge: "0.1" }]);
  });

  it("shows every text of the message to beforeSend, and long data URLs as strings", async () => {
    const image = `data:image/png;base64,${"A".repeat(100_000)}`;
    const shown: unknown[] = [];
    const test = createTestGateway(undefined, {
      beforeSend: ({ prompt, images, upstreamFields }) => void shown.push(prompt, images, upstreamFields),
    });
    const input = { messages: [{ role: "user", content: [{ text: "one" }, { image }, { text: "two" }] }] };
    await send(test, { model: "image-2.0", input });
    expect(shown).toEqual(["one\ntwo", [image], { input }]);
    expect(test.calls.map(({ body }) => body["input"])).toEqual([input]);
  });

  it.each([
    ["X-DashScope-Async", "disable"],
    ["X-DashScope-SSE", "enable"],
    ["X-DashScope-SSE", " Enable "],
  ])("refuses the header %s: %s", async (name, value) => {
    const test = createTestGateway();
    const response = await send(test, { model: "image-2.0", input: INPUT }, { [name]: value });
    expect(response).toMatchObject({
      status: 400,
      body: { code: "invalid_request_error", message: expect.stringContaining(name) },
    });
    expect(test.calls).toEqual([]);
  });

  it.each(["http://gateway.test/v1/images/generations", DASHSCOPE])(
    "ignores the headers that change nothing: %s",
    async (url) => {
      const { gateway } = createTestGateway();
      const headers =
        url === DASHSCOPE ? { "x-dashscope-sse": "disable" } : { "x-dashscope-async": "enable" };
      const body = { model: "image-2.0", prompt: "x", input: INPUT };
      expect((await gateway.fetch(new Request(url, createPost(body, headers)))).status).toBe(200);
    },
  );

  it.each<[string, number, string, Partial<GatewayOptions>, Record<string, string>, unknown]>([
    ["a wrong key", 401, "invalid_api_key", {}, { authorization: "Bearer x" }, {}],
    ["an unknown model", 404, "model_not_found", {}, {}, { model: "x", input: INPUT }],
    ["a body that is too large", 413, "request_too_large", { bodyLimits: { json: 9 } }, {}, { input: INPUT }],
    [
      "a limit",
      429,
      "rate_limit_exceeded",
      { limits: { imagesPerMinute: 1 } },
      {},
      { model: "image-2.0", input: INPUT, parameters: { n: 2 } },
    ],
    [
      "a failure of the gateway",
      500,
      "internal_error",
      {
        beforeSend: () => {
          throw new Error("down");
        },
      },
      {},
      { model: "image-2.0", input: INPUT },
    ],
  ])(
    "has code, message and request_id next to the error for %s",
    async (_what, status, code, options, headers, body) => {
      const response = await send(createTestGateway(undefined, options), body, headers);
      expect(response.status).toBe(status);
      expect(response.body).toMatchObject({
        code,
        message: (response.body["error"] as { message: string }).message,
        request_id: response.headers.get("x-request-id"),
        error: { code },
      });
    },
  );

  it("has code, message and request_id for another method and after close", async () => {
    const { gateway } = createTestGateway();
    const wrongMethod = await readResponse(await gateway.fetch(new Request(DASHSCOPE)));
    expect(wrongMethod).toMatchObject({ status: 405, body: { code: "method_not_allowed" } });
    await gateway.close();
    const closed = await readResponse(await gateway.fetch(new Request(DASHSCOPE, createPost({}))));
    expect(closed).toMatchObject({
      status: 503,
      body: { code: "gateway_closed", request_id: expect.stringMatching(/^req_/) },
    });
  });

  it("keeps the provider's own errors", async () => {
    const text = '{"code":"InvalidParameter","message":"Bad size.","request_id":"b1"} ';
    const test = createTestGateway(json(text, 400));
    expect(await send(test, { model: "image-2.0", input: INPUT })).toMatchObject({ status: 400, text });
    expect(test.records).toMatchObject([{ status: 400, errorCode: "InvalidParameter", images: 0 }]);
  });

  it("sends an error with status 200 as it came, and charges nothing", async () => {
    const text = '{"code":"DataInspectionFailed","message":"No.","request_id":"b1"}';
    const test = createTestGateway(json(text), { billing: BILLING });
    expect(await send(test, { model: "image-2.0", input: INPUT })).toMatchObject({ status: 200, text });
    expect(test.records).toMatchObject([{ errorCode: "DataInspectionFailed", charge: "0" }]);
  });

  it("hides that our key was refused", async () => {
    const text = '{"code":"InvalidApiKey","message":"Invalid API-key provided.","request_id":"b1"}';
    const response = await send(createTestGateway(json(text, 401)), { model: "image-2.0", input: INPUT });
    expect(response).toMatchObject({
      status: 401,
      body: { code: "upstream_authentication_failed", error: { type: "authentication_error" } },
    });
    expect(response.headers.get("x-should-retry")).toBe("false");
  });

  it("has idempotency keys of its own", async () => {
    const test = createTestGateway();
    const key = { "idempotency-key": "k" };
    await send(test, { model: "image-2.0", input: INPUT }, key);
    const repeated = await send(test, { model: "image-2.0", input: INPUT }, key);
    expect(repeated.headers.get("x-calotype-original-request-id")).toMatch(/^req_/);
    const native = new Request(
      "http://gateway.test/api/v3/images/generations",
      createPost({ model: "seedream-4-0-250828", prompt: "x" }, key),
    );
    expect((await test.gateway.fetch(native)).status).toBe(200);
    expect(test.calls).toHaveLength(2);
  });

  it("takes the key from api-key", async () => {
    const { gateway } = createTestGateway();
    const request = new Request(DASHSCOPE, {
      method: "POST",
      headers: { "api-key": CALLER_KEY, "content-type": "application/json" },
      body: JSON.stringify({ model: "image-2.0", input: INPUT }),
    });
    expect((await gateway.fetch(request)).status).toBe(200);
  });
});
