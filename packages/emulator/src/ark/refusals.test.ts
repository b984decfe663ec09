import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { type ArkBody, arkUrl, askArk, post } from "../test-support/ask.js";
import { bmp, dataUrl } from "../test-support/images.js";
import { arkErrors } from "./error-codes.js";

const types: Record<number, string> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  429: "TooManyRequests",
  500: "InternalServerError",
};
const auto = { sequential_image_generation: "auto" };
const atMost = (max_images: unknown) => ({ ...auto, sequential_image_generation_options: { max_images } });
const many = (count: number) => Array.from({ length: count }, () => "https://example.com/a.png");
const lite = "doubao-seedream-5-0-lite-260128";
const v40 = "doubao-seedream-4-0-250828";
const sizeMessage = "The parameter `size` specified in the request is not valid: ";

describe("Ark refuses with a 400", () => {
  it.each([
    ["no model", { model: undefined }, "MissingParameter", "`model`"],
    ["no prompt", { prompt: undefined }, "MissingParameter", "`prompt`"],
    ["an empty prompt", { prompt: "" }, "MissingParameter", "`prompt`"],
    ["a prompt that is a number", { prompt: 5 }, "InvalidParameter", "`prompt`"],
    [
      "1024x1024 on 4.5",
      { size: "1024x1024" },
      "InvalidParameter",
      `${sizeMessage}image size must be at least 3686400 pixels.`,
    ],
    ["1500x1500 on 5.0", { model: lite, size: "1500x1500" }, "InvalidParameter", "at least 3686400 pixels."],
    ["512x512 on 4.0", { model: v40, size: "512x512" }, "InvalidParameter", "at least 921600 pixels."],
    ["too many pixels", { size: "4096x4097" }, "InvalidParameter", "at most 16777216 pixels."],
    ["too wide a size", { size: "9000x500" }, "InvalidParameter", "aspect ratio"],
    ["the other family's size", { size: "2048*2048" }, "InvalidParameter", sizeMessage],
    ["adaptive", { size: "adaptive" }, "InvalidParameter", sizeMessage],
    ["3K on 4.5", { size: "3K" }, "InvalidParameter", "one of 2K, 4K"],
    ["1K on 5.0", { model: lite, size: "1K" }, "InvalidParameter", "one of 2K, 3K, 4K"],
    ["a size that is a number", { size: 2048 }, "InvalidParameter", sizeMessage],
    ["webp", { model: lite, output_format: "webp" }, "InvalidParameter", "`output_format`"],
    ["an unknown response_format", { response_format: "b64" }, "InvalidParameter", "`response_format`"],
    ["stream as a string", { stream: "true" }, "InvalidParameter", "`stream`"],
    ["watermark as a string", { watermark: "false" }, "InvalidParameter", "`watermark`"],
    [
      "an unknown batch mode",
      { sequential_image_generation: "on" },
      "InvalidParameter",
      "`sequential_image_generation`",
    ],
    ["max_images 0", atMost(0), "InvalidParameter", "max_images"],
    ["max_images 16", atMost(16), "InvalidParameter", "max_images"],
    ["max_images as a string", atMost("3"), "InvalidParameter", "max_images"],
    [
      "references and outputs above 15",
      { ...atMost(5), image: many(11) },
      "InvalidParameter",
      "must not exceed 15",
    ],
    ["15 references", { image: many(15) }, "InvalidParameter", "at most 14"],
    [
      "fast prompts on 4.5",
      { optimize_prompt_options: { mode: "fast" } },
      "InvalidParameter.UnsupportedParameter",
      "optimize_prompt_options.mode",
    ],
    [
      "an unknown prompt mode",
      { model: v40, optimize_prompt_options: { mode: "slow" } },
      "InvalidParameter",
      "optimize_prompt_options.mode",
    ],
    ["an empty image link", { image: "" }, "InvalidImageURL.EmptyURL", "empty"],
    ["an empty link among others", { image: [...many(1), " "] }, "InvalidImageURL.EmptyURL", "empty"],
    ["an image that is not a link", { image: "a fox" }, "InvalidImageURL.InvalidFormat", "format"],
    ["an ftp link", { image: "ftp://example.com/a.png" }, "InvalidImageURL.InvalidFormat", "format"],
    ["an image that is a number", { image: [5] }, "InvalidParameter", "`image`"],
    ["broken base64", { image: "data:image/png;base64,%%%%" }, "InvalidImageURL.InvalidFormat", "format"],
    [
      "base64 of text",
      { image: "data:image/png;base64,aGVsbG8h" },
      "InvalidImageURL.InvalidFormat",
      "format",
    ],
    [
      "a link to a closed port of this machine",
      { image: "http://127.0.0.1:1/a.png" },
      "InvalidParameter",
      "failed to download",
    ],
    ["a sensitive prompt", { prompt: "SensitiveContentDetected" }, "SensitiveContentDetected", "sensitive"],
    [
      "a sensitive text",
      { prompt: "a InputTextSensitiveContentDetected" },
      "InputTextSensitiveContentDetected",
      "input text",
    ],
    [
      "a sensitive reference",
      { prompt: "InputImageSensitiveContentDetected" },
      "InputImageSensitiveContentDetected",
      "input image",
    ],
    [
      "a sensitive outcome",
      { prompt: "OutputImageSensitiveContentDetected" },
      "OutputImageSensitiveContentDetected",
      "output image",
    ],
  ])("%s", async (_name, fields, code, message) => {
    const { status, headers, body } = await askArk(createEmulator(), fields);
    expect(status).toBe(400);
    expect(body).toStrictEqual({
      error: {
        code,
        message: expect.stringContaining(message),
        param: expect.any(String),
        type: "BadRequest",
      },
    });
    expect(body.error.message).toMatch(new RegExp(`\\. Request id: ${headers.get("x-request-id")}$`));
  });

  it("the message of a small size", async () => {
    const { headers, body } = await askArk(createEmulator(), { size: "1024x1024" });
    expect(body.error).toStrictEqual({
      code: "InvalidParameter",
      message: `${sizeMessage}image size must be at least 3686400 pixels. Request id: ${headers.get("x-request-id")}`,
      param: "size",
      type: "BadRequest",
    });
  });

  it.each(["", "{", "[]", "null", "5"])("the body %j", async (body) => {
    const response = await post<ArkBody>(createEmulator(), arkUrl, body);
    expect(response.status).toBe(400);
    expect(response.body.error.code).toBe("InvalidParameter");
  });

  it.each([
    ["14 pixels a side", 14, 100],
    ["an aspect of more than 16", 340, 20],
    ["more than 36,000,000 pixels", 6001, 6000],
  ])("a reference of %s", async (_name, width, height) => {
    const { status, body } = await askArk(createEmulator(), { image: await dataUrl({ width, height }) });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: "InvalidParameter", param: "image" });
  });

  it("a reference whose format is written in capitals", async () => {
    const image = (await dataUrl()).replace("image/png", "image/PNG");
    expect((await askArk(createEmulator(), { image })).body.error.code).toBe("InvalidImageURL.InvalidFormat");
  });

  it("a reference that is cut off", async () => {
    const whole = await dataUrl({ width: 500, height: 500, format: "jpeg" });
    const image = whole.slice(0, 200 + ((whole.indexOf(",") + 1) % 4));
    expect((await askArk(createEmulator(), { image })).body.error.code).toBe("InvalidImageURL.InvalidFormat");
  });

  it("a reference of more than 30 MB", async () => {
    const image = `data:image/bmp;base64,${bmp(3300, 3200).toString("base64")}`;
    const { status, body } = await askArk(createEmulator(), { image });
    expect(status).toBe(400);
    expect(body.error.message).toContain("30 MB");
  });
});

