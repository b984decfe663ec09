import type { Sharp } from "sharp";
import { describe, expect, it } from "vitest";
import { countColor, countDifferences, inspect } from "../test-support/images.js";
import { drawImage } from "./draw.js";
import { type ImageRecipe, type ReferenceImage, writeRecipe } from "./recipe.js";
import { loadSharp } from "./sharp.js";

type Changes = Partial<Omit<ImageRecipe, "promptHash">>;

async function draw(changes: Changes = {}) {
  const defaults = {
    width: 640,
    height: 640,
    format: "png" as const,
    kind: "scene" as const,
    model: "seedream-4-5-251128",
    prompt: "A fox under a maple tree",
    seed: 1,
    index: 0,
    count: 1,
    references: [],
    watermark: undefined,
  };
  return inspect(await drawImage(writeRecipe({ ...defaults, ...changes })));
}

async function plainReference(color: string, width = 300, height = 200): Promise<ReferenceImage> {
  const sharp = await loadSharp();
  const image = sharp({ create: { width, height, channels: 3, background: color } });
  return { thumbnail: await image.png().toBuffer(), width, height };
}

const whole = { left: 0, top: 0, right: 1, bottom: 1 };
const topHalf = { ...whole, bottom: 0.5 };
const caption = { left: 0.05, top: 0.5, right: 0.95, bottom: 0.93 };
const corner = { left: 0.6, top: 0.9, right: 1, bottom: 1 };

