import { describe, expect, it } from "vitest";
import { createTestGateway, refusal } from "../../testing/test-gateway.js";
import type { Capabilities } from "../capabilities.js";
import { countMaxPixels, findQwenImageCapabilities } from "./capabilities.js";

const PRO = "image-3.0-pro-2026-07-20";

async function send(fields: object, model = PRO) {
  const { post, calls } = createTestGateway(undefined, { models: { [model]: { family: "qwen-image" } } });
  const { status, body, headers } = await post({ model, prompt: "a fox", ...fields });
  return {
    status,
    body,
    parameters: calls[0]?.body["parameters"],
    ignored: headers.get("x-calotype-ignored"),
  };
}

describe("Qwen-Image 3.0", () => {
  it.each(["512x512", "2560x2560", "2048*2048", "7240x905"])("takes the size %s", async (size) => {
    expect(await send({ size })).toMatchObject({ status: 200, parameters: { size: size.replace("x", "*") } });
  });

  it.each(["512x511", "2561x2560", "7248x905", "2K"])("refuses the size %s", async (size) => {
    expect(await send({ size })).toMatchObject({
      status: 400,
      body: refusal("size"),
      parameters: undefined,
    });
  });

  it.each([
    [6, 200],
    [7, 400],
  ])("for n %i gets %i", async (n, status) => {
    expect((await send({ n })).status).toBe(status);
  });

  it.each([
    { enable_thinking: false },
    { enable_thinking: true, prompt_extend: true },
    { prompt_extend_mode: "agent" },
    { prompt_extend_mode: "direct", enable_thinking: 0 },
  ])("gets its parameters from the top level and from parameters: %j", async (fields) => {
    const expected = { status: 200, parameters: fields, ignored: null };
    expect(await send(fields)).toMatchObject(expected);
    expect(await send({ parameters: fields })).toMatchObject(expected);
    const input = { messages: [{ role: "user", content: [{ text: "a fox" }] }] };
    expect(await send({ input, parameters: fields })).toMatchObject(expected);
  });
});

describe("the most pixels of an image", () => {
  it.each<[string | undefined, string | Capabilities | undefined, number | undefined]>([
    ["1024*768", "image-3.0", 1024 * 768],
    ["1024*768", undefined, 1024 * 768],
    ["1024*768", "image-edit", 1024 * 768],
    [undefined, "image-3.0", 2560 * 2560],
    ["1024x768", "image-3.0", 2560 * 2560],
    [undefined, "image-2.0-pro", 2048 * 2048],
    [undefined, "image-max", 1328 * 1328],
    [undefined, "image-edit-plus", 2048 * 2048],
    [undefined, "image-edit", undefined],
    [undefined, undefined, undefined],
    [undefined, { size: { side: { min: 1, max: 100 }, totalPixels: { min: 1, max: 5_000 } } }, 5_000],
    [undefined, { size: { maxAspectRatio: 2 } }, undefined],
  ])("of size %j with the row %j is %j", (size, row, expected) => {
    const capabilities = typeof row === "string" ? findQwenImageCapabilities(row) : row;
    expect(countMaxPixels(size, capabilities)).toBe(expected);
  });
});
