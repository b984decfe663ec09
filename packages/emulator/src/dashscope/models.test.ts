import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { askDashscope, type DashscopeBody } from "../test-support/ask.js";
import { dataUrl } from "../test-support/images.js";

const pro3 = "qwen-image-3.0-pro";
const v3 = "qwen-image-3.0";
const pro2 = "qwen-image-2.0-pro";
const v2 = "qwen-image-2.0";
const max = "qwen-image-max";
const plus = "qwen-image-plus";
const editMax = "qwen-image-edit-max";
const editPlus = "qwen-image-edit-plus";
const edit = "qwen-image-edit";
const columns = [pro3, v3, pro2, v2, max, plus, editMax, editPlus, edit] as const;

const link = "https://example.com/a.png";
const square = await dataUrl();
const wide = await dataUrl({ width: 400, height: 200 });

/** The last image is wide, if there is one. Edit models get an image unless the row says how many. */
function imagesFor(model: string, images: readonly string[] | undefined): readonly string[] {
  return images ?? (model.includes("edit") ? [square] : []);
}

describe("the names of DashScope's models", () => {
  it.each([
    ...columns,
    "qwen-image-3.0-pro-2026-07-20",
    "qwen-image-3.0-2026-08-04",
    "qwen-image-2.0-pro-2026-06-22",
    "qwen-image-2.0-2026-03-03",
    "qwen-image-max-2025-12-30",
    "qwen-image-plus-2026-01-09",
    "qwen-image-edit-max-2026-01-16",
    "qwen-image-edit-plus-2025-12-15",
  ])("include %s", async (model) => {
    const { status } = await askDashscope(createEmulator(), { model, images: imagesFor(model, undefined) });
    expect(status).toBe(200);
  });

  it.each([
    "qwen-image",
    "qwen-image-3.0-plus",
    "qwen-image-4.0",
    "qwen-image-maximal",
    "qwen-image-max-2025",
    "qwen-image-edit-2",
    "qwen-image-edit-2025-12-15",
    "image-2.0",
    "doubao-seedream-4-5-251128",
  ])("do not include %s", async (model) => {
    const { status, body } = await askDashscope(createEmulator(), { model });
    expect([status, body.code]).toEqual([404, "ModelNotFound"]);
  });
});

const all = (cell: string) => columns.map(() => cell);
/** Cells for 3.0 (pro and not), 2.0 (pro and not), max and plus, edit-max and edit-plus, edit. */
const byKind = (on3: string, on2: string, onMax: string, onEditMax: string, onEdit: string) =>
  [on3, on3, on2, on2, onMax, onMax, onEditMax, onEditMax, onEdit] as const;
const usual = byKind("1 2048*2048", "1 2048*2048", "1 1664*928", "1 1024*1024", "1 1024*1024");
const five = "The size does not match the allowed size 1664*928,1472*1104,1328*1328,1104*1472,928*1664";
const pixels = (most: string) => `The total pixels of the size should be between 512*512 and ${most}`;
const sides = "The width and height of the size should be between 512 and 2048";
const count = (allowed: string) => `num_images_per_prompt must be ${allowed}`;
const single = count("1");
const upToSix = count("between 1 and 6");
const notThinking = "enable_thinking must be false if prompt_extend is false";

interface Row {
  readonly parameters?: object;
  readonly text?: string;
  readonly images?: readonly string[];
}

