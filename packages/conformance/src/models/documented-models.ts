import {
  type Capabilities,
  type Family,
  qwenImage,
  type SizeLimits,
  seedream,
} from "@calotype/core/families";
import { readText } from "../support/workspace.js";

/*
 * The rows of a family are not public, but a test of core writes all of them to docs/models.md. The names are read from
 * that page and the limits from the family. So a new row is compared with the emulator without a change here.
 */

/** A name of a model at its provider, with the row of the model. */
export interface DocumentedModel {
  readonly name: string;
  readonly row: Capabilities;
}

export const SEEDREAM_MODELS = readModels("Seedream", seedream);
export const QWEN_IMAGE_MODELS = readModels("Qwen-Image", qwenImage);

/** The first name of each row. */
export function selectOneOfEachRow(models: readonly DocumentedModel[]): readonly DocumentedModel[] {
  return models.filter((model, index) => models.findIndex(({ row }) => row === model.row) === index);
}

function readModels(title: string, family: Family): readonly DocumentedModel[] {
  return readNames(title).map((name) => {
    const row = family.findCapabilities?.(name);
    if (row === undefined) throw new Error(`docs/models.md lists ${name}, which has no row.`);
    return { name, row };
  });
}

/** The names of the last table of a section: those at the provider, or the names of the rows if they are the same. */
function readNames(title: string): readonly string[] {
  const section = readText("docs/models.md").split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
  const table = section.split("\n\n").findLast((block) => block.startsWith("| Model |")) ?? "";
  const [head = "", , ...lines] = table.split("\n");
  const column = Math.max(1, head.split("|").indexOf(" Names at the provider "));
  const names = lines.flatMap((line) => line.split("|")[column]?.match(/[^`, ]+/g) ?? []);
  if (names.length === 0) throw new Error(`docs/models.md lists no names of ${title}.`);
  return names;
}

/** Sizes at each limit of the rows, and one step beyond it. */
export function listSizes(models: readonly DocumentedModel[], separator: string): readonly string[] {
  const limits = models.flatMap(({ row }) =>
    row.size === undefined || row.size === "none" ? [] : [row.size],
  );
  const sides = limits.flatMap(listSides).map((pair) => pair.join(separator));
  return [...new Set([...limits.flatMap(({ presets = [] }) => presets), ...sides])];
}

function listSides({
  list = [],
  totalPixels,
  side,
  maxAspectRatio = 1,
}: SizeLimits): readonly (readonly number[])[] {
  const sides: (readonly number[])[] = [...list];
  if (totalPixels !== undefined) {
    const { min, max } = totalPixels;
    const [smallest, largest] = [Math.ceil(Math.sqrt(min)), Math.floor(Math.sqrt(max))];
    sides.push(
      [smallest, smallest],
      [smallest, smallest - 1],
      [largest, largest],
      [largest + 1, largest + 1],
    );
    const short = Math.ceil(Math.sqrt(min / maxAspectRatio));
    sides.push([short * maxAspectRatio, short], [short * maxAspectRatio + 1, short]);
    sides.push([short, short * maxAspectRatio], [short, short * maxAspectRatio + 1]);
  }
  if (side !== undefined) {
    const { min, max } = side;
    sides.push([min, max], [min - 1, max], [max, min - 1], [max + 1, min]);
  }
  return sides;
}

/** Numbers of reference images at the limits of the rows, and one beyond. */
export function listReferenceCounts(models: readonly DocumentedModel[]): readonly number[] {
  return listCounts(
    models.flatMap(({ row: { references: { min = 0, max } = { max: 0 } } }) => [min - 1, min, max, max + 1]),
  );
}

/** Numbers of images at the limits of the rows, and one beyond. */
export function listImageCounts(models: readonly DocumentedModel[]): readonly number[] {
  return listCounts(models.flatMap(({ row: { imagesPerCall = 1 } }) => [imagesPerCall, imagesPerCall + 1]));
}

function listCounts(counts: readonly number[]): readonly number[] {
  return [...new Set(counts)].filter((count) => count >= 0).toSorted((a, b) => a - b);
}
