import { describe, expect, it } from "vitest";
import { gemini } from "../../families/gemini/gemini.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { CALLER_KEY, createTestGateway, type Provider } from "../../testing/test-gateway.js";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ARK: Provider = () =>
  Response.json({
    created: 1,
    data: [{ b64_json: PNG }],
    usage: { generated_images: 1, output_tokens: 3, total_tokens: 5 },
  });
const FOX = { contents: [{ role: "user", parts: [{ text: "a fox" }] }] };
const GENERATE = "/v1beta/models/seedream-4-0-250828:generateContent";

function create(options: Partial<GatewayOptions> = {}, provider: Provider = ARK) {
  const created = createTestGateway(provider, {
    geminiEndpoint: true,
    families: [gemini],
    models: { "seedream-*": { family: "seedream" }, "gemini-nano-banana-2.1": { family: "gemini" } },
    channels: [
      { id: "ark", family: "seedream", apiKey: "ark" },
      { id: "google", family: "gemini", apiKey: "google" },
    ],
    ...options,
  });
  const generate = async (fields: object, path = GENERATE, headers: Record<string, string> = {}) => {
    const response = await created.gateway.fetch(
      new Request(`http://gateway.test${path}`, {
        method: "POST",
        headers: { "x-goog-api-key": CALLER_KEY, "content-type": "application/json", ...headers },
        body: JSON.stringify(fields),
      }),
    );
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ...created, generate };
}

