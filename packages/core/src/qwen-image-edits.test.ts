import { describe, expect, it } from "vitest";
import type { ModelOptions } from "./models/resolve-model.js";
import { PNG, PNG_URL } from "./testing/form-bytes.js";
import {
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_KEY,
  type ReadResponse,
  readResponse,
  refusal,
  type TestGateway,
} from "./testing/test-gateway.js";

const EDITS = "http://gateway.test/v1/images/edits";
const LINK = "https://example.com/a.png";
const AUTHORIZATION = { authorization: `Bearer ${CALLER_KEY}` };

type Entry = readonly [name: string, value: string | Blob];

const png = (): File => new File([PNG], "a.png");

const open = (options: Partial<ModelOptions> = { edits: true }): TestGateway =>
  createTestGateway(undefined, {
    models: { "image-*": { family: "qwen-image", ...options } },
    channels: [{ id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY }],
  });

async function editWithForm({ gateway }: TestGateway, ...entries: readonly Entry[]): Promise<ReadResponse> {
  const form = new FormData();
  for (const [name, value] of [["prompt", "make it red"], ...entries] as const) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, "blob");
  }
  return readResponse(
    await gateway.fetch(new Request(EDITS, { method: "POST", headers: AUTHORIZATION, body: form })),
  );
}

async function editWithJson({ gateway }: TestGateway, fields: object): Promise<ReadResponse> {
  const headers = { ...AUTHORIZATION, "content-type": "application/json" };
  const body = JSON.stringify({ model: "image-edit-plus", prompt: "make it red", ...fields });
  return readResponse(await gateway.fetch(new Request(EDITS, { method: "POST", headers, body })));
}

const message = (...images: readonly string[]): object => ({
  messages: [{ role: "user", content: [...images.map((image) => ({ image })), { text: "make it red" }] }],
});

const EDITOR: Entry = ["model", "image-edit-plus"];

describe("an edit of family B, with models[].edits", () => {
  it.each<[string, readonly Entry[], object, object]>([
    ["a file", [EDITOR, ["image", png()]], message(PNG_URL), {}],
    [
      "files and links in the order of a form",
      [EDITOR, ["image[]", png()], ["image[0]", LINK]],
      message(LINK, PNG_URL),
      {},
    ],
    [
      "fields with their types",
      [
        EDITOR,
        ["image", LINK],
        ["n", "2"],
        ["size", "1024x1024"],
        ["seed", "7"],
        ["watermark", "false"],
        ["prompt_extend", "true"],
        ["enable_thinking", "false"],
        ["stream", "false"],
        ["negative_prompt", "5"],
      ],
      message(LINK),
      {
        n: 2,
        size: "1024*1024",
        seed: 7,
        watermark: false,
        prompt_extend: true,
        enable_thinking: false,
        negative_prompt: "5",
      },
    ],
    [
      "parameters in JSON",
      [EDITOR, ["image", LINK], ["parameters", '{"n":2,"watermark":true}']],
      message(LINK),
      { n: 2, watermark: true },
    ],
    [
      "parameters in parts",
      [EDITOR, ["image", LINK], ["parameters[n]", "2"], ["parameters[watermark]", "true"]],
      message(LINK),
      { n: 2, watermark: true },
    ],
    [
      "a model that also makes images from a text",
      [
        ["model", "image-2.0"],
        ["image", LINK],
      ],
      message(LINK),
      {},
    ],
  ])("sends %s of a form", async (_what, entries, input, parameters) => {
    const test = open();
    const response = await editWithForm(test, ...entries);
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ data: [{ url: "https://dashscope.test/1.png" }] });
    expect(test.calls[0]?.body).toMatchObject({ input, parameters });
    expect(test.calls[0]?.body["parameters"]).toEqual(parameters);
    expect(test.records).toMatchObject([{ operation: "edit" }]);
  });

  it.each<[string, object, object, object]>([
    ["images", { images: [{ image_url: LINK }, { image_url: PNG_URL }] }, message(LINK, PNG_URL), {}],
    [
      "image",
      { image: LINK, n: 2, size: "1024x1024", quality: "high" },
      message(LINK),
      { n: 2, size: "1024*1024" },
    ],
  ])("sends %s of JSON", async (_what, fields, input, parameters) => {
    const test = open();
    expect(await editWithJson(test, fields)).toMatchObject({ status: 200 });
    expect(test.calls[0]?.body).toEqual({ model: "image-edit-plus", input, parameters });
  });

  it.each<[string, object, string]>([
    ["no image", {}, "image"],
    ["four images", { image: Array(4).fill(LINK) }, "image"],
    ["a size that the model does not accept", { image: LINK, size: "256x256" }, "size"],
    ["a mask", { image: LINK, mask: { image_url: LINK } }, "mask"],
    ["a stream in the native format", { image: LINK, stream: true }, "stream"],
    ["the standard structure", { image: LINK, input: message(LINK) }, "input"],
    ["n as a string", { image: LINK, n: "2" }, "n"],
  ])("is a 400 with %s", async (_what, fields, param) => {
    const test = open();
    expect(await editWithJson(test, fields)).toMatchObject({ status: 400, body: refusal(param) });
    expect(test.calls).toEqual([]);
  });

  it("makes several calls for a model that makes one image per call", async () => {
    const test = open();
    const response = await editWithForm(
      test,
      ["model", "image-edit"],
      ["image", png()],
      ["n", "3"],
      ["seed", "5"],
    );
    expect(response.body["data"]).toHaveLength(3);
    expect(test.calls.map(({ body }) => body["parameters"])).toEqual([{ seed: 5 }, { seed: 6 }, { seed: 7 }]);
  });
});

describe("without models[].edits", () => {
  it.each([undefined, false])("an edit is a 400 that names the other endpoint (edits: %s)", async (edits) => {
    const test = open({ edits });
    for (const response of [
      await editWithForm(test, EDITOR, ["image", png()]),
      await editWithJson(test, { image: LINK }),
    ]) {
      expect(response).toMatchObject({ status: 400, body: refusal("model") });
      expect(response.text).toContain("is served at /v1/images/generations");
    }
  });
});
