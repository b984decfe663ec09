import type { NormalizeContext, SizeLimits } from "@calotype/core/families";
import { chance, drawInt, drawSize, pick, type Random } from "./draw.ts";
import { mutateFields } from "./json-text.ts";
import { QWEN_IMAGE, QWEN_IMAGE_EDIT, SEEDREAM, SEEDREAM_2 } from "./requests.ts";

/** The fields of a client for one family, as the request normalizer passes them on. */
export interface FieldsCase {
  readonly family: "seedream" | "qwen-image";
  readonly operation: NormalizeContext["operation"];
  readonly model: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Absent: the caller, the model and the gateway have no default. */
  readonly defaultResponseFormat?: "url" | "b64_json";
}

const SEEDREAM_MODELS = [
  SEEDREAM,
  SEEDREAM_2,
  "seedream-5-0-lite",
  "doubao-seedream-4-5-251128",
  "ep-1",
  "seedream-5-5-261028",
  "dola-seedream-5-0-pro-260628",
];
const QWEN_MODELS = [
  QWEN_IMAGE,
  QWEN_IMAGE_EDIT,
  "image-2.0-pro",
  "image-max",
  "image-plus",
  "image-edit",
  "image-3.0",
  "qwen-image-max",
  "other",
];

/** Fields of a request: half of them valid or nearly so, the others changed in a few places. */
export function drawFieldsCase(random: Random): FieldsCase {
  const family = chance(random, 0.6) ? "seedream" : "qwen-image";
  const operation =
    family === "seedream" ? pick(random, ["generate", "generate", "edit", "native"] as const) : "generate";
  const fields = family === "seedream" ? drawSeedreamFields(random) : drawQwenFields(random);
  return {
    family,
    operation,
    model: pick(random, family === "seedream" ? SEEDREAM_MODELS : QWEN_MODELS),
    fields: chance(random, 0.5) ? fields : mutateFields(random, fields),
    ...(chance(random, 0.3) && { defaultResponseFormat: pick(random, ["url", "b64_json"] as const) }),
  };
}

function drawSeedreamFields(random: Random): Record<string, unknown> {
  return {
    prompt: drawPrompt(random),
    ...maybe(random, "n", () => drawInt(random, -1, 17)),
    ...maybe(random, "size", () => drawImageSize(random, "x")),
    ...maybe(random, "response_format", () => pick(random, ["url", "b64_json"])),
    ...maybe(random, "output_format", () => pick(random, ["png", "jpeg", "webp"])),
    ...maybe(random, "watermark", () => chance(random, 0.5)),
    ...maybe(random, "seed", () => drawInt(random, -1, 2 ** 31)),
    ...maybe(random, "guidance_scale", () => random() * 10),
    ...maybe(random, "stream", () => chance(random, 0.5)),
    ...maybe(random, "image", () => drawReferences(random, 16)),
    ...maybe(random, "sequential_image_generation", () => pick(random, ["auto", "auto", "disabled"])),
    ...maybe(random, "sequential_image_generation_options", () => ({
      ...maybe(random, "max_images", () => drawInt(random, 0, 16)),
      ...maybe(random, "other", () => drawPrompt(random)),
    })),
    ...maybe(random, "optimize_prompt_options", () => ({ mode: "fast" })),
    ...rarely(random, "layer_decomposition", () => chance(random, 0.7)),
    ...rarely(random, pick(random, ["user", "quality", "style", "background", "moderation"]), () => "auto"),
    ...rarely(random, "background", () => pick(random, ["transparent", "opaque", "blue"])),
    ...rarely(random, "tools", () => [{ type: "web_search", depth: drawInt(random, 0, 9) }]),
    ...rarely(random, "mask", () => "x"),
  };
}

