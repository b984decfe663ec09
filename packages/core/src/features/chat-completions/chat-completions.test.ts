import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { CALLER_KEY, createTestGateway, type Provider } from "../../testing/test-gateway.js";

const MODEL = "seedream-4-0-250828";
const BILLING = {
  model_details: { "seedream-*": { pricing_mode: "per-request" as const, model_price: "0.2" } },
};
const FOX = { model: MODEL, messages: [{ role: "user", content: "a fox" }] };

function create(options: Partial<GatewayOptions> = {}, provider?: Provider) {
  const created = createTestGateway(provider, {
    chatCompletions: true,
    models: { "seedream-*": { family: "seedream" } },
    ...options,
  });
  const complete = async (fields: object, headers: Record<string, string> = {}) => {
    const response = await created.gateway.fetch(
      new Request("http://gateway.test/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json", ...headers },
        body: JSON.stringify(fields),
      }),
    );
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ...created, complete };
}

describe("POST /v1/chat/completions", () => {
  it("makes the images of the last message of the user", async () => {
    const { complete, calls, records } = create({ billing: BILLING });
    const parts = [
      { type: "text", text: "the fox" },
      { type: "image_url", image_url: { url: "https://example.com/fox.png", detail: "high" } },
      { type: "text", text: "at night" },
    ];

    const { text, headers } = await complete({
      model: MODEL,
      messages: [
        { role: "system", content: "You draw." },
        { role: "user", content: "an owl" },
        { role: "assistant", content: "![image 1](https://ark.test/0.png)" },
        { role: "user", content: parts },
      ],
      temperature: 1,
      tools: [],
      response_format: { type: "text" },
      seed: 7,
      image_config: { aspect_ratio: "16:9", image_size: "2K" },
    });

    expect(JSON.parse(text)).toEqual({
      id: `chatcmpl-${headers.get("x-request-id")}`,
      object: "chat.completion",
      created: expect.any(Number),
      model: MODEL,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "![image 1](https://ark.test/1.png)",
            refusal: null,
            images: [{ type: "image_url", index: 0, image_url: { url: "https://ark.test/1.png" } }],
          },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 16_384, total_tokens: 16_384 },
    });
    const { body } = calls[0] ?? {};
    expect(body).toMatchObject({
      prompt: "the fox\nat night",
      image: ["https://example.com/fox.png"],
      seed: 7,
      size: expect.stringMatching(/^\d+x\d+$/),
    });
    expect(Object.keys(body ?? {})).not.toEqual(expect.arrayContaining(["temperature", "messages"]));
    expect(records).toMatchObject([{ operation: "edit", charge: "0.2" }]);
  });

  it.each<[what: string, fields: object, param: string]>([
    ["no messages", { model: MODEL }, "messages"],
    ["messages that are no list", { ...FOX, messages: "a fox" }, "messages"],
    ["no message of the user", { ...FOX, messages: [{ role: "system", content: "x" }] }, "messages"],
    ["no text", { ...FOX, messages: [{ role: "user", content: [] }] }, "messages"],
    [
      "content that is an object",
      { ...FOX, messages: [{ role: "user", content: {} }] },
      "messages[0].content",
    ],
    [
      "sound",
      { ...FOX, messages: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] },
      "messages[0].content[0]",
    ],
    [
      "an image without a link",
      { ...FOX, messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] },
      "messages[0].content[0].image_url",
    ],
    [
      "a link to a private address",
      {
        ...FOX,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "x" },
              { type: "image_url", image_url: { url: "http://127.0.0.1/" } },
            ],
          },
        ],
      },
      "image[0]",
    ],
    ["a wrong stream", { ...FOX, stream: "yes" }, "stream"],
    ["a wrong image_config", { ...FOX, image_config: "16:9" }, "image_config"],
    ["a wrong number of images", { ...FOX, n: 0.5 }, "n"],
    ["no model", { messages: FOX.messages }, "model"],
  ])("refuses %s, and sends nothing", async (_what, fields, param) => {
    const { complete, calls } = create();
    const { status, text } = await complete(fields);
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      { error: { type: "invalid_request_error", param } },
    ]);
    expect(calls).toEqual([]);
  });

  it.each<[what: string, headers: Record<string, string>, fields: object, status: number]>([
    ["a wrong key", { authorization: "Bearer wrong" }, FOX, 401],
    ["an unknown model", {}, { ...FOX, model: "gpt-5" }, 404],
  ])("refuses %s as every request", async (_what, headers, fields, status) => {
    expect((await create().complete(fields, headers)).status).toBe(status);
  });

  it("is made and charged once with an idempotency key", async () => {
    const { complete, calls } = create();
    const key = { "idempotency-key": "fox-1" };
    const [first, second] = [await complete(FOX, key), await complete(FOX, key)];
    expect(JSON.parse(second.text)).toMatchObject({ choices: JSON.parse(first.text).choices });
    expect(calls).toHaveLength(1);
  });

  it("becomes a task with Prefer: respond-async", async () => {
    const { status, text } = await create().complete(FOX, { prefer: "respond-async" });
    expect([status, JSON.parse(text)]).toMatchObject([202, { object: "image.task" }]);
  });

  it("has the status and the message of an error of the provider", async () => {
    const error = { code: "SensitiveContent", message: "No." };
    const { complete } = create({}, () => Response.json({ error }, { status: 400 }));
    const { status, text } = await complete(FOX);
    expect([status, JSON.parse(text)]).toMatchObject([400, { error }]);
  });

  it("is not served without the option", async () => {
    expect((await create({ chatCompletions: undefined }).complete(FOX)).status).toBe(404);
  });

  it("is the host's own path if the gateway has no mount path", () => {
    const { gateway } = create();
    const signal = new AbortController().signal;
    const request = {
      method: "POST",
      url: "/v1/chat/completions",
      headers: new Headers(),
      body: null,
      signal,
    };
    expect(gateway.handle(request)).toBeNull();
  });
});

