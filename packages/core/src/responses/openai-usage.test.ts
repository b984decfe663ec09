import { describe, expect, it } from "vitest";
import type { JsonObject } from "../util/json.js";
import { withInputTokens } from "./openai-usage.js";

describe("the usage of /v1", () => {
  it.each<[string, object, number | undefined]>([
    ["both numbers", { output_tokens: 100, total_tokens: 130 }, 30],
    ["no input", { output_tokens: 100, total_tokens: 100, generated_images: 1 }, 0],
    ["no total", { output_tokens: 100 }, undefined],
    ["no output", { total_tokens: 100 }, undefined],
    ["more output than total", { output_tokens: 100, total_tokens: 99 }, undefined],
    ["numbers that are strings", { output_tokens: "1", total_tokens: "2" }, undefined],
    ["the provider's own number", { output_tokens: 100, total_tokens: 130, input_tokens: 7 }, 7],
  ])("with %s", (_what, usage, expected) => {
    const result: JsonObject = withInputTokens<JsonObject>({ ...usage });
    expect(result["input_tokens"]).toBe(expected);
    expect(result).toMatchObject(usage);
  });
});