function drawQwenFields(random: Random): Record<string, unknown> {
  if (chance(random, 0.5)) return drawShorthand(random);
  const references = [drawReferences(random, 4)].flat().slice(0, drawInt(random, 0, 4));
  return {
    prompt: drawPrompt(random),
    input: {
      messages: [
        {
          role: "user",
          content: [...references.map((image) => ({ image })), { text: drawPrompt(random) }],
          ...rarely(random, "name", () => "x"),
        },
      ],
      ...rarely(random, "prompt", () => "x"),
    },
    ...maybe(random, "parameters", () => drawParameters(random)),
    ...maybe(random, "response_format", () => pick(random, ["url", "b64_json"])),
    ...rarely(random, "user", () => "u"),
    ...rarely(random, "n", () => 1),
  };
}

function drawParameters(random: Random): Record<string, unknown> {
  return {
    ...maybe(random, "size", () => drawImageSize(random, "*")),
    ...maybe(random, "n", () => drawInt(random, 0, 7)),
    ...maybe(random, "watermark", () => chance(random, 0.5)),
    ...maybe(random, "negative_prompt", () => drawPrompt(random)),
    ...maybe(random, "seed", () => drawInt(random, 0, 2 ** 31)),
  };
}

function drawShorthand(random: Random): Record<string, unknown> {
  return {
    prompt: drawPrompt(random),
    ...maybe(random, "n", () => drawInt(random, -1, 7)),
    ...maybe(random, "size", () => drawImageSize(random, pick(random, ["x", "*"]))),
    ...maybe(random, "image", () => drawReferences(random, 4)),
    ...maybe(random, "watermark", () => chance(random, 0.5)),
    ...maybe(random, "prompt_extend", () => chance(random, 0.5)),
    ...rarely(random, "negative_prompt", () => drawPrompt(random)),
    ...rarely(random, "seed", () => drawInt(random, 0, 2 ** 31)),
    ...rarely(random, "parameters", () => drawParameters(random)),
    ...maybe(random, "response_format", () => pick(random, ["url", "b64_json"])),
    ...rarely(random, "user", () => "u"),
    ...rarely(random, "images", () => []),
  };
}

const WORDS = [
  "fox",
  "red",
  "a",
  "橘猫",
  "é",
  "😀",
  "\n",
  '"',
  "\\",
  "\u2028",
  "\0",
  "__proto__",
  "3",
  "of",
  "in",
  "the",
  "snow",
];

function drawPrompt(random: Random): string {
  return Array.from({ length: drawInt(random, 1, 8) }, () => pick(random, WORDS)).join(" ");
}

/** Sizes in pixels near the limits of models, presets in any letter case, and texts like them. */
function drawImageSize(random: Random, separator: "x" | "*"): string {
  const kind = random();
  if (kind < 0.25)
    return pick(random, ["1K", "1.5K", "2K", "3K", "4K", "2k", "5K", "auto", "adaptive", "AUTO"]);
  if (kind < 0.35) return pick(random, ["1664*928", "1328*1328", "1328x1328", "928*1664", "1472*1104"]);
  const width = drawSide(random);
  const height = chance(random, 0.3)
    ? Math.ceil(pick(random, [3_686_400, 16_777_216, 921_600, 262_144]) / width)
    : drawSide(random);
  if (kind < 0.9) return `${width}${separator}${height}`;
  const other = pick(random, ["X", "×", " x ", "*", "x", "by", "", "-"]);
  return pick(random, [
    `${width}${other}${height}`,
    `0${width}${separator}${height}`,
    `${width}${separator}${height}\n`,
    `${width}.0${separator}${height}`,
    `-${width}${separator}${height}`,
    `${width}${separator}`,
    `${width}0000000${separator}${height}`,
  ]);
}

function drawSide(random: Random): number {
  return chance(random, 0.3)
    ? pick(random, [1, 256, 512, 928, 1024, 1328, 2048, 4096, 16_384])
    : drawInt(random, 1, 8_192);
}

