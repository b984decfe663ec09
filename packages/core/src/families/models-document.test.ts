import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { SizeLimits } from "../images/size.js";
import { BFL_MODELS } from "./bfl/models.js";
import type { ModelRow } from "./capabilities.js";
import { FAL_MODELS } from "./fal/models.js";
import { GEMINI_MODELS } from "./gemini/models.js";
import { OPENAI_MODELS, OTHER_MODELS } from "./openai/models.js";
import { QWEN_IMAGE_MODELS } from "./qwen-image/models.js";
import { REPLICATE_MODELS } from "./replicate/models.js";
import { SEEDREAM_MODELS } from "./seedream/models.js";

const PATH = fileURLToPath(new URL("../../../../docs/models.md", import.meta.url));
const BEGIN = "<!-- Written by the tests from the rows of the families: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

it("docs/models.md shows the rows of all families", async () => {
  const [head, rest = ""] = readFileSync(PATH, "utf8").split(BEGIN);
  const [, tail] = rest.split(END);
  const families = [
    renderFamily("Seedream", SEEDREAM_MODELS, [...COLUMNS, ...SEEDREAM_COLUMNS]),
    renderFamily("Qwen-Image", QWEN_IMAGE_MODELS, COLUMNS),
    renderFamily("Gemini", GEMINI_MODELS, GEMINI_COLUMNS),
    renderFamily("OpenAI", OPENAI_MODELS, [...COLUMNS, ...OPENAI_COLUMNS]),
    renderFamily("Services with OpenAI's API", OTHER_MODELS, [...COLUMNS, QUALITY_COLUMN]),
    renderFamily("FLUX", BFL_MODELS, [...COLUMNS, FORMAT_COLUMN]),
    renderFamily("fal", FAL_MODELS, [...COLUMNS, FORMAT_COLUMN]),
    renderFamily("Replicate", REPLICATE_MODELS, [...COLUMNS, FORMAT_COLUMN]),
  ];
  await expect(`${head}${BEGIN}${families.join("\n")}\n${END}${tail}`).toMatchFileSnapshot(PATH);
});

type Column = readonly [heading: string, cell: (row: ModelRow) => string];

const COLUMNS: readonly Column[] = [
  ["Model", ({ names }) => listCode(names)],
  ["`size`", (row) => (row.size === "none" ? "none: leave it out" : renderSizes(row.size ?? {}, row))],
  ["Reference images", renderReferences],
  ["Images per call", ({ imagesPerCall }) => String(imagesPerCall ?? "not checked")],
];

const FORMAT_COLUMN: Column = [
  "`output_format`",
  ({ outputFormats }) => (outputFormats ? listCode(outputFormats) : "not checked"),
];

const SEEDREAM_COLUMNS: readonly Column[] = [
  ["`stream`", ({ streaming }) => renderSupport(streaming)],
  ["`sequential_image_generation`", ({ sequentialImages }) => renderSupport(sequentialImages)],
  ["`background`", renderBackground],
  ["Layers", renderLayers],
  FORMAT_COLUMN,
];

const GEMINI_COLUMNS: readonly Column[] = [
  ["Model", ({ names }) => listCode(names)],
  ["Tiers", ({ size }) => (size === "none" ? "none" : listCode(size?.presets ?? ["1K"]))],
  ["Sizes of 1K; other tiers are half, twice and four times as wide and high", renderSizesOf1K],
  ["Reference images", renderReferences],
  ["Images per call", ({ imagesPerCall }) => String(imagesPerCall)],
  ["Tokens of an image", ({ outputTokens = {} }) => renderTokens(outputTokens)],
  ["Bound of text and thoughts", ({ textTokens }) => renderCount(textTokens)],
  ["Bound of a reference image", ({ referenceTokens }) => renderCount(referenceTokens)],
];

const QUALITY_COLUMN: Column = [
  "`quality`",
  ({ qualities }) => (qualities ? listCode([...qualities, "auto"]) : "not checked"),
];

