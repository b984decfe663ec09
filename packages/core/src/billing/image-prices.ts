import { countPixels } from "../images/size.js";
import type { MadeImage } from "../types.js";
import { compareDecimals, type Decimal, formatDecimal } from "../util/decimal.js";
import {
  type ChargeLine,
  type ChargeReport,
  type CountedLine,
  createRounding,
  itemize,
  type Price,
  type RequestBounds,
  toCount,
  toUnitPrice,
} from "./charge.js";
import type { ImagePrice, PerImageDetails, PriceTier } from "./model-details.js";
import { createTierTable, type TierTable } from "./price-tiers.js";

/** Prices by what was made: images by their pixels, layers, and the reference images of the request. */
export function createImagePrice(details: PerImageDetails, ratio: Decimal): Price {
  const images = createTierTable(details.image_prices, "image_prices", ratio);
  const tables: Tables = { image: images, layer: createLayerTable(details, ratio) ?? images };
  const reference = toUnitPrice(details.reference_image_price ?? "0", "reference_image_price", ratio);
  const free = toCount(details.free_reference_images, "free_reference_images") ?? 0;
  const facts = {
    pricing_mode: "per-request",
    group_ratio: formatDecimal(ratio),
    rounding: createRounding(details.decimal_places),
  } as const;

  const countReferences = (
    { referenceImages = 0 }: Partial<RequestBounds>,
    calls: number,
  ): readonly CountedLine[] => [
    {
      what: "reference_image",
      count: Math.max(0, referenceImages - free) * calls,
      source: "request",
      unit: reference,
    },
  ];

  return {
    charge(report) {
      const { request = {}, callsWithImages = 1 } = report;
      const lines = chargeImages(countImages(report), tables, request);
      const isMade = lines.some(({ count }) => count > 0);
      return itemize([...lines, ...(isMade ? countReferences(request, callsWithImages) : [])], facts);
    },
    estimate(request) {
      const { maxImages, maxLayers = 0, upstreamCalls = 1 } = request;
      const layers = Math.min(maxLayers, maxImages);
      const most: readonly ImageCount[] = [
        { what: "image", count: maxImages - layers, source: "request" },
        { what: "layer", count: layers, source: "request" },
      ];
      const lines = most.map((count) => toLine(count, tables, request));
      return itemize([...lines, ...countReferences(request, upstreamCalls)], facts);
    },
  };
}

interface Tables {
  readonly image: TierTable;
  readonly layer: TierTable;
}

function createLayerTable({ layer_price }: PerImageDetails, ratio: Decimal): TierTable | undefined {
  if (layer_price === undefined) return undefined;
  const isList = (price: typeof layer_price): price is readonly PriceTier[] => Array.isArray(price);
  const tiers: readonly ImagePrice[] = isList(layer_price) ? layer_price : [{ price: layer_price }];
  return createTierTable(tiers, "layer_price", ratio);
}

/** Images or layers that are counted together. */
interface ImageCount {
  readonly what: "image" | "layer";
  readonly count: number;
  readonly source: ChargeLine["source"];
  /** The image, if the response holds it. */
  readonly image?: MadeImage;
}

/** What is charged: at most as many as `most`, of these. */
interface MadeCounts {
  readonly counts: readonly ImageCount[];
  readonly most: number;
}

/**
 * Counts what was made. The provider's count decides, and the images of the response say what each of them is:
 *
 * - Without a count, the images of the response count; without those, one image.
 * - A count above the images of the response: the further images are of unknown size.
 * - A count below: only that many are charged, the most expensive ones. But if it is the number of images without their
 *   layers, it does not count layers, and the layers of the response count too.
 */
function countImages({ usage, images: made = [], request = {} }: ChargeReport): MadeCounts {
  const reported = toCount(usage?.generated_images, "usage.generated_images");
  const kinds = findKinds(made, request);
  const images = kinds.filter((what) => what === "image").length;
  const areLayersApart = reported !== undefined && reported > 0 && reported === images;
  const source = reported === undefined ? "images" : "generated_images";
  const counts = made.map((image, at): ImageCount => {
    const what = kinds[at] ?? "image";
    return { what, count: 1, source: areLayersApart && what === "layer" ? "images" : source, image };
  });
  if (reported === undefined) {
    return made.length > 0
      ? { counts, most: made.length }
      : { counts: [{ what: "image", count: 1, source: "default" }], most: 1 };
  }
  if (areLayersApart) return { counts, most: made.length };
  const missing = Math.max(0, reported - made.length);
  const missingImages = Math.max(0, Math.min(missing, countMaxBases(request) - images));
  return {
    counts: [
      ...counts,
      { what: "image", count: missingImages, source },
      { what: "layer", count: missing - missingImages, source },
    ],
    most: reported,
  };
}

