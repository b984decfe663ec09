import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { askDashscope, type DashscopeBody, dashscopeUrl, post } from "../test-support/ask.js";
import { bmp, dataUrl } from "../test-support/images.js";
import { dashscopeErrors } from "./error-codes.js";

const link = "https://example.com/a.png";
const user = (...content: unknown[]) => ({ role: "user", content });
const text = { text: "a fox" };

describe("DashScope refuses", () => {
  it.each([
    ["n as a string", { parameters: { n: "2" } }, "num_images_per_prompt must be between 1 and 6"],
    ["a size with x", { parameters: { size: "1024x1024" } }, "<width>*<height>"],
    ["a size that is a number", { parameters: { size: 1024 } }, "<width>*<height>"],
    ["watermark as a string", { parameters: { watermark: "true" } }, "watermark"],
    ["prompt_extend as a string", { parameters: { prompt_extend: 1 } }, "prompt_extend"],
    ["a negative prompt that is a number", { parameters: { negative_prompt: 1 } }, "negative_prompt"],
    ["a negative seed", { parameters: { seed: -1 } }, "seed"],
    ["a seed above the range", { parameters: { seed: 2 ** 31 } }, "seed"],
  ])("%s with a 400", async (_name, request, message) => {
    const { status, headers, body } = await askDashscope(createEmulator(), request);
    expect(status).toBe(400);
    expect(body).toStrictEqual({
      request_id: headers.get("x-request-id"),
      code: "InvalidParameter",
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ["no model", { input: { messages: [user(text)] } }, "InvalidParameter"],
    ["no input", { model: "qwen-image-2.0" }, "BadRequest.EmptyInput"],
    ["the legacy prompt", { model: "qwen-image-2.0", input: { prompt: "a fox" } }, "BadRequest.EmptyInput"],
    ["no message", { model: "qwen-image-2.0", input: { messages: [] } }, "BadRequest.EmptyInput"],
    [
      "an empty text",
      { model: "qwen-image-2.0", input: { messages: [user({ text: " " })] } },
      "BadRequest.EmptyInput",
    ],
    [
      "two messages",
      { model: "qwen-image-2.0", input: { messages: [user(text), user(text)] } },
      "InvalidParameter",
    ],
    [
      "another role",
      { model: "qwen-image-2.0", input: { messages: [{ role: "system", content: [text] }] } },
      "InvalidParameter",
    ],
    [
      "content that is text",
      {
        model: "qwen-image-2.0",
        input: { messages: [user("a fox")].map((message) => ({ ...message, content: "a fox" })) },
      },
      "InvalidParameter",
    ],
    ["two texts", { model: "qwen-image-2.0", input: { messages: [user(text, text)] } }, "InvalidParameter"],
    [
      "no text",
      { model: "qwen-image-2.0", input: { messages: [user({ image: link })] } },
      "InvalidParameter",
    ],
    [
      "an item of another kind",
      { model: "qwen-image-2.0", input: { messages: [user(text, { video: link })] } },
      "InvalidParameter",
    ],
    [
      "parameters that are a list",
      { model: "qwen-image-2.0", input: { messages: [user(text)] }, parameters: [] },
      "InvalidParameter",
    ],
  ])("%s with a 400 (the body)", async (_name, request, code) => {
    const { status, body } = await post<DashscopeBody>(createEmulator(), dashscopeUrl, request);
    expect([status, body.code]).toEqual([400, code]);
  });

  it.each(["", "{", "[]", "null"])("the body %j", async (request) => {
    const { status, body } = await post<DashscopeBody>(createEmulator(), dashscopeUrl, request);
    expect([status, body.code]).toEqual([400, "InvalidParameter"]);
  });

  it.each([
    ["an empty image", "", 400, "InvalidURL"],
    ["an image that is not a link", "fox.png", 400, "InvalidURL"],
    ["broken base64", "data:image/png;base64,&&&", 400, "InvalidURL"],
    ["base64 of text", "data:image/png;base64,aGVsbG8h", 415, "BadRequest.UnsupportedFileFormat"],
    [
      "more than 10 MB",
      `data:image/bmp;base64,${bmp(1900, 1900).toString("base64")}`,
      413,
      "BadRequest.TooLarge",
    ],
    [
      "a link to a closed port of this machine",
      "http://127.0.0.1:1/a.png",
      400,
      "InvalidParameter.DataInspection",
    ],
  ])("%s as a reference", async (_name, image, status, code) => {
    const response = await askDashscope(createEmulator(), { images: [image] });
    expect([response.status, response.body.code]).toEqual([status, code]);
  });

  it("a result link that has expired as a reference", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ expiredLinks: true, times: 1 });
    const expired = (await askDashscope(emulator)).body.output.choices[0]?.message.content[0]?.image ?? "";
    const { body } = await askDashscope(emulator, { images: [expired] });
    expect(body.message).toBe("Unable to download the media resource during the data inspection process.");
  });

  it("an offensive prompt", async () => {
    const { status, body } = await askDashscope(createEmulator(), { text: "DataInspectionFailed" });
    expect([status, body.code]).toEqual([400, "DataInspectionFailed"]);
  });

  it("an asynchronous call", async () => {
    const headers = { authorization: "Bearer k", "x-dashscope-async": "enable" };
    const { status, body } = await askDashscope(createEmulator(), {}, headers);
    expect([status, body.code]).toEqual([403, "AccessDenied"]);
  });

  it.each([[{}], [{ authorization: "Bearer sk-wrong" }]])(
    "the key in %j",
    async (headers: Record<string, string>) => {
      const emulator = createEmulator({ dashscopeApiKeys: ["sk-right"] });
      const { status, body } = await askDashscope(emulator, {}, headers);
      expect(status).toBe(401);
      expect(body).toMatchObject({ code: "InvalidApiKey", message: "Invalid API-key provided." });
    },
  );

  it("another path with a 404", async () => {
    const url = "http://emulator.test/api/v1/services/aigc/text2image/image-synthesis";
    const { status, body } = await post<DashscopeBody>(createEmulator(), url, {});
    expect(status).toBe(404);
    expect(body.request_id).toBeTruthy();
  });

  it.each(Object.entries(dashscopeErrors))(
    "a request with the fault %s, with its status",
    async (code, { status, message }) => {
      const emulator = createEmulator();
      emulator.faults.add({ provider: "dashscope", code, times: 1 });
      const response = await askDashscope(emulator);
      expect(response.status).toBe(status);
      expect(response.body).toStrictEqual({
        request_id: response.headers.get("x-request-id"),
        code,
        message,
      });
      expect((await askDashscope(emulator)).status).toBe(200);
    },
  );

  it("not a data URL with a media type in capitals", async () => {
    const image = (await dataUrl()).replace("image/png", "image/PNG");
    expect((await askDashscope(createEmulator(), { images: [image] })).status).toBe(200);
  });
});
