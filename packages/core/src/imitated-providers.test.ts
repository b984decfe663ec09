import { afterEach, describe, expect, it } from "vitest";
import { gemini } from "./families/gemini/gemini.js";
import { openai } from "./families/openai/openai.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type TestGateway,
} from "./testing/test-gateway.js";

const gateways: TestGateway[] = [];

afterEach(async () => {
  for (const { gateway } of gateways.splice(0)) await gateway.close();
});

const FAMILIES = ["seedream", "qwen-image", "gemini", "openai"];

function open(body: object, status = 200): TestGateway {
  const test = createTestGateway(() => Response.json(body, { status }), {
    families: [gemini, openai],
    models: Object.fromEntries(FAMILIES.map((family) => [family, { family }])),
    channels: FAMILIES.map((family) => ({ id: family, family, apiKey: "k" })),
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
  });
  gateways.push(test);
  return test;
}

describe.each(FAMILIES)("an error of FastAPI from a provider of %s", (model) => {
  it("with a list in detail keeps its message and its field", async () => {
    const detail = [
      { type: "less_than", loc: ["body", "size", 0], msg: "Input should be less than 4096" },
      { loc: ["body", "n"], msg: "Field required" },
    ];
    expect(await open({ detail }, 422).post({ model, prompt: "x" })).toMatchObject({
      status: 422,
      body: { error: { message: "Input should be less than 4096", code: "less_than", param: "size.0" } },
    });
  });

  it.each([
    [{ detail: "No such model" }, "No such model"],
    [{ detail: [{ msg: "Bad" }] }, "Bad"],
    [{ detail: [] }, "The provider refused the request."],
    [{ detail: [7] }, "The provider refused the request."],
  ])("%j gives the message %j", async (body, message) => {
    const response = await open(body, 422).post({ model, prompt: "x" });
    expect(response).toMatchObject({ status: 422, body: { error: { message, param: null } } });
  });
});

describe.each(["200", 200, "0", 0, "Success", "OK", ""])("the code %j beside images", (code) => {
  it.each([
    ["seedream", { ...ARK_RESPONSE, error: { code, message: "" } }],
    ["seedream", { ...ARK_RESPONSE, code }],
    ["qwen-image", { ...DASHSCOPE_RESPONSE, code, message: "" }],
    ["openai", { ...ARK_RESPONSE, data: [{ b64_json: "QUJD" }], error: { code, message: "" } }],
  ])("is a success of %s, which is charged: %j", async (model, body) => {
    const gateway = open(body);
    const response = await gateway.post({ model, prompt: "x" });
    expect(response.status).toBe(200);
    expect(response.body["data"]).toHaveLength(1);
    expect(gateway.records).toMatchObject([{ status: 200, charge: "0.1" }]);
  });
});

/** Sends an edit as a form. */
async function edit(fields: Record<string, string>): Promise<[TestGateway, Response]> {
  const gateway = open(ARK_RESPONSE);
  const form = new FormData();
  const image = "https://images.example/a.png";
  for (const [name, value] of Object.entries({ model: "seedream", prompt: "x", image, ...fields })) {
    form.set(name, value);
  }
  const headers = { authorization: `Bearer ${CALLER_KEY}` };
  const response = await gateway.gateway.fetch(
    new Request("http://gateway.test/v1/images/edits", { method: "POST", headers, body: form }),
  );
  return [gateway, response];
}

describe("an object or a list in a form for Ark", () => {
  it("is sent as JSON", async () => {
    const [gateway, response] = await edit({
      tools: '[{"type":"web_search"}]',
      sequential_image_generation: "auto",
      sequential_image_generation_options: '{"max_images":2}',
      optimize_prompt_options: '{"mode":"fast"}',
    });
    expect(response.status).toBe(200);
    expect(gateway.calls).toMatchObject([
      {
        body: {
          tools: [{ type: "web_search" }],
          sequential_image_generation_options: { max_images: 2 },
          optimize_prompt_options: { mode: "fast" },
        },
      },
    ]);
  });

  it.each([
    ["tools", "web_search", "tools must be a JSON list."],
    ["tools", '{"type":"web_search"}', "tools must be a JSON list."],
    [
      "optimize_prompt_options",
      "fast",
      'optimize_prompt_options must be a JSON object, such as {"max_images": 4}.',
    ],
  ])("is refused if %s is %j", async (name, value, message) => {
    const [gateway, response] = await edit({ [name]: value });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { error: { message, param: name } },
    });
    expect(gateway.calls).toHaveLength(0);
  });
});
