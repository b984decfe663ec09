import { type Decimal, describeValue, isAtMost } from "../util/decimal.js";
import { toUnitPrice, type UnitPrice } from "./charge.js";
import type { ImagePrice } from "./model-details.js";

/** What is wrong with a list of tiers, and where in the list. */
export interface TierProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Finds tiers that no image can reach, and images that no tier covers. The tiers of each quality are a list of their
 * own, in ascending order, whose last tier has no `up_to_pixels`.
 */
export function findTierProblems(tiers: readonly ImagePrice[]): readonly TierProblem[] {
  if (tiers.length === 0) return [{ path: [], message: "must hold at least one price" }];
  const problems: TierProblem[] = [];
  const lasts = new Map<string | undefined, { readonly index: number; readonly end: number | undefined }>();
  for (const [index, { quality, up_to_pixels: end }] of tiers.entries()) {
    const before = lasts.get(quality);
    if (before !== undefined && before.end === undefined) {
      const message = `is never used: tier ${before.index} has no up_to_pixels, so it covers every larger image`;
      problems.push({ path: [index], message });
      continue;
    }
    lasts.set(quality, { index, end });
    if (before?.end !== undefined && end !== undefined && end <= before.end) {
      const message = `must be above ${before.end}, where tier ${before.index} ends`;
      problems.push({ path: [index, "up_to_pixels"], message });
    }
  }
  for (const [quality, { end }] of lasts) {
    if (end === undefined) continue;
    const whose = quality === undefined ? "" : ` of quality ${JSON.stringify(quality)}`;
    problems.push({
      path: [],
      message: `needs a last tier${whose} without up_to_pixels: images above ${end} pixels have no price`,
    });
  }
  return problems;
}

/** The tiers of images or of layers. */
export interface TierTable {
  /**
   * The highest price that an image of this many pixels and this quality can have. Pixels or a quality that are
   * `undefined` are unknown; `maxPixels` bounds unknown pixels.
   */
  findHighest(image: TierQuery): TierPrice;
}

interface TierQuery {
  readonly pixels: number | undefined;
  readonly maxPixels: number | undefined;
  readonly quality: string | undefined;
}

/** The price of a tier. */
interface TierPrice {
  readonly unit: UnitPrice;
  /** The quality that the price is for. Absent: for any. */
  readonly quality: string | undefined;
}

interface Tier extends TierPrice {
  /** Infinity for the last tier. */
  readonly upToPixels: number;
}

/**
 * @param name the option, for messages
 * @throws RangeError if the tiers or their prices are not usable
 */
export function createTierTable(tiers: readonly ImagePrice[], name: string, ratio: Decimal): TierTable {
  const [problem] = findTierProblems(tiers);
  if (problem !== undefined) throw new RangeError(`${name} ${problem.message}`);
  const compiled = tiers.map((tier, index) => toTier(tier, `${name}[${index}]`, ratio));
  const lists = Map.groupBy(compiled, ({ quality }) => quality);
  const general = lists.get(undefined);

  const listsOf = (quality: string | undefined): Iterable<readonly Tier[]> => {
    const own = quality === undefined ? undefined : (lists.get(quality) ?? general);
    return own === undefined ? lists.values() : [own];
  };

  return {
    findHighest({ pixels, maxPixels = Number.POSITIVE_INFINITY, quality }) {
      let highest: Tier | undefined;
      for (const list of listsOf(quality)) {
        for (const tier of findReachable(list, pixels ?? 1, pixels ?? maxPixels)) {
          if (highest === undefined || !isAtMost(tier.unit.ofOne, highest.unit.ofOne)) highest = tier;
        }
      }
      if (highest === undefined) throw new RangeError(`${name} has no price for ${pixels} pixels`);
      return highest;
    },
  };
}

/** The tiers that images of `from` to `to` pixels can have. */
function findReachable(tiers: readonly Tier[], from: number, to: number): readonly Tier[] {
  const first = tiers.findIndex(({ upToPixels }) => from <= upToPixels);
  const last = tiers.findIndex(({ upToPixels }) => to <= upToPixels);
  return tiers.slice(first, last + 1);
}

function toTier({ up_to_pixels, quality, price }: ImagePrice, name: string, ratio: Decimal): Tier {
  if (up_to_pixels !== undefined && !(Number.isSafeInteger(up_to_pixels) && up_to_pixels >= 1)) {
    throw new RangeError(
      `${name}.up_to_pixels must be a whole number of at least 1, not ${describeValue(up_to_pixels)}`,
    );
  }
  return {
    unit: toUnitPrice(price, `${name}.price`, ratio),
    quality,
    upToPixels: up_to_pixels ?? Number.POSITIVE_INFINITY,
  };
}
