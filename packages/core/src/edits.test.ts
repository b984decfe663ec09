import { Buffer } from "node:buffer";
import { afterAll, describe, expect, it } from "vitest";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import {
  BOUNDARY,
  FORM_TYPE,
  formBytes,
  inPieces,
  JPEG,
  JPEG_URL,
  PNG,
  PNG_URL,
} from "./testing/form-bytes.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";

const EDITS = "http://gateway.test/v1/images/edits";
const MODEL = "seedream-4-5-251128";
const AUTHORIZATION = { authorization: `Bearer ${CALLER_KEY}` };

type Entry = readonly [name: string, value: string | Blob];

const png = (type = "image/png"): File => new File([PNG], "a.png", { type });

function edit({ gateway }: TestGateway, ...entries: readonly Entry[]) {
  const form = new FormData();
  for (const [name, value] of entries) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, "blob");
  }
  return gateway
    .fetch(new Request(EDITS, { method: "POST", headers: AUTHORIZATION, body: form }))
    .then(readResponse);
}

/** A form as bytes, through the seam that hosts use. */
function sendBytes(
  { gateway }: TestGateway,
  body: AsyncIterable<Uint8Array> | null,
  rest: Partial<GatewayRequest> = {},
): Promise<GatewayResponse> {
  const response = gateway.handle({
    method: "POST",
    url: "/v1/images/edits",
    headers: new Headers({ ...AUTHORIZATION, "content-type": FORM_TYPE }),
    body,
    signal: new AbortController().signal,
    ...rest,
  });
  return response ?? Promise.reject(new Error("The path is the gateway's."));
}

function toJson({ body }: GatewayResponse): unknown {
  return typeof body === "string" ? JSON.parse(body) : undefined;
}

const PROMPT: Entry = ["prompt", "make it red"];

const unhandled: unknown[] = [];
const warnings: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);
const noteWarning = (warning: unknown): void => void warnings.push(warning);
process.on("unhandledRejection", noteUnhandled);
process.on("warning", noteWarning);

afterAll(() => {
  process.off("unhandledRejection", noteUnhandled);
  process.off("warning", noteWarning);
});