describe("an image", () => {
  it.each([
    [512, 512],
    [720, 1280],
    [3136, 1344],
    [7680, 480],
    [256, 4096],
    [1, 1],
    [32, 2],
  ])("of %i x %i has exactly that size, as PNG and as JPEG", async (width, height) => {
    expect(await draw({ width, height, format: "png" })).toMatchObject({
      format: "png",
      width,
      height,
      channels: 3,
    });
    expect(await draw({ width, height, format: "jpeg" })).toMatchObject({ format: "jpeg", width, height });
  });

  it("is equal for equal recipes", async () => {
    expect((await draw()).pixels.equals((await draw()).pixels)).toBe(true);
  });

  it.each<[string, Changes]>([
    ["prompt", { prompt: "A bear on a bicycle" }],
    ["seed", { seed: 2 }],
  ])("looks different for another %s", async (_name, changes) => {
    expect(countDifferences(await draw(), await draw(changes), topHalf)).toBeGreaterThan(5000);
  });

  it("shows its number in a batch", async () => {
    const [alone, first] = [await draw(), await draw({ count: 3 })];
    const topRight = { left: 0.75, top: 0, right: 1, bottom: 0.15 };
    expect(countDifferences(alone, first, topRight)).toBeGreaterThan(500);
  });

  it("writes prompts in Latin, Chinese and Japanese letters", async () => {
    const texts = ["fox", "狐狸", "狐狼", "キツネ"];
    const images = await Promise.all(texts.map((prompt) => drawLike("fox", prompt)));
    for (const [index, image] of images.entries()) {
      expect(countColor(image, [255, 255, 255])).toBeGreaterThan(300);
      for (const other of images.slice(index + 1)) {
        expect(countDifferences(image, other, caption)).toBeGreaterThan(100);
      }
    }
  });

  it("draws real glyphs, not the boxes of a missing font", async () => {
    // Boxes for two missing letters would differ only in their tiny hexadecimal digits.
    const sharp = await loadSharp();
    const render = async (text: string) => {
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80"><text x="5" y="65" font-size="64" font-family="Noto Sans SC">${text}</text></svg>`;
      const { data } = await sharp(Buffer.from(svg)).raw().toBuffer({ resolveWithObject: true });
      return data.filter((value, index) => index % 4 === 3 && value > 128).length;
    };
    const [one, dense] = [await render("一"), await render("橘")];
    expect(one).toBeGreaterThan(50);
    expect(dense).toBeGreaterThan(one * 4);
  });

  it.each([
    ["markup", "<svg onload='x'/> & \"quotes\" ]]> <!-- x -->"],
    ["control characters", "a\u0000b\u0008c\u001bd\ne\u2028f"],
    ["half a surrogate pair", "a\ud83db\udc00c\ufffe\uffff"],
    ["emoji and combining marks", "👩‍👩‍👧 🦊 e\u0301 ا ע"],
    ["nothing visible", "\u200b"],
    ["one endless word", "x".repeat(5000)],
    ["an endless text", "长".repeat(5000)],
  ])("draws a prompt of %s", async (_name, prompt) => {
    expect(await draw({ prompt })).toMatchObject({ width: 640, height: 640 });
  });

  it("carries a watermark in the bottom right corner if the recipe has one", async () => {
    const [plain, marked] = [await draw(), await draw({ watermark: "AI生成" })];
    expect(countDifferences(plain, marked, corner)).toBeGreaterThan(150);
    expect(countDifferences(plain, marked, { ...whole, bottom: 0.9 })).toBe(0);
  });

  it("shows every reference", async () => {
    const colors = ["#e02020", "#20c040", "#2040e0"];
    const references = await Promise.all(colors.map((color) => plainReference(color)));
    const image = await draw({ references, count: 2 });
    for (const color of [
      [224, 32, 32],
      [32, 192, 64],
      [32, 64, 224],
    ] as const) {
      expect(countColor(image, color)).toBeGreaterThan(5000);
    }
  });

  it.each<[string, (image: Sharp) => Sharp]>([
    ["with transparency", (image) => image.ensureAlpha().png()],
    ["of 16 bits", (image) => image.toColourspace("rgb16").png()],
    ["as JPEG", (image) => image.jpeg()],
  ])("shows references %s in their colours", async (_kind, change) => {
    const sharp = await loadSharp();
    const image = sharp({ create: { width: 300, height: 200, channels: 3, background: "#20c040" } });
    const thumbnail = await change(image).toBuffer();
    const drawn = await draw({ references: [{ thumbnail, width: 300, height: 200 }] });
    expect(countColor(drawn, [32, 192, 64])).toBeGreaterThan(5000);
  });

  it("shows a grey reference in grey", async () => {
    const sharp = await loadSharp();
    const image = sharp({ create: { width: 300, height: 200, channels: 3, background: "#808080" } });
    const thumbnail = await image.greyscale().png().toBuffer();
    const drawn = await draw({ references: [{ thumbnail, width: 300, height: 200 }] });
    expect(countColor(drawn, [128, 128, 128])).toBeGreaterThan(5000);
  });

  it.each([
    [1, 640, 640],
    [14, 640, 640],
    [14, 1600, 100],
    [14, 100, 1600],
    [3, 16, 16],
  ])("has room for %i references in %i x %i", async (count, width, height) => {
    const references = await Promise.all(
      Array.from({ length: count }, (_, index) => plainReference("#e02020", 20 + index * 20, 200)),
    );
    expect(await draw({ width, height, references, count: 2 })).toMatchObject({ width, height });
  });
});

/** The background of one prompt under the text of another. */
async function drawLike(background: string, prompt: string) {
  const base = { width: 640, height: 640, format: "png", kind: "scene" } as const;
  const recipe = writeRecipe({
    ...base,
    model: "m",
    prompt: background,
    seed: 1,
    index: 0,
    count: 1,
    references: [],
    watermark: undefined,
  });
  return inspect(await drawImage({ ...recipe, prompt }));
}

it("draws 2048 x 2048 in a fraction of a second", async () => {
  await draw({ width: 2048, height: 2048 });
  const before = process.cpuUsage();
  await Promise.all([1, 2].map((seed) => draw({ width: 2048, height: 2048, seed, format: "jpeg" })));
  // About 150 ms for both. CPU time, because a busy machine takes longer.
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
