import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { drawPng, toDataUrl } from "./support/images.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, serve } from "./support/serve.js";
import { type Body, openaiPython, type Part, sendOnWire } from "./table/http-libraries.js";

// Python and its packages may be missing on the machine of a test. So these tests send the same bytes as openai-python.
// `table/http-libraries.test.ts` compares them with recordings.
const providers = useProviders();

const GENERATIONS = "/v1/images/generations";
const EDITS = "/v1/images/edits";

async function connect({ apiKey = CALLER_KEY } = {}) {
  const { url, records } = await serve(providers());
  const send = (path: string, body: Body) =>
    sendOnWire(url, openaiPython({ host: new URL(url).host }, { path, apiKey, body }));
  return { send, records };
}

const jsonBody = (rawJson: string): Body => ({ rawJson });

/** The fields come first, then the files. Fields that are `None` are not sent. */
const formBody = (fields: Readonly<Record<string, string>>, files: readonly Part[]): Body => ({
  form: [...Object.entries(fields).map(([name, value]) => ({ name, value })), ...files],
});

const LINK = { url: expect.stringMatching(/^http/) };

describe("images.generate of openai-python", () => {
  it.each([
    {
      what: "with n and a size",
      json: '{"prompt":"2 images of a kite","model":"seedream-4-0-250828","n":2,"size":"1024x1024"}',
      sent: {
        model: "doubao-seedream-4-0-250828",
        prompt: "2 images of a kite",
        size: "1024x1024",
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 2 },
      },
      data: [LINK, LINK],
      record: { images: 2, charge: "0.06" },
    },
    {
      what: "with None for every option",
      json: '{"prompt":"一只橘猫 🐈","background":null,"model":"seedream-4-0-250828","moderation":null,"n":null,"output_compression":null,"output_format":null,"partial_images":null,"quality":null,"response_format":null,"size":null,"stream":null,"style":null}',
      sent: { model: "doubao-seedream-4-0-250828", prompt: "一只橘猫 🐈" },
      data: [LINK],
      record: { images: 1, charge: "0.03" },
    },
    {
      what: "with characters escaped, as older versions send them",
      json: '{"prompt": "\\u4e00\\u53ea\\u6a58\\u732b \\ud83d\\udc08", "model": "seedream-4-0-250828", "size": "auto", "user": "user-1"}',
      sent: { model: "doubao-seedream-4-0-250828", prompt: "一只橘猫 🐈" },
      data: [LINK],
      record: { images: 1, charge: "0.03" },
    },
    {
      what: "with extra_body",
      json: '{"prompt":"3 images of a kite","model":"seedream-4-0-250828","response_format":"b64_json","sequential_image_generation":"auto","sequential_image_generation_options":{"max_images":3},"watermark":false,"guidance_scale":2.5,"seed":0}',
      sent: {
        model: "doubao-seedream-4-0-250828",
        prompt: "3 images of a kite",
        response_format: "b64_json",
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 3 },
        watermark: false,
        guidance_scale: 2.5,
        seed: 0,
      },
      data: [1, 2, 3].map(() => ({ b64_json: expect.any(String) })),
      record: { images: 3, charge: "0.09" },
    },
    {
      what: "with the messages of family B in extra_body",
      json: '{"prompt":"placeholder","model":"image-2.0","n":null,"input":{"messages":[{"role":"user","content":[{"text":"春日海报"}]}]},"parameters":{"n":2,"size":"1024*1024"}}',
      sent: {
        model: "qwen-image-2.0",
        input: { messages: [{ role: "user", content: [{ text: "春日海报" }] }] },
        parameters: { n: 2, size: "1024*1024" },
      },
      data: [LINK, LINK],
      record: { images: 2, charge: "0.15" },
    },
  ])("makes images $what", async ({ json, sent, data, record }) => {
    const { send, records } = await connect();

    const { status, headers, text } = await send(GENERATIONS, jsonBody(json));

    expect(JSON.parse(text)).toMatchObject({ created: expect.any(Number), data });
    expect(status).toBe(200);
    expect(headers["x-request-id"]).toBe(records[0]?.id);
    expect(sentUpstream(providers())).toEqual([sent]);
    expect(records).toMatchObject([{ operation: "generate", ...record }]);
  });

  it("gets a stream that its reader can read to the end", async () => {
    const { send, records } = await connect();

    const { headers, text } = await send(
      GENERATIONS,
      jsonBody('{"prompt":"2 images of a kite","model":"seedream-4-0-250828","n":2,"stream":true}'),
    );

    expect(headers["content-type"]).toContain("text/event-stream");
    // Its reader treats the text between two blank lines as an event, and [DONE] as the end.
    const data = text.split("\n\n").map((event) => /^data: (.*)$/m.exec(event)?.[1]);
    expect(data).toEqual([
      expect.stringContaining('"image_index":0'),
      expect.stringContaining('"image_index":1'),
      expect.stringContaining('"generated_images":2'),
      "[DONE]",
      undefined,
    ]);
    expect(records).toMatchObject([{ operation: "generate", images: 2, charge: "0.06" }]);
  });
});