describe("an edit", () => {
  it("goes to the provider as JSON, with its images in the order that counts and nothing added", async () => {
    const test = createTestGateway();
    const response = await edit(
      test,
      ["image", png()],
      ["image[]", new File([JPEG], "b")],
      ["image[1]", "https://x.test/1.png"],
      ["image[0]", JPEG_URL.replace("image/jpeg", "image/JPEG")],
      ["model", MODEL],
      PROMPT,
    );
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ model: MODEL, data: [{ url: "https://ark.test/1.png" }] });
    expect(test.calls.map(({ body }) => body)).toEqual([
      { model: MODEL, prompt: "make it red", image: [JPEG_URL, "https://x.test/1.png", PNG_URL, JPEG_URL] },
    ]);
    expect(test.records).toMatchObject([{ operation: "edit", model: MODEL }]);
  });

  it("has typed fields and the rule for n, and names the fields without effect", async () => {
    const test = createTestGateway();
    const response = await edit(
      test,
      ["model", MODEL],
      PROMPT,
      ["image", png()],
      ["n", "3"],
      ["watermark", "false"],
      ["seed", "0"],
      ["guidance_scale", "2.5"],
      ["size", "2K"],
      ["response_format", "url"],
      ["sequential_image_generation_options[mode]", "x"],
      ["quality", "high"],
      ["svg[model]", "x"],
      ["svg[detail]", "high"],
      ["partial_images", "2"],
      ["custom", "7"],
    );
    expect(response.status).toBe(200);
    expect(response.headers.get("x-calotype-ignored")).toBe("quality, svg, partial_images");
    expect(test.calls[0]?.body).toEqual({
      model: MODEL,
      prompt: "make it red",
      image: [PNG_URL],
      watermark: false,
      seed: 0,
      guidance_scale: 2.5,
      size: "2K",
      response_format: "url",
      sequential_image_generation: "auto",
      sequential_image_generation_options: { mode: "x", max_images: 3 },
      custom: "7",
    });
  });

  it("has the client's own batch fields, which win over n", async () => {
    const test = createTestGateway();
    await edit(
      test,
      ["model", MODEL],
      PROMPT,
      ["image", png()],
      ["n", "3"],
      ["sequential_image_generation_options", '{"max_images":5}'],
    );
    expect(test.calls[0]?.body).toMatchObject({
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 5 },
    });
  });

  it.each([
    ["application/octet-stream", PNG, PNG_URL],
    ["text/plain", PNG, PNG_URL],
    ["image/png", JPEG, JPEG_URL],
    ["", PNG, PNG_URL],
  ])("takes a file of declared type %j for what its bytes are", async (type, content, url) => {
    const test = createTestGateway();
    await edit(test, ["model", MODEL], PROMPT, ["image", new File([content], "x", { type })]);
    expect(test.calls[0]?.body["image"]).toEqual([url]);
  });

  it.each([
    ["image", "image/png", PNG, PNG_URL],
    ["image[]", "image/jpeg", JPEG, JPEG_URL],
    ["image[3]", "application/octet-stream", PNG, PNG_URL],
    ["image", "Image/PNG; charset=utf-8", PNG, PNG_URL],
    ["image", "application/x-unknown", PNG, PNG_URL],
  ])("takes a part %s of type %s without a filename for a file", async (name, type, content, url) => {
    for (const size of [1, 7, 100_000]) {
      const test = createTestGateway();
      const form = formBytes(
        { name: "model", type: "text/plain", content: MODEL },
        { name, type, content },
        { name: "prompt", content: "雪" },
      );
      expect((await sendBytes(test, inPieces(form, size))).status).toBe(200);
      expect(test.calls[0]?.body).toEqual({ model: MODEL, prompt: "雪", image: [url] });
    }
  });

  it.each([undefined, "text/plain", "text/plain; charset=utf-8", "TEXT/PLAIN"])(
    "takes a part without a filename for text if its type is %s",
    async (type) => {
      const test = createTestGateway();
      const form = formBytes(
        { name: "model", content: MODEL },
        { name: "prompt", content: "x" },
        { name: "image", ...(type !== undefined && { type }), content: PNG_URL },
      );
      expect((await sendBytes(test, inPieces(form))).status).toBe(200);
      expect(test.calls[0]?.body["image"]).toEqual([PNG_URL]);
    },
  );

  it("takes a field of another type for text", async () => {
    const test = createTestGateway();
    const form = formBytes(
      { name: "model", content: MODEL },
      { name: "prompt", content: "x" },
      { name: "image", filename: "a", content: PNG },
      { name: "sequential_image_generation_options", type: "application/json", content: '{"max_images":2}' },
    );
    expect((await sendBytes(test, inPieces(form))).status).toBe(200);
    expect(test.calls[0]?.body["sequential_image_generation_options"]).toEqual({ max_images: 2 });
  });

  it("takes two files of 30 MiB in one form", async () => {
    const size = 30 * 1024 * 1024;
    const image = Buffer.alloc(size, 7);
    image.set(PNG);
    const lengths: number[] = [];
    const test = createTestGateway(undefined, {
      fetch: (_url, { body }) => {
        const { image: images }: { image: string[] } = JSON.parse(Buffer.from(body as Uint8Array).toString());
        lengths.push(...images.map(({ length }) => length));
        return Promise.resolve(Response.json(ARK_RESPONSE));
      },
    });
    const form = formBytes(
      { name: "model", content: MODEL },
      { name: "prompt", content: "x" },
      { name: "image", filename: "a", content: image },
      { name: "image", filename: "b", content: image },
    );
    expect((await sendBytes(test, inPieces(form, 65_536))).status).toBe(200);
    const prefix = "data:image/png;base64,".length;
    expect(lengths).toEqual([prefix + (size / 3) * 4, prefix + (size / 3) * 4]);
    const more = formBytes({ name: "image", filename: "a", content: Buffer.concat([image, PNG]) });
    expect((await sendBytes(test, inPieces(more, 65_536))).status).toBe(413);
  });

  it("takes fourteen images", async () => {
    const test = createTestGateway();
    const images = Array.from({ length: 14 }, (): Entry => ["image[]", png()]);
    expect((await edit(test, ["model", MODEL], PROMPT, ...images)).status).toBe(200);
    expect(test.calls[0]?.body["image"]).toHaveLength(14);
  });

  it("may arrive byte by byte, in any order, and slowly", async () => {
    const test = createTestGateway();
    const form = formBytes(
      { name: "image", filename: "a", content: PNG },
      { name: "prompt", content: "雪" },
      { name: "model", content: MODEL },
    );
    expect((await sendBytes(test, inPieces(form, 1))).status).toBe(200);
    expect(test.calls[0]?.body).toEqual({ model: MODEL, prompt: "雪", image: [PNG_URL] });
  });
});