describe("Ark refuses", () => {
  it.each([
    ["no key", {}],
    ["an empty key", { authorization: "Bearer " }],
    ["another scheme", { authorization: "Basic abc" }],
    ["a key that it does not know", { authorization: "Bearer wrong" }],
  ])("%s with a 401", async (_name, headers) => {
    const response = await askArk(createEmulator({ arkApiKeys: ["right"] }), {}, headers);
    expect(response.status).toBe(401);
    expect(response.body.error).toStrictEqual({
      code: "AuthenticationError",
      message: `The API key or AK/SK in the request is missing or invalid. Request id: ${response.headers.get("x-request-id")}`,
      param: "",
      type: "Unauthorized",
    });
  });

  it.each([
    ["GET", arkUrl],
    ["POST", "http://emulator.test/api/v3/images/edits"],
    ["POST", "http://emulator.test/api/v3/tasks"],
  ])("%s %s with an empty 404", async (method, url) => {
    const response = await createEmulator().fetch(new Request(url, { method }));
    expect(response.status).toBe(404);
    expect(await response.text()).toBe("");
  });

  it.each(Object.entries(arkErrors))(
    "a request with the fault %s, with its status and type",
    async (code, { status }) => {
      const emulator = createEmulator();
      emulator.faults.add({ provider: "ark", code, times: 1, retryAfterSeconds: 2 });
      const response = await askArk(emulator);
      expect(response.status).toBe(status);
      expect(response.headers.get("retry-after")).toBe("2");
      expect(response.body.error).toMatchObject({ code, type: types[status], param: "" });
      expect((await askArk(emulator)).status).toBe(200);
    },
  );
});
