import type { MadeImage } from "../types.js";
import type { Writable } from "../util/writable.js";
import type { Charge, ChargeReport, Price, RequestBounds } from "./charge.js";

/** What prices depend on besides the provider's report and the number of images. */
export interface PriceBasis {
  /** What the request could make. */
  readonly request: RequestBounds;
  /** The images that were made, in order. Alike images that follow each other are one entry. */
  readonly made: readonly AlikeImages[];
  /** How many calls of the provider made an image, if the request took several. */
  readonly callsWithImages?: number | undefined;
  /** True if the whole hold was charged, because it is unknown what was made. Absent: false. */
  readonly chargesHold?: boolean | undefined;
}

/** Images about which the response says the same. */
export interface AlikeImages extends MadeImage {
  readonly count: number;
}

/** What a charge is computed from. */
export interface ChargedOutcome extends Omit<PriceBasis, "made">, Pick<ChargeReport, "usage"> {
  /** The number of images in the response to the client. */
  readonly images: number;
  readonly made: readonly MadeImage[];
}

/**
 * Computes the charge of a request that reached a provider. Returns `undefined` if nothing was made: no image came, and the
 * provider reported neither images nor tokens that have a price. A report without a count counts as one image only if an
 * image came.
 */
export function chargeOutcome(price: Price | undefined, outcome: ChargedOutcome): Charge | undefined {
  const { usage, images, made, request, callsWithImages, chargesHold = false } = outcome;
  if (chargesHold) return price?.estimate(request);
  if (images === 0 && usage === undefined) return undefined;
  const charge = price?.charge({ usage, images: made, request, callsWithImages });
  if (images > 0 || charge === undefined || usage?.generated_images) return charge;
  const { derivation } = charge;
  const isReported =
    derivation.pricing_mode === "per-request"
      ? usage?.generated_images !== undefined
      : derivation.unpriced !== true;
  return isReported ? charge : undefined;
}

/** A record has a bounded size, whatever the provider sends. */
const MAX_ENTRIES = 32;
const MAX_LETTERS = 64;

/** Returns `undefined` if every price is 0 for this outcome, or if its images differ more than a record can say. */
export function toPriceBasis(outcome: ChargedOutcome): PriceBasis | undefined {
  const { usage, images, request, callsWithImages, chargesHold = false } = outcome;
  if (!chargesHold && images === 0 && usage === undefined) return undefined;
  const made = joinAlike(outcome.made);
  const isLong = made.some(({ size = "", quality = "" }) => size.length + quality.length > MAX_LETTERS);
  if (made.length > MAX_ENTRIES || isLong) return undefined;
  const basis: Writable<PriceBasis> = { request, made };
  if (callsWithImages !== undefined) basis.callsWithImages = callsWithImages;
  if (chargesHold) basis.chargesHold = chargesHold;
  return basis;
}

function joinAlike(images: readonly MadeImage[]): readonly AlikeImages[] {
  const joined: Writable<AlikeImages>[] = [];
  for (const { size, quality, isLayer } of images) {
    const last = joined.at(-1);
    if (last !== undefined && last.size === size && last.quality === quality && last.isLayer === isLayer) {
      last.count++;
      continue;
    }
    const image: Writable<AlikeImages> = { count: 1 };
    if (size !== undefined) image.size = size;
    if (quality !== undefined) image.quality = quality;
    if (isLayer !== undefined) image.isLayer = isLayer;
    joined.push(image);
  }
  return joined;
}

/** Returns the images of a basis, one by one. */
export function listImages(made: readonly AlikeImages[]): readonly MadeImage[] {
  return made.flatMap(({ count, ...image }) => Array.from({ length: count }, () => image));
}