const OPENAI_COLUMNS: readonly Column[] = [
  QUALITY_COLUMN,
  ["`background`", renderBackground],
  FORMAT_COLUMN,
  ["Most tokens of an image", ({ outputTokens = {} }) => renderTokens(outputTokens)],
  ["Bound of a reference image", ({ referenceTokens }) => renderCount(referenceTokens)],
];

const NOTE_COLUMNS: readonly Column[] = [
  ["Model", ({ names }) => listCode(names)],
  ["Released", ({ released = "" }) => released],
  ["Names at the provider", ({ upstreamNames = [] }) => listCode(upstreamNames)],
  ["Also good to know", ({ note = "" }) => note],
  ["As of", ({ checked }) => checked],
];

function renderFamily(title: string, rows: readonly ModelRow[], columns: readonly Column[]): string {
  const sources = [...new Set(rows.map(({ source }) => source))];
  const notes = NOTE_COLUMNS.filter(([, cell]) => rows.some((row) => cell(row) !== ""));
  return [
    `## ${title}\n`,
    `Source: ${sources.join("; ")}.\n`,
    renderTable(rows, columns),
    renderTable(rows, notes),
  ].join("\n");
}

function renderTable(rows: readonly ModelRow[], columns: readonly Column[]): string {
  const lines = [
    columns.map(([heading]) => heading),
    columns.map(() => "---"),
    ...rows.map((row) => columns.map(([, cell]) => cell(row))),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** Qwen-Image writes sizes with an asterisk. */
function renderSizes(
  { presets = [], list = [], totalPixels, side, maxAspectRatio, multipleOf }: SizeLimits,
  row: ModelRow,
): string {
  const separator = QWEN_IMAGE_MODELS.includes(row) ? "*" : "x";
  const named = [...presets, ...list.map((sides) => sides.join(separator))];
  const rules = [
    ...(named.length > 0 ? [listCode(named)] : []),
    ...(totalPixels ? [`${renderNumber(totalPixels.min)} to ${renderNumber(totalPixels.max)} pixels`] : []),
    ...(side ? [`each side ${side.min} to ${side.max}`] : []),
    ...(maxAspectRatio === undefined ? [] : [`aspect ratio up to ${maxAspectRatio}:1`]),
    ...(multipleOf === undefined ? [] : [`multiples of ${multipleOf}`]),
  ];
  return rules.length === 0 ? "not checked" : rules.join("; ");
}

function renderReferences({ references, maxReferencesAndImages, imagesPerCall }: ModelRow): string {
  if (references === undefined) return "not checked";
  const { min = 0, max } = references;
  if (max === 0) return "none";
  const isTotalUseful = maxReferencesAndImages !== undefined && imagesPerCall !== 1;
  return `${min} to ${max}${isTotalUseful ? `; references and images together at most ${maxReferencesAndImages}` : ""}`;
}

function renderSupport(isSupported: boolean | undefined): string {
  if (isSupported === undefined) return "not checked";
  return isSupported ? "yes" : "refused";
}

function renderBackground({ background }: ModelRow): string {
  if (background === undefined) return "not sent";
  const values = listCode(background.values);
  return background.transparentNeedsPng === true
    ? `${values}; \`transparent\` needs a PNG with an alpha channel as a reference`
    : values;
}

function renderLayers({ layers }: ModelRow): string {
  if (layers === undefined) return "not checked";
  if (layers === "none") return "none";
  return `up to ${layers.max}${layers.sizes ? `; \`size\` ${listCode(layers.sizes)}` : ""}`;
}

function renderSizesOf1K({ size }: ModelRow): string {
  const list = size === undefined || size === "none" ? [] : (size.list ?? []);
  const of1K = list.filter(([width, height]) => width * height > 500_000 && width * height < 2_000_000);
  return listCode(of1K.map((sides) => sides.join("x")));
}

function renderTokens(tokens: Readonly<Record<string, number>>): string {
  return Object.entries(tokens)
    .map(([size, count]) => `${size}: ${renderNumber(count)}`)
    .join(", ");
}

function renderCount(count: number | undefined): string {
  return count === undefined ? "not known" : renderNumber(count);
}

function listCode(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(", ");
}

function renderNumber(value: number): string {
  return value.toLocaleString("en-US");
}