const streams =
  (events: readonly (readonly [string, object])[]): Provider =>
  () =>
    new Response(
      events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`).join(""),
      { headers: { "content-type": "text/event-stream" } },
    );
const chunksOf = (text: string) =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));

describe("a stream", () => {
  const EVENTS = [
    [
      "image_generation.partial_succeeded",
      { image_index: 0, url: "https://ark.test/(1).png", size: "2048x2048" },
    ],
    [
      "image_generation.partial_succeeded",
      { image_index: 1, url: "https://ark.test/2.png", size: "2048x2048" },
    ],
    ["image_generation.completed", { usage: { generated_images: 2, output_tokens: 3, total_tokens: 5 } }],
  ] as const;
  it("has a delta for each image, the reason of its end, and its usage", async () => {
    const { complete, records } = create({ billing: BILLING }, streams(EVENTS));

    const { text, headers } = await complete({
      ...FOX,
      n: 2,
      stream: true,
      stream_options: { include_usage: true },
    });

    expect(headers.get("content-type")).toContain("text/event-stream");
    const chunks = chunksOf(text);
    expect(chunks.map(({ choices: [choice] }) => choice && [choice.delta, choice.finish_reason])).toEqual([
      [
        {
          role: "assistant",
          content: "![image 1](https://ark.test/%281%29.png)",
          images: [{ type: "image_url", index: 0, image_url: { url: "https://ark.test/(1).png" } }],
        },
        null,
      ],
      [
        {
          content: "\n\n![image 2](https://ark.test/2.png)",
          images: [{ type: "image_url", index: 1, image_url: { url: "https://ark.test/2.png" } }],
        },
        null,
      ],
      [{}, "stop"],
      undefined,
    ]);
    expect(chunks[3]).toMatchObject({ usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 } });
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(records).toMatchObject([{ images: 2, charge: "0.4" }]);
  });

  it("ends with the error if no image could be made", async () => {
    const failed = ["error", { error: { code: "InternalServiceError", message: "Broken." } }] as const;
    const { complete } = create({ heartbeatSeconds: 60 }, streams([failed]));

    const { text } = await complete({ ...FOX, stream: true });

    expect(text).toContain('"message":"Broken."');
    expect(text).not.toContain("finish_reason");
  });
});
