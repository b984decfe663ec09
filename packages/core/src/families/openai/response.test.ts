import { describe, expect, it } from "vitest";
import { readTokens } from "./response.js";

describe("the tokens of OpenAI", () => {
  it.each([
    ["nothing", undefined, undefined],
    ["zeros", { input_tokens: 0, output_tokens: 0, total_tokens: 0 }, undefined],
    ["no numbers", { input_tokens: "5", total_tokens: -1 }, undefined],
    [
      "no details of the output",
      { input_tokens: 5, output_tokens: 10, total_tokens: 15 },
      { output_tokens: 10, output_image_tokens: 10, total_tokens: 15 },
    ],
    [
      "no total",
      { input_tokens: 5, output_tokens: 10 },
      { output_tokens: 10, output_image_tokens: 10, total_tokens: 15 },
    ],
    [
      "text in the output",
      { output_tokens: 10, total_tokens: 15, output_tokens_details: { image_tokens: 7, text_tokens: 3 } },
      { output_tokens: 10, output_image_tokens: 7, output_text_tokens: 3, total_tokens: 15 },
    ],
    [
      "more cached tokens than text",
      {
        input_tokens: 50,
        total_tokens: 50,
        input_tokens_details: { text_tokens: 10, image_tokens: 40, cached_tokens: 30 },
      },
      { total_tokens: 50, input_text_tokens: 0, input_image_tokens: 20, cached_input_tokens: 30 },
    ],
    [
      "more cached tokens than tokens",
      { input_tokens: 50, total_tokens: 50, input_tokens_details: { text_tokens: 10, cached_tokens: 90 } },
      { total_tokens: 50, input_text_tokens: 0, cached_input_tokens: 90 },
    ],
  ])("are read with %s", (_what, usage, tokens) => {
    expect(readTokens(usage)).toEqual(tokens);
  });
});