describe("an edit is refused", () => {
  const image: Entry = ["image", png()];
  const model: Entry = ["model", MODEL];

  it.each<[string, readonly Entry[], number, string, string | null]>([
    ["without model", [PROMPT, image], 400, "model is required", "model"],
    ["without model and image", [PROMPT], 400, "model is required", "model"],
    ["with an empty model", [["model", ""], PROMPT, image], 400, "model is required", "model"],
    ["without image", [model, PROMPT], 400, "image is required", "image"],
    [
      "without image, of a model that is not known",
      [["model", "gpt"], PROMPT],
      400,
      "image is required",
      "image",
    ],
    [
      "with an unknown model",
      [["model", "gpt"], PROMPT, image],
      404,
      "The model gpt does not exist.",
      "model",
    ],
    ["without prompt", [model, image], 400, "prompt is required.", "prompt"],
    ["with an empty prompt", [model, image, ["prompt", ""]], 400, "prompt must not be empty.", "prompt"],
    [
      "with a mask",
      [model, PROMPT, image, ["mask", png()]],
      400,
      "mask is not supported: describe the area to change in the prompt instead.",
      "mask",
    ],
    [
      "with a mask that is a text",
      [model, PROMPT, image, ["mask", "x"]],
      400,
      "mask is not supported: describe the area to change in the prompt instead.",
      "mask",
    ],
    [
      "with a mask and no image",
      [model, PROMPT, ["mask", png()]],
      400,
      "mask is not supported: describe the area to change in the prompt instead.",
      "mask",
    ],
    [
      "with a markup",
      [model, PROMPT, ["markup", png()]],
      400,
      "markup is not supported: describe the change in the prompt instead.",
      "markup",
    ],
    [
      "with a part of a markup",
      [model, PROMPT, image, ["markup[image_url]", "x"]],
      400,
      "markup is not supported: describe the change in the prompt instead.",
      "markup",
    ],
    [
      "with a file_id",
      [model, PROMPT, image, ["file_id", "file-1"]],
      400,
      "file_id is not supported: send image, a link or a data URL.",
      "file_id",
    ],
    [
      "with stream",
      [model, PROMPT, image, ["stream", "true"]],
      400,
      "stream is not offered at this endpoint: send JSON with image to /v1/images/generations.",
      "stream",
    ],
    [
      "with junk for stream",
      [model, PROMPT, image, ["stream", "yes"]],
      400,
      "stream must be true or false.",
      "stream",
    ],
    ["with n of 2.5", [model, PROMPT, image, ["n", "2.5"]], 400, "n must be a whole number.", "n"],
    ["with n of abc", [model, PROMPT, image, ["n", "abc"]], 400, "n must be a whole number.", "n"],
    [
      "with n of 16",
      [model, PROMPT, image, ["n", "16"]],
      400,
      "n asks for 16 images; at most 15 are allowed.",
      "n",
    ],
    [
      "with n past what images leave",
      [model, PROMPT, image, ["n", "15"]],
      400,
      "1 reference images and 15 images to make are more than the 15 allowed together.",
      "n",
    ],
    [
      "with junk for watermark",
      [model, PROMPT, image, ["watermark", "yes"]],
      400,
      "watermark must be true or false.",
      "watermark",
    ],
    [
      "with a seed past all numbers",
      [model, PROMPT, image, ["seed", "9".repeat(30)]],
      400,
      "seed must be a whole number.",
      "seed",
    ],
    [
      "with a guidance_scale past all numbers",
      [model, PROMPT, image, ["guidance_scale", "9".repeat(400)]],
      400,
      "guidance_scale must be a number.",
      "guidance_scale",
    ],
    [
      "with an invalid size",
      [model, PROMPT, image, ["size", "512x512"]],
      400,
      'size "512x512" is not supported by this model: send 2K, or 4K, or <width>x<height> with 3686400 to 16777216 pixels in all and an aspect ratio between 1:16 and 16:1.',
      "size",
    ],
    [
      "with an invalid response_format",
      [model, PROMPT, image, ["response_format", "png"]],
      400,
      'response_format must be "url" or "b64_json".',
      "response_format",
    ],
    [
      "with options that are not an object",
      [model, PROMPT, image, ["sequential_image_generation_options", "[]"]],
      400,
      'sequential_image_generation_options must be a JSON object, such as {"max_images": 4}.',
      "sequential_image_generation_options",
    ],
    [
      "with max_images of 16",
      [
        model,
        PROMPT,
        image,
        ["sequential_image_generation", "auto"],
        ["sequential_image_generation_options[max_images]", "16"],
      ],
      400,
      "sequential_image_generation_options.max_images asks for 16 images; at most 15 are allowed.",
      "sequential_image_generation_options.max_images",
    ],
    [
      "with prompt twice",
      [model, PROMPT, PROMPT, image],
      400,
      "The form has the field prompt twice.",
      "prompt",
    ],
    [
      "with an image that is a path",
      [model, PROMPT, ["image", "/etc/passwd"]],
      400,
      "image[0] must be a public http or https URL, or a data URL such as data:image/png;base64,<base64>.",
      "image[0]",
    ],
    [
      "with an image that is an empty text",
      [model, PROMPT, ["image", ""]],
      400,
      "image[0] must be a public http or https URL, or a data URL such as data:image/png;base64,<base64>.",
      "image[0]",
    ],
    [
      "with a file that is not an image",
      [model, PROMPT, ["image", new Blob(["hello"])]],
      400,
      "The file in image is not a supported image: send PNG, JPEG, WebP, GIF, BMP, TIFF or HEIC.",
      "image",
    ],
    [
      "with an empty file",
      [model, PROMPT, ["image[1]", new Blob([])]],
      400,
      "The file in image[1] is empty: send PNG, JPEG, WebP, GIF, BMP, TIFF or HEIC.",
      "image[1]",
    ],
    [
      "with a file of a name that is not known",
      [model, PROMPT, image, ["photo", png()]],
      400,
      "The form has a file in photo: send images as image, image[] or image[n].",
      "photo",
    ],
    [
      "with fifteen images",
      [model, PROMPT, ...Array.from({ length: 15 }, (): Entry => ["image[]", png()])],
      400,
      "image holds 15 reference images; at most 14 are allowed.",
      "image",
    ],
    [
      "of family B",
      [["model", "image-max"], PROMPT, image],
      400,
      "The model image-max is served at /v1/images/generations and /api/v1/services/aigc/multimodal-generation/generation only.",
      "model",
    ],
  ])("%s", async (_what, entries, status, message, param) => {
    const test = createTestGateway();
    const response = await edit(test, ...entries);
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject({
      error: {
        message,
        type: "invalid_request_error",
        code: status === 404 ? "model_not_found" : "invalid_request_error",
        param,
      },
    });
    expect(test.calls).toEqual([]);
    expect(test.records).toEqual([]);
    expect(test.logs).toEqual([]);
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/mixed; boundary=b",
    "application/jsonl",
  ])("with a body of type %s, and both types are named", async (type) => {
    const test = createTestGateway();
    const headers = { ...AUTHORIZATION, "content-type": type };
    const body = JSON.stringify({ model: MODEL, prompt: "x", image: "https://x.test/1.png" });
    const response = await readResponse(
      await test.gateway.fetch(new Request(EDITS, { method: "POST", headers, body })),
    );
    expect(response.status).toBe(415);
    expect(response.body).toMatchObject({
      error: {
        code: "unsupported_media_type",
        message: expect.stringContaining("multipart/form-data or application/json"),
      },
    });
  });

  it("before its body is read if the key is wrong", async () => {
    const test = createTestGateway();
    let asked = 0;
    async function* body() {
      asked++;
      yield PNG;
    }
    const response = await sendBytes(test, body(), { headers: new Headers({ "content-type": FORM_TYPE }) });
    expect(response.status).toBe(401);
    expect(asked).toBe(0);
  });

  it.each([
    ["a file", { file: 1_000 }, 413, "The file in image is larger than 1000 bytes."],
    ["the form", { form: 1_000 }, 413, "The form is larger than 1000 bytes."],
  ])("past the operator's limit for %s", async (_what, bodyLimits, status, message) => {
    const test = createTestGateway(undefined, { bodyLimits });
    const large = { name: "image", filename: "a", content: Buffer.concat([PNG, Buffer.alloc(2_000)]) };
    const response = await sendBytes(test, inPieces(formBytes(large), 100));
    expect(response.status).toBe(status);
    expect(toJson(response)).toMatchObject({ error: { code: "request_too_large", message } });
  });

  it("with a response of the operator's own parser being in the way", async () => {
    const test = createTestGateway();
    const response = await sendBytes(test, null, { bodyConsumed: true, parsedBody: {} });
    expect(response.status).toBe(500);
    expect(toJson(response)).toMatchObject({ error: { code: "body_already_read" } });
  });
});

