import assert from "node:assert/strict";
import { test } from "node:test";
import { calculateCharge } from "@calotype/core/billing";
import { openai } from "./openai.ts";

test("an image of gpt-image-2 costs its tokens", () => {
  const details = openai.prices["gpt-image-2"];
  const usage = { generated_images: 1, output_tokens: 1767, total_tokens: 1775 };

  // 1767 × 30 ÷ 1,000,000 + 8 × 5 ÷ 1,000,000
  assert.equal(calculateCharge({ details, usage }).amount, "0.05305");
});

test("every model has a price", () => {
  assert.deepEqual(Object.keys(openai.prices), Object.keys(openai.models));
});