describe("POST /v1beta/models/{model}:generateContent", () => {
  it("makes the images of the last content of the user, one for each candidate", async () => {
    const { generate, calls, records } = create();
    const parts = [
      { text: "the fox" },
      { inlineData: { mimeType: "image/png", data: PNG } },
      { file_data: { file_uri: "https://example.com/fox.png" } },
      { text: "at night" },
    ];

    const { text, headers } = await generate({
      contents: [{ parts: [{ text: "an owl" }] }, { role: "model", parts: [{ text: "Here." }] }, { parts }],
      generationConfig: {
        responseModalities: ["Text", "Image"],
        imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
        temperature: 1,
        seed: 7,
      },
      safetySettings: [],
    });

    expect(JSON.parse(text)).toEqual({
      candidates: [
        {
          content: { role: "model", parts: [{ inlineData: { mimeType: "image/png", data: PNG } }] },
          finishReason: "STOP",
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 5 },
      modelVersion: "seedream-4-0-250828",
      responseId: headers.get("x-request-id"),
    });
    const { body = {} } = calls[0] ?? {};
    expect(body).toMatchObject({
      prompt: "the fox\nat night",
      image: [`data:image/png;base64,${PNG}`, "https://example.com/fox.png"],
      seed: 7,
      response_format: "b64_json",
      size: expect.stringMatching(/^\d+x\d+$/),
    });
    expect(Object.keys(body)).not.toContain("generationConfig");
    expect(records).toMatchObject([{ caller: "me", operation: "edit", images: 1 }]);
  });

  it("passes the settings of Gemini on to its models, and makes candidateCount images", async () => {
    const part = { inlineData: { mimeType: "image/png", data: PNG } };
    const { generate, calls } = create({}, () =>
      Response.json({ candidates: [{ content: { parts: [part] } }] }),
    );

    const { text } = await generate(
      {
        ...FOX,
        generation_config: { candidate_count: 2, temperature: 0.5, image_config: { aspect_ratio: "16:9" } },
        system_instruction: { parts: [{ text: "You draw." }] },
      },
      "/v1beta/models/gemini-nano-banana-2.1:generateContent",
    );

    expect(JSON.parse(text).candidates).toMatchObject([{ index: 0 }, { index: 1 }]);
    expect(calls).toHaveLength(2);
    expect(calls[0]?.body).toMatchObject({
      generationConfig: { temperature: 0.5, imageConfig: { aspectRatio: "16:9" } },
      systemInstruction: { parts: [{ text: "You draw." }] },
    });
  });

  it.each<[what: string, fields: object, param: string]>([
    ["no contents", {}, "contents"],
    ["contents that are a string", { contents: "a fox" }, "contents"],
    ["no content of the user", { contents: [{ role: "model", parts: [] }] }, "contents[0].parts"],
    ["no text", { contents: [{ parts: [] }] }, "contents"],
    ["a part of another kind", { contents: [{ parts: [{ functionCall: {} }] }] }, "contents[0].parts[0]"],
    ["an inline part that is a string", { contents: [{ parts: [{ inlineData: "x" }] }] }, "inlineData"],
    [
      "a link to a private address",
      { contents: [{ parts: [{ text: "x" }, { fileData: { fileUri: "http://127.0.0.1/" } }] }] },
      "image[0]",
    ],
    [
      "text as the only modality",
      { ...FOX, generationConfig: { responseModalities: ["TEXT"] } },
      "generationConfig.responseModalities",
    ],
    ["a wrong number of candidates", { ...FOX, generationConfig: { candidateCount: 0.5 } }, "n"],
  ])("refuses %s in Google's shape, and sends nothing", async (_what, fields, param) => {
    const { generate, calls } = create();
    const { status, text } = await generate(fields);
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      {
        error: {
          code: 400,
          status: "INVALID_ARGUMENT",
          message: expect.any(String),
          details: [{ reason: "invalid_request_error", metadata: { param } }],
        },
      },
    ]);
    expect(calls).toEqual([]);
  });

  it.each<[what: string, path: string, headers: Record<string, string>, status: number, name: string]>([
    ["a wrong key", GENERATE, { "x-goog-api-key": "wrong" }, 401, "UNAUTHENTICATED"],
    ["a key in the URL", `${GENERATE}?key=${CALLER_KEY}`, {}, 400, "INVALID_ARGUMENT"],
    ["an unknown model", "/v1beta/models/none:generateContent", {}, 404, "NOT_FOUND"],
    [
      "a stream without events",
      GENERATE.replace(":generate", ":streamGenerate"),
      {},
      400,
      "INVALID_ARGUMENT",
    ],
  ])("refuses %s", async (_what, path, headers, status, name) => {
    const { generate, calls } = create();
    const refused = await generate(FOX, path, headers);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      status,
      { error: { code: status, status: name } },
    ]);
    expect(refused.text).not.toContain(CALLER_KEY);
    expect(calls).toEqual([]);
  });

  it("does not take a signed-in user in place of a wrong key", async () => {
    const { gateway } = create();
    const { signal } = new AbortController();
    const response = await gateway.handle({
      method: "POST",
      url: GENERATE,
      mountPath: "/",
      headers: new Headers({ "x-goog-api-key": "wrong", "sec-fetch-site": "same-origin" }),
      body: null,
      signal,
      findUser: () => ({ id: "user-1" }),
    });
    expect(response?.status).toBe(401);
  });

  it("is not served without the option, and the host's own one without a mount path", async () => {
    expect((await create({ geminiEndpoint: undefined }).generate(FOX)).status).toBe(404);
    const { signal } = new AbortController();
    const request = { method: "POST", url: GENERATE, headers: new Headers(), body: null, signal };
    expect(create().gateway.handle(request)).toBeNull();
  });
});

describe("streamGenerateContent", () => {
  const STREAM = `${GENERATE.replace(":generate", ":streamGenerate")}?alt=sse`;
  it("has a chunk for each image, with the usage in the last", async () => {
    const { generate } = create({}, () =>
      Response.json({
        created: 1,
        data: [{ b64_json: PNG }, { b64_json: PNG }],
        usage: { generated_images: 2, output_tokens: 3, total_tokens: 5 },
      }),
    );

    const { text, headers } = await generate({ ...FOX, generationConfig: { candidateCount: 2 } }, STREAM);

    expect(headers.get("content-type")).toContain("text/event-stream");
    const chunks = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));
    expect(chunks).toMatchObject([
      { candidates: [{ index: 0, finishReason: "STOP" }] },
      { candidates: [{ index: 1 }], usageMetadata: { candidatesTokenCount: 3, totalTokenCount: 5 } },
    ]);
  });
});