describe("images.edit of openai-python", () => {
  it.each([
    {
      what: "one file, opened by its path",
      fields: { prompt: "换成夜景", model: "seedream-4-0-250828", size: "1024x1024" },
      files: () => [open("image", "猫 & cat.png", "image/png")],
      sent: { prompt: "换成夜景", size: "1024x1024" },
      record: { images: 1, charge: "0.03" },
    },
    {
      what: "bytes without a name",
      fields: { prompt: "at night", model: "seedream-4-0-250828", response_format: "b64_json" },
      files: () => [open("image", "upload", "application/octet-stream")],
      sent: { prompt: "at night", response_format: "b64_json" },
      record: { images: 1, charge: "0.03" },
    },
    {
      what: "a list of files, with n as text",
      fields: { prompt: "2 images: the cat in the style", model: "seedream-4-0-250828", n: "2" },
      files: () => [
        open("image[]", "cat.png", "image/png", 1),
        open("image[]", "style.jpeg", "image/jpeg", 2),
      ],
      sent: {
        prompt: "2 images: the cat in the style",
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 2 },
      },
      record: { images: 2, charge: "0.06" },
    },
    {
      what: "extra_body, whose objects become fields with brackets",
      fields: {
        prompt: "3 images at night",
        model: "seedream-4-0-250828",
        quality: "high",
        sequential_image_generation: "auto",
        "sequential_image_generation_options[max_images]": "3",
        watermark: "false",
        seed: "7",
      },
      files: () => [open("image", "cat.png", "image/png")],
      sent: {
        prompt: "3 images at night",
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 3 },
        watermark: false,
        seed: 7,
      },
      record: { images: 3, charge: "0.09" },
    },
  ])("sends $what", async ({ fields, files: openFiles, sent, record }) => {
    const { send, records } = await connect();
    const files = await Promise.all(openFiles());

    const { status, text } = await send(EDITS, formBody(fields, files));

    expect(JSON.parse(text)).toHaveProperty("data.length", record.images);
    expect(status).toBe(200);
    const image = files.map(({ value }) => toDataUrl(value));
    expect(sentUpstream(providers())).toEqual([{ model: "doubao-seedream-4-0-250828", image, ...sent }]);
    expect(records).toMatchObject([{ operation: "edit", ...record }]);
  });

  it("gets an error for a mask, which is not supported", async () => {
    const { send, records } = await connect();
    const files = [
      await open("image", "cat.png", "image/png"),
      await open("mask", "mask.png", "image/png", 1),
    ];

    const { status, text } = await send(
      EDITS,
      formBody({ prompt: "a hat", model: "seedream-4-0-250828" }, files),
    );

    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { param: "mask", type: "invalid_request_error" } });
    expect(records).toEqual([]);
  });

  it("sends image_url as JSON", async () => {
    const { send, records } = await connect();

    const { status, text } = await send(
      EDITS,
      jsonBody(
        '{"images":[{"image_url":"https://example.com/cat.png"}],"prompt":"at night","model":"seedream-4-0-250828","mask":null,"n":null}',
      ),
    );

    expect(JSON.parse(text)).toHaveProperty("data.length", 1);
    expect(status).toBe(200);
    expect(sentUpstream(providers())).toEqual([
      { model: "doubao-seedream-4-0-250828", prompt: "at night", image: ["https://example.com/cat.png"] },
    ]);
    expect(records).toMatchObject([{ operation: "edit" }]);
  });
});

describe("an error of openai-python", () => {
  it("reports a wrong key in the fields that the client reads", async () => {
    const { send } = await connect({ apiKey: "somebody-elses" });

    const { status, headers, text } = await send(
      GENERATIONS,
      jsonBody('{"prompt":"a kite","model":"seedream-4-0-250828"}'),
    );

    expect(status).toBe(401);
    expect(headers).toMatchObject({ "content-type": "application/json", "x-request-id": expect.any(String) });
    expect(JSON.parse(text)).toEqual({
      error: {
        message: "Wrong API key.",
        type: "authentication_error",
        code: "invalid_api_key",
        param: null,
      },
    });
  });

  it("of a provider that failed has the header that stops the client from repeating the call", async () => {
    const { send, records } = await connect();
    providers().emulator.faults.add({ code: "InternalServiceError" });

    const { status, headers } = await send(
      GENERATIONS,
      jsonBody('{"prompt":"a kite","model":"seedream-4-0-250828"}'),
    );

    expect(status).toBe(502);
    expect(headers["x-should-retry"]).toBe("false");
    expect(records).toMatchObject([{ operation: "generate", images: 0, charge: "0" }]);
  });
});

/** Different files for different colours. */
async function open(
  name: string,
  filename: string,
  type: string,
  red = 0,
): Promise<Part & { readonly value: Uint8Array }> {
  return { name, filename, type, value: await drawPng(red) };
}