describe("an edit that is cut off", () => {
  const form = formBytes(
    { name: "model", content: MODEL },
    { name: "image", filename: "a.png", type: "image/png", content: PNG },
    { name: "prompt", content: "x" },
  );

  it("anywhere gets 400 at once, and costs nothing", async () => {
    const test = createTestGateway();
    const responses = await Promise.all(
      Array.from({ length: form.length - 2 }, (_, length) =>
        sendBytes(test, inPieces(form.subarray(0, length))),
      ),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([400]));
    expect(test.logs).toEqual([]);
    expect(test.calls).toEqual([]);
  });

  it("at any byte by a client that disconnects does not affect other requests", async () => {
    const test = createTestGateway();
    const statuses = new Set<number>();
    for (let length = 0; length < form.length; length += 3) {
      async function* body() {
        yield form.subarray(0, length);
        throw new Error("aborted");
      }
      statuses.add((await sendBytes(test, body())).status);
    }
    expect(statuses).toEqual(new Set([499]));
    expect(test.logs).toEqual([]);
    expect(test.calls).toEqual([]);
  });

  it("in the middle of several large files leaves neither a rejection nor a warning", async () => {
    const test = createTestGateway(undefined, { bodyLimits: { file: 50_000 } });
    const files = Array.from({ length: 20 }, (_, index) => ({
      name: `image[${index}]`,
      filename: "a",
      content: Buffer.concat([PNG, Buffer.alloc(40_000)]),
    }));
    const large = formBytes({ name: "model", content: MODEL }, ...files);
    for (const length of [60_000, 400_001, large.length - BOUNDARY.length]) {
      expect((await sendBytes(test, inPieces(large.subarray(0, length)))).status).toBe(400);
    }
    const tooLarge = formBytes(...files, { name: "image", filename: "b", content: Buffer.alloc(60_000) });
    expect((await sendBytes(test, inPieces(tooLarge, 1_000))).status).toBe(413);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(unhandled).toEqual([]);
    expect(warnings).toEqual([]);
  });
});
