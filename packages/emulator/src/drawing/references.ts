import { heightOfBatchNumber } from "./caption.js";
import type { Print } from "./paste-print.js";
import { channelsOf, type ImageRecipe, type ReferenceImage, thumbnailSide } from "./recipe.js";
import { loadSharp } from "./sharp.js";

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The references as prints with a white border in the upper part of the image, in the order they were sent. */
export async function drawReferences(recipe: ImageRecipe): Promise<Print[]> {
  return Promise.all(
    recipe.references.map(async (reference, index) =>
      drawPrint(reference, placePrint(recipe, index), channelsOf(recipe)),
    ),
  );
}

/** The number of columns is chosen so that the prints are as large as possible. Each is in the middle of its cell. */
function placePrint(recipe: ImageRecipe, index: number): Frame {
  const count = recipe.references.length;
  const gap = Math.round(Math.min(recipe.width, recipe.height) * 0.04);
  const top = Math.max(Math.round(gap / 2), heightOfBatchNumber(recipe));
  const area = { width: recipe.width - gap, height: Math.round(recipe.height * 0.54) - top };
  const columns = bestColumns(count, area.width / area.height);
  const rows = Math.ceil(count / columns);
  const cell = { width: Math.floor(area.width / columns), height: Math.floor(area.height / rows) };
  return {
    left: gap + cell.width * (index % columns),
    top: top + Math.round(gap / 2) + cell.height * Math.floor(index / columns),
    width: Math.max(1, cell.width - gap),
    height: Math.max(1, cell.height - gap),
  };
}

function bestColumns(count: number, areaRatio: number): number {
  const smallestSide = (columns: number) => Math.min(areaRatio / columns, 1 / Math.ceil(count / columns));
  const candidates = Array.from({ length: count }, (_, index) => index + 1);
  return candidates.reduce(
    (best, columns) => (smallestSide(columns) > smallestSide(best) ? columns : best),
    1,
  );
}

async function drawPrint(reference: ReferenceImage, frame: Frame, channels: 3 | 4): Promise<Print> {
  const sharp = await loadSharp();
  const border = Math.max(1, Math.round(Math.min(frame.width, frame.height) * 0.025));
  const thumbnail = sharp(reference.thumbnail);
  const size = sizeOfPrint(reference, {
    width: Math.max(1, frame.width - border * 2),
    height: Math.max(1, frame.height - border * 2),
  });
  if (size !== "unchanged") thumbnail.resize({ ...size, fit: "fill", kernel: "linear" });
  thumbnail.flatten({ background: "#fff" }).toColourspace("srgb"); // three channels for every kind of thumbnail
  if (channels === 4) thumbnail.ensureAlpha();
  const { data, info } = await thumbnail.raw().toBuffer({ resolveWithObject: true });
  return {
    pixels: data,
    width: info.width,
    height: info.height,
    border,
    left: frame.left + Math.floor((frame.width - info.width) / 2),
    top: frame.top + Math.floor((frame.height - info.height) / 2),
  };
}

/** A smaller enlargement is hardly visible, but takes longer than everything else about a print. */
const minEnlargement = 1.5;

/** The size that fills the room. A thumbnail that nearly fills it keeps its size. */
function sizeOfPrint({ width, height }: ReferenceImage, room: { width: number; height: number }) {
  const scale = Math.min(room.width / width, room.height / height);
  const enlargement = scale / Math.min(1, thumbnailSide / Math.max(width, height));
  if (enlargement >= 1 && enlargement < minEnlargement) return "unchanged";
  return {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
  };
}
