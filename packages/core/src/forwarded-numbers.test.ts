import { describe, expect, it, onTestFinished } from "vitest";
import { createTestGateway, type TestGateway } from "./testing/test-gateway.js";

/** Numbers that JavaScript would write in another way. */
const NUMBERS = ["9007199254740993", "12345678901234567890", "1e400", "0.1000000000000000055", "-0", "1.0"];

/** Larger than a data URL that is decoded with the rest of the body. */
const IMAGE = `data:image/png;base64,${"A".repeat(80_000)}`;

async function sentText(body: string, post: (test: TestGateway) => TestGateway["post"]): Promise<string> {
  const test = createTestGateway();
  expect(await post(test)(body)).toMatchObject({ status: 200 });
  return test.calls[0]?.text ?? "";
}

describe("a number in a field that is only forwarded reaches the provider as it was sent", () => {
  it.each(NUMBERS)("on /v1: %s", async (number) => {
    const fields = `"x":${number},"y":{"z":[${number}]},"guidance_scale":7.50`;
    const sent = await sentText(`{"model":"doodle","prompt":"a fox",${fields}}`, ({ post }) => post);
    expect(sent).toContain(fields);
  });

  it.each(NUMBERS)("on /v1, beside a data URL that stays bytes: %s", async (number) => {
    const body = `{"model":"doodle","prompt":"a fox","x":[${number}],"image":"${IMAGE}"}`;
    const sent = await sentText(body, ({ post }) => post);
    expect(sent).toContain(`"x":[${number}]`);
    expect(sent).toContain(`"image":"${IMAGE}"`);
  });

  it.each(NUMBERS)("in options that are read for something else: %s", async (number) => {
    const options = `"sequential_image_generation_options":{"max_images":2,"x":${number}}`;
    const body = `{"model":"doodle","prompt":"a fox","sequential_image_generation":"auto",${options}}`;
    const sent = await sentText(body, ({ post }) => post);
    expect(sent).toContain(`"x":${number}`);
    expect(sent).toContain('"max_images":2');
  });

  it.each(NUMBERS)("on the native endpoint: %s", async (number) => {
    const body = `{"model":"doodle","prompt":"a fox","seed":${number},"x":{"y":${number}}}`;
    const sent = await sentText(body, ({ postNative }) => postNative);
    expect(sent).toContain(`"seed":${number},"x":{"y":${number}}`);
  });

  it.each(NUMBERS)("in input and parameters of family B: %s", async (number) => {
    const input = `{"messages":[{"role":"user","content":[{"text":"a fox","w":${number}}]}],"x":${number}}`;
    const body = `{"model":"image-max","prompt":"x","input":${input},"parameters":{"seed":${number},"n":1}}`;
    const sent = await sentText(body, ({ post }) => post);
    expect(sent).toContain(`"w":${number}`);
    expect(sent).toContain(`"x":${number}`);
    expect(sent).toContain(`"seed":${number}`);
  });
});

describe("on a runtime without JSON.rawJSON", () => {
  it.each([
    ["12345678901234567890", "12345678901234567000"],
    ["1.0", "1"],
    ["1e400", "null"],
    ["7.5", "7.5"],
  ])("a number is written as JavaScript writes it: %s", async (number, written) => {
    const rawJson: unknown = Reflect.get(JSON, "rawJSON");
    Reflect.set(JSON, "rawJSON", undefined);
    onTestFinished(() => void Reflect.set(JSON, "rawJSON", rawJson));
    const sent = await sentText(`{"model":"doodle","prompt":"a fox","x":[${number}]}`, ({ post }) => post);
    expect(sent).toContain(`"x":[${written}]`);
  });
});

describe("a number in a field that is interpreted keeps its rules", () => {
  it.each([
    ["n as 2.0", '"n":2.0', '"max_images":2'],
    ["n as 2e0", '"n":2e0', '"max_images":2'],
    ["n as -0", '"n":-0', '"prompt"'],
    [
      "max_images as 3.0",
      '"sequential_image_generation":"auto","sequential_image_generation_options":{"max_images":3.0}',
      '"max_images":3',
    ],
  ])("%s", async (_what, fields, expected) => {
    const sent = await sentText(`{"model":"doodle","prompt":"a fox",${fields}}`, ({ post }) => post);
    expect(sent).toContain(expected);
    expect(sent).not.toContain('"n":');
  });

  it.each([
    ["n beyond 2^53", '"n":9007199254740993', "n"],
    ["n beyond all", '"n":1e400', "n"],
    ["n with a part", '"n":2.50', "n"],
    ["seed beyond all", '"seed":1e400', "seed"],
    ["a number for options", '"optimize_prompt_options":1.0', "optimize_prompt_options"],
    [
      "a number for batch options",
      '"sequential_image_generation_options":1.0',
      "sequential_image_generation_options",
    ],
    ["a number for the prompt", '"prompt":1.0', "prompt"],
    ["a number for the size", '"size":1.0', "size"],
    ["a number for an image", '"image":[1.0]', "image"],
    ["a number for the model", '"model":1.0', "model"],
  ])("and is a 400 that names it: %s", async (_what, field, param) => {
    const { post, calls } = createTestGateway();
    const names = Object.keys(JSON.parse(`{${field}}`) as object);
    const rest = ['"model":"doodle"', '"prompt":"a fox"'].filter((text) => !text.startsWith(`"${names[0]}"`));
    const response = await post(`{${[...rest, field].join(",")}}`);
    expect(response).toMatchObject({ status: 400, body: { error: { param } } });
    expect(calls).toEqual([]);
  });

  it("for parameters of family B", async () => {
    const { post } = createTestGateway();
    const response = await post('{"model":"image-max","prompt":"a fox","parameters":1.0}');
    expect(response).toMatchObject({ status: 400, body: { error: { param: "parameters" } } });
  });
});