const rows: readonly (readonly [string, Row, readonly string[]])[] = [
  ["nothing", {}, usual],
  ["size null", { parameters: { size: null } }, usual],
  [
    "a last image of 2:1",
    { images: [square, wide] },
    byKind("1 2896*1440", "1 2896*1440", "1 1664*928", "1 1456*720", "1 1456*720"),
  ],
  [
    "a prompt of 2:1",
    { text: "a fox, 2:1" },
    byKind("1 2896*1440", "1 2048*2048", "1 1664*928", "1 1024*1024", "1 1024*1024"),
  ],
  [
    "size 512*512",
    { parameters: { size: "512*512" } },
    byKind("1 512*512", "1 512*512", five, "1 512*512", "1 1024*1024"),
  ],
  [
    "size 511*512",
    { parameters: { size: "511*512" } },
    byKind(pixels("2560*2560"), pixels("2048*2048"), five, sides, "1 1024*1024"),
  ],
  [
    "size 2048*2048",
    { parameters: { size: "2048*2048" } },
    byKind("1 2048*2048", "1 2048*2048", five, "1 2048*2048", "1 1024*1024"),
  ],
  [
    "size 2049*2048",
    { parameters: { size: "2049*2048" } },
    byKind("1 2049*2048", pixels("2048*2048"), five, sides, "1 1024*1024"),
  ],
  [
    "size 2560*2560",
    { parameters: { size: "2560*2560" } },
    byKind("1 2560*2560", pixels("2048*2048"), five, sides, "1 1024*1024"),
  ],
  [
    "size 2561*2560",
    { parameters: { size: "2561*2560" } },
    byKind(pixels("2560*2560"), pixels("2048*2048"), five, sides, "1 1024*1024"),
  ],
  [
    "size 4096*512",
    { parameters: { size: "4096*512" } },
    byKind("1 4096*512", "1 4096*512", five, sides, "1 1024*1024"),
  ],
  [
    "size 512*4097",
    { parameters: { size: "512*4097" } },
    byKind(
      "The aspect ratio of the size should be between 1:8 and 8:1",
      "1 512*4097",
      five,
      sides,
      "1 1024*1024",
    ),
  ],
  [
    "size 1664*928",
    { parameters: { size: "1664*928" } },
    byKind("1 1664*928", "1 1664*928", "1 1664*928", "1 1664*928", "1 1024*1024"),
  ],
  ["size 1024x1024", { parameters: { size: "1024x1024" } }, all("<width>*<height>").with(8, "1 1024*1024")],
  ["n 1", { parameters: { n: 1 } }, usual],
  ["n 0", { parameters: { n: 0 } }, byKind(upToSix, upToSix, single, upToSix, single)],
  ["n 2", { parameters: { n: 2 } }, byKind("2 2048*2048", "2 2048*2048", single, "2 1024*1024", single)],
  ["n 6", { parameters: { n: 6 } }, byKind("6 2048*2048", "6 2048*2048", single, "6 1024*1024", single)],
  ["n 7", { parameters: { n: 7 } }, byKind(upToSix, upToSix, single, upToSix, single)],
  [
    "no image",
    { images: [] },
    byKind(
      "1 2048*2048",
      "1 2048*2048",
      "1 1664*928",
      "The content should contain 1 to 3 images",
      "The content should contain 1 to 3 images",
    ),
  ],
  ["three images", { images: [link, link, square] }, usual],
  [
    "four images",
    { images: [link, link, link, link] },
    byKind("0 to 3 images", "0 to 3 images", "0 to 3 images", "1 to 3 images", "1 to 3 images"),
  ],
  ["prompt_extend false", { parameters: { prompt_extend: false } }, usual],
  ["prompt_extend 1", { parameters: { prompt_extend: 1 } }, all("prompt_extend must be").with(8, usual[8])],
  [
    "enable_thinking 1",
    { parameters: { enable_thinking: 1 } },
    [...all("enable_thinking must be a boolean").slice(0, 2), ...usual.slice(2)],
  ],
  ["enable_thinking true", { parameters: { enable_thinking: true } }, usual],
  ["enable_thinking false", { parameters: { enable_thinking: false, prompt_extend: false } }, usual],
  [
    "enable_thinking without prompt_extend",
    { parameters: { enable_thinking: true, prompt_extend: false } },
    [notThinking, notThinking, ...usual.slice(2)],
  ],
  ["prompt_extend_mode direct", { images: [square], parameters: { prompt_extend_mode: "direct" } }, usual],
  ["prompt_extend_mode agent", { parameters: { prompt_extend_mode: "agent" } }, usual],
  [
    "prompt_extend_mode agent with an image",
    { images: [square], parameters: { prompt_extend_mode: "agent" } },
    [...all("prompt_extend_mode must be direct if").slice(0, 2), ...usual.slice(2)],
  ],
  [
    "prompt_extend_mode other",
    { parameters: { prompt_extend_mode: "other" } },
    [...all("prompt_extend_mode must be direct or agent").slice(0, 2), ...usual.slice(2)],
  ],
];

