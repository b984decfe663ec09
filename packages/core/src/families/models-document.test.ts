import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { SizeLimits } from "../images/size.js";
import type { ModelRow } from "./family.js";
import { QWEN_IMAGE_MODELS } from "./qwen-image/models.js";
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
  ];
  await expect(`${head}${BEGIN}${families.join("\n")}\n${END}${tail}`).toMatchFileSnapshot(PATH);
});

type Column = readonly [heading: string, cell: (row: ModelRow) => string];

const COLUMNS: readonly Column[] = [
  ["Model", ({ names }) => listCode(names)],
  ["`size`", ({ size }) => (size === "none" ? "none: leave it out" : renderSizes(size ?? {}))],
  ["Reference images", renderReferences],
  ["Images per call", ({ imagesPerCall }) => String(imagesPerCall ?? "not checked")],
];

const SEEDREAM_COLUMNS: readonly Column[] = [
  ["`stream`", ({ streaming }) => renderSupport(streaming)],
  ["`sequential_image_generation`", ({ sequentialImages }) => renderSupport(sequentialImages)],
  ["`background`", renderBackground],
  ["Layers", renderLayers],
  ["`output_format`", ({ outputFormats }) => (outputFormats ? listCode(outputFormats) : "not checked")],
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

function renderSizes({ presets = [], list = [], totalPixels, side, maxAspectRatio }: SizeLimits): string {
  const named = [...presets, ...list.map((sides) => sides.join("*"))];
  return [
    ...(named.length > 0 ? [listCode(named)] : []),
    ...(totalPixels ? [`${renderNumber(totalPixels.min)} to ${renderNumber(totalPixels.max)} pixels`] : []),
    ...(side ? [`each side ${side.min} to ${side.max}`] : []),
    ...(maxAspectRatio === undefined ? [] : [`aspect ratio up to ${maxAspectRatio}:1`]),
  ].join("; ");
}

function renderReferences({ references, maxReferencesAndImages, imagesPerCall }: ModelRow): string {
  if (references === undefined) return "not checked";
  const { min = 0, max } = references;
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

function listCode(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(", ");
}

function renderNumber(value: number): string {
  return value.toLocaleString("en-US");
}
