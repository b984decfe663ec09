import { setImmediate as nextTurn } from "node:timers/promises";
import sharp from "sharp";
import { expect, it } from "vitest";
import { createPainter, limitConcurrency } from "./painter.js";
import { writeRecipe } from "./recipe.js";

it("runs at most this number of tasks at once, in order, also after failures", async () => {
  const limit = limitConcurrency(2);
  let running = 0;
  let most = 0;
  const started: number[] = [];
  const tasks = Array.from({ length: 9 }, (_, index) =>
    limit(async () => {
      started.push(index);
      running += 1;
      most = Math.max(most, running);
      await nextTurn();
      running -= 1;
      if (index === 3) throw new Error("failed");
    }),
  );
  const outcomes = await Promise.allSettled(tasks);
  expect(most).toBe(2);
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
});

it.each([
  ["full", 640, 480],
  ["plain", 640, 480],
  ["tiny", 32, 24],
] as const)("draws an image of 640 x 480 as %s with %i x %i", async (mode, width, height) => {
  const paint = createPainter(mode);
  for (const kind of ["scene", "cutout"] as const) {
    const image = await paint({ ...RECIPE, kind });
    expect(await sharp(image).metadata()).toMatchObject({ width, height, hasAlpha: kind === "cutout" });
  }
});

const RECIPE = writeRecipe({
  width: 640,
  height: 480,
  format: "png",
  kind: "scene",
  model: "any",
  prompt: "a kite",
  seed: 1,
  index: 0,
  count: 1,
  watermark: undefined,
  references: [],
});
