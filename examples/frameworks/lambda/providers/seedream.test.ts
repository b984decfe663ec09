import assert from "node:assert/strict";
import { test } from "node:test";
import { calculateCharge } from "@calotype/core/billing";
import { seedream } from "./seedream.ts";

test("four images of seedream-4-5-251128 cost 1", () => {
  const details = seedream.prices["seedream-4-5-251128"];

  assert.equal(calculateCharge({ details, usage: { generated_images: 4 } }).amount, "1");
});

test("every model has a price", () => {
  assert.deepEqual(Object.keys(seedream.prices), Object.keys(seedream.models));
});
