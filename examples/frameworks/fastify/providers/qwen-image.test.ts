import assert from "node:assert/strict";
import { test } from "node:test";
import { calculateCharge } from "@calotype/core/billing";
import { qwenImage } from "./qwen-image.ts";

test("four images of qwen-image-max cost 2", () => {
  const details = qwenImage.prices["qwen-image-max"];

  assert.equal(calculateCharge({ details, usage: { generated_images: 4 } }).amount, "2");
});

test("every model has a price", () => {
  assert.deepEqual(Object.keys(qwenImage.prices), Object.keys(qwenImage.models));
});