/**
 * Which of the images are layers. A request for layers makes a known number of other images, so further ones are
 * layers, even if the response does not say so. It makes no more layers than were requested.
 */
function findKinds(
  made: readonly MadeImage[],
  request: Partial<RequestBounds>,
): readonly ImageCount["what"][] {
  const { maxLayers = Number.POSITIVE_INFINITY } = request;
  const maxBases = countMaxBases(request);
  const layers = made.filter(({ isLayer }) => isLayer === true).length;
  const hasHiddenLayers = made.length - layers > maxBases;
  const bounded = hasHiddenLayers ? "image" : "layer";
  let room = hasHiddenLayers ? maxBases : maxLayers;
  return made.map(({ isLayer = false }) => {
    const kind = isLayer ? "layer" : "image";
    if (kind !== bounded || room-- > 0) return kind;
    return isLayer ? "image" : "layer";
  });
}

/** How many images of a request are not layers. Infinity if no layers were requested. */
function countMaxBases({
  maxImages = Number.POSITIVE_INFINITY,
  maxLayers = 0,
}: Partial<RequestBounds>): number {
  return maxLayers === 0 ? Number.POSITIVE_INFINITY : Math.max(0, maxImages - maxLayers);
}

/** One line for each price. If fewer images are charged than there are, the cheapest are left out. */
function chargeImages(
  { counts, most }: MadeCounts,
  tables: Tables,
  request: Partial<RequestBounds>,
): readonly CountedLine[] {
  const lines: CountedLine[] = [];
  for (const count of counts) addLine(lines, toLine(count, tables, request));
  let excess = lines.reduce((sum, { count }) => sum + count, 0) - most;
  if (excess <= 0) return lines;
  const kept = new Map<CountedLine, number>();
  for (const line of lines.toSorted((one, other) => compareDecimals(one.unit.ofOne, other.unit.ofOne))) {
    const dropped = Math.min(excess, line.count);
    kept.set(line, line.count - dropped);
    excess -= dropped;
  }
  return lines.map((line) => ({ ...line, count: kept.get(line) ?? line.count }));
}

/** Prices images. Pixels above the most that was requested are cut to it. */
function toLine(
  { what, count, source, image = {} }: ImageCount,
  tables: Tables,
  { maxPixels, quality: asked }: Partial<RequestBounds>,
): CountedLine {
  const made = image.size === undefined ? undefined : countPixels(image.size);
  const isCut = made !== undefined && maxPixels !== undefined && made > maxPixels;
  const pixels = isCut ? maxPixels : made;
  const stated = asked ?? image.quality;
  const { unit, quality } = tables[what].findHighest({ pixels, maxPixels, quality: stated });
  const shown = pixels ?? maxPixels;
  return {
    what,
    count,
    source,
    unit,
    ...(shown !== undefined && {
      pixels: shown,
      pixels_source: made === undefined || isCut ? "request" : "response",
    }),
    // Without a stated quality the highest price applies, and its quality is a guess.
    ...(stated !== undefined && quality !== undefined && { quality }),
  };
}

/** Adds a line to the line with the same price and origin, if there is one. */
function addLine(lines: CountedLine[], line: CountedLine): void {
  if (line.count === 0) return;
  const at = lines.findIndex(
    (other) =>
      other.what === line.what &&
      other.source === line.source &&
      other.unit === line.unit &&
      other.pixels_source === line.pixels_source,
  );
  const known = lines[at];
  if (known === undefined) {
    lines.push(line);
    return;
  }
  const pixels = Math.max(known.pixels ?? 0, line.pixels ?? 0);
  lines[at] = { ...known, count: known.count + line.count, ...(pixels > 0 && { pixels }) };
}
