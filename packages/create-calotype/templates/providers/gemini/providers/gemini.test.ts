import assert from "node:assert/strict";
import { test } from "node:test";
import { calculateCharge } from "@calotype/core/billing";
import { gemini } from "./gemini.ts";

test("an image of gemini-nano-banana-2.1 costs its tokens", () => {
  const details = gemini.prices["gemini-nano-banana-2.1"];
  const usage = { generated_images: 1, output_tokens: 1120, total_tokens: 1128 };

  // 1120 × 30 ÷ 1,000,000 + 8 × 1.5 ÷ 1,000,000
  assert.equal(calculateCharge({ details, usage }).amount, "0.033612");
});

test("every model has a price", () => {
  assert.deepEqual(Object.keys(gemini.prices), Object.keys(gemini.models));
});