/** The number of images and their size, or the message of the error. */
function summarize({ message, usage = {}, output }: DashscopeBody): string {
  if (message !== undefined) return message;
  const { width = usage.output_width, height = usage.output_height } = usage;
  return `${output.choices[0]?.message.content.length} ${width}*${height}`;
}

describe.each(rows)("%s", (_name, { images, ...row }, cells) => {
  it.each(columns.map((model, index) => [model, cells[index] ?? ""]))("on %s: %s", async (model, cell) => {
    const emulator = createEmulator({ images: "tiny" });
    const request = { model, images: imagesFor(model, images), ...row };
    const { status, body } = await askDashscope(emulator, request);
    expect([status, body.code]).toEqual(
      /^\d \d+\*/.test(cell) ? [200, undefined] : [400, "InvalidParameter"],
    );
    expect(summarize(body)).toContain(cell);
  });
});

describe("usage", () => {
  it.each([pro3, v3, pro2, v2])("of %s counts input and output images", async (model) => {
    const request = { model, images: [square, square], parameters: { n: 3 } };
    const { body } = await askDashscope(createEmulator({ images: "tiny" }), request);
    expect(body.usage).toStrictEqual({
      input_image_count: 2,
      output_image_count: 3,
      output_width: 2048,
      output_height: 2048,
    });
  });

  it.each([
    [max, { width: 1664, height: 928, image_count: 1 }],
    [plus, { width: 1664, height: 928, image_count: 1 }],
    [editMax, { width: 1024, height: 1024, image_count: 1 }],
    [editPlus, { width: 1024, height: 1024, image_count: 1 }],
    [edit, { width: 1024, height: 1024, image_count: 1 }],
  ])("of %s counts images", async (model, usage) => {
    const request = { model, images: imagesFor(model, undefined) };
    const { body } = await askDashscope(createEmulator({ images: "tiny" }), request);
    expect(body.usage).toStrictEqual(usage);
  });
});

describe("a prompt", () => {
  /** A prompt that contains this word is refused. It has 5 tokens. */
  const REFUSED = "DataInspectionFailed";

  it.each([
    [pro3, 4500, "tokens", 5],
    [v3, 4500, "tokens", 5],
    [pro2, 1300, "tokens", 5],
    [v2, 1300, "tokens", 5],
    [max, 800, "characters", REFUSED.length],
    [plus, 800, "characters", REFUSED.length],
    [editMax, 800, "characters", REFUSED.length],
    [editPlus, 800, "characters", REFUSED.length],
    [edit, 800, "characters", REFUSED.length],
  ])("on %s is truncated after %i %s", async (model, limit, _unit, length) => {
    const emulator = createEmulator({ images: "tiny" });
    const askFor = async (text: string) =>
      (await askDashscope(emulator, { model, text, images: imagesFor(model, undefined) })).status;
    expect(await askFor("狐".repeat(limit - length) + REFUSED)).toBe(400);
    expect(await askFor("狐".repeat(limit - length + 1) + REFUSED)).toBe(200);
  });

  it("has up to four Latin characters in a token", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const askFor = async (text: string) => (await askDashscope(emulator, { text })).status;
    expect(await askFor("a".repeat(4 * 1295) + REFUSED)).toBe(400);
    expect(await askFor("a".repeat(4 * 1296) + REFUSED)).toBe(200);
  });
});