/** One reference image or a list of them. */
function drawReferences(random: Random, max: number): string | string[] {
  if (chance(random, 0.3)) return drawReference(random);
  return Array.from(
    { length: drawInt(random, chance(random, 0.05) ? 0 : 1, chance(random, 0.2) ? max : 3) },
    () => drawReference(random),
  );
}

const MEDIA_TYPES = [
  "image/png",
  "image/jpeg",
  "IMAGE/PNG",
  "image/webp",
  "image/heic",
  "image/svg+xml",
  "text/html",
  "image/",
  "/png",
  "image",
  "image/png;a=b",
];
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ODD_REFERENCES = [
  "",
  " ",
  "data:",
  "data:,",
  "data:image/png,abc",
  "data:image/png;base64,",
  "DATA:image/png;base64,AAAA",
  "data:image/png;base64,AA=A",
  "data:image/png;base64,A===",
  "data:image/png;base64,AA==\n",
  "data:image/png;base64,é",
  "ftp://images.example/a.png",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "//images.example/a.png",
  "https://",
  "https:images.example",
  "http://[",
  "https://user:secret@images.example/a",
  "HTTPS://images.example/A.png",
  "http:\\\\images.example",
];

/** A link or a data URL; one of ten is not usable. */
export function drawReference(random: Random): string {
  const kind = random();
  if (kind < 0.06) return pick(random, ODD_REFERENCES);
  if (kind < 0.5)
    return `${pick(random, ["https", "http"])}://images.example/${drawInt(random, 0, 99_999)}.png`;
  const type = chance(random, 0.9)
    ? pick(random, ["image/png", "image/jpeg", "image/webp", "image/gif"])
    : pick(random, MEDIA_TYPES);
  const length = 1 + drawSize(random, 30, 400);
  const content = Array.from({ length }, () => BASE64[drawInt(random, 0, 63)]).join("");
  return `data:${type};base64,${content}${pick(random, ["", "=", "=="])}`;
}

/** The field in four of ten cases. */
function maybe(random: Random, name: string, draw: () => unknown): Record<string, unknown> {
  return chance(random, 0.4) ? { [name]: draw() } : {};
}

/** The field in one of 20 cases. */
function rarely(random: Random, name: string, draw: () => unknown): Record<string, unknown> {
  return chance(random, 0.05) ? { [name]: draw() } : {};
}

/** A size and the limits of a model. */
export interface SizeCase {
  readonly size: string;
  readonly limits: SizeLimits;
  readonly separator: "x" | "*";
}

export function drawSizeCase(random: Random): SizeCase {
  const separator = pick(random, ["x", "*"] as const);
  const [width, height] = [drawSide(random), drawSide(random)];
  const limits: SizeLimits = {
    ...(chance(random, 0.4) && { presets: pick(random, [[], ["2K"], ["1K", "2k", "4K"], ["Auto"]]) }),
    ...(chance(random, 0.3) && {
      list: [
        [width, height],
        [1328, 1328],
      ],
    }),
    ...(chance(random, 0.4) && { totalPixels: drawRange(random, width * height) }),
    ...(chance(random, 0.4) && { side: drawRange(random, width) }),
    ...(chance(random, 0.4) && { maxAspectRatio: drawRatio(random, width, height) }),
  };
  return {
    size: chance(random, 0.6) ? `${width}${separator}${height}` : drawImageSize(random, separator),
    limits,
    separator,
  };
}

/** A range whose ends are near the value. */
function drawRange(random: Random, value: number): { readonly min: number; readonly max: number } {
  const min = value + drawInt(random, -2, 1);
  return { min, max: min + drawInt(random, 0, 3) };
}

/** A ratio with at most one decimal place, near that of the sides. */
function drawRatio(random: Random, width: number, height: number): number {
  const tenths = Math.round((10 * Math.max(width, height)) / Math.min(width, height));
  return Math.max(10, tenths + drawInt(random, -1, 1)) / 10;
}
