import { invalidRequest } from "../../errors.js";
import { findNearestRatio } from "../../images/nearest-size.js";
import { countPixels, parsePixels } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";

/** How a model takes what clients send. Providers with many models have no rule for it, so each model has its own. */
export interface ModelInput {
  /** The field of the reference images, such as `image_url`, or `image_urls[]` for a list. Absent: the model takes none. */
  readonly images?: string | undefined;
  /** The field of the mask. Absent: the model takes none. */
  readonly mask?: string | undefined;
  /** Returns the fields of a size, `<width>x<height>`. Absent: the size is sent as `size`. */
  readonly size?: ((size: string) => JsonObject) | undefined;
  /** The field of the number of images of a call. Absent: the model makes one, and the row says `imagesPerCall: 1`. */
  readonly count?: string | undefined;
}

/**
 * The input of a model for a request. Reference images are links, or data URLs.
 *
 * @throws GatewayError `invalid_request_error` if the model cannot take an image of the request
 */
export function writeInput({ upstreamFields, images, mask }: ImageRequest, input: ModelInput): JsonObject {
  const { size, n, ...fields } = upstreamFields;
  const [, field, list] = /^(\w+)(\[\])?$/.exec(input.images ?? "") ?? [];
  if (images.length > 0 && field === undefined) {
    throw invalidRequest("image is not supported by this model.", "image");
  }
  if (images.length > 1 && list === undefined) {
    throw invalidRequest("This model takes one reference image.", "image");
  }
  if (mask !== undefined && input.mask === undefined) {
    throw invalidRequest("mask is not supported by this model.", "mask");
  }
  return {
    ...fields,
    ...(n !== undefined && input.count !== undefined && { [input.count]: n }),
    ...(typeof size === "string" && (input.size?.(size) ?? { size })),
    ...(images.length > 0 && field !== undefined && { [field]: list === undefined ? images[0] : images }),
    ...(mask !== undefined && input.mask !== undefined && { [input.mask]: mask }),
  };
}

/**
 * The inputs of a table with those of an operator. What the operator left out of one is that of the table, or the usual one.
 */
export function addInputs<Input extends ModelInput>(
  table: ReadonlyMap<string, Input>,
  own: Readonly<Record<string, Input>>,
  usual: Input,
): ReadonlyMap<string, Input> {
  const added = Object.entries(own).map(
    ([name, input]) => [name, { ...(table.get(name) ?? usual), ...input }] as const,
  );
  return new Map([...table, ...added]);
}

/** A size as `width` and `height`. */
export function toSides(size: string): JsonObject {
  const sides = parsePixels(size, "x");
  if (sides === undefined) throw invalidRequest("size must be <width>x<height>.", "size");
  return { width: sides[0], height: sides[1] };
}

/** The names of sizes, each with the most pixels that are nearer to it than to the next one. */
export type Tiers = readonly (readonly [most: number, tier: string])[];

/**
 * Of a model that takes no pixels: a size becomes the nearest `aspect_ratio`, and the nearest tier.
 *
 * @param field the field of the tier
 */
export function toRatio(
  ratios: readonly string[],
  tiers: Tiers = [],
  field = "resolution",
): (size: string) => JsonObject {
  return (size) => {
    const ratio = findNearestRatio(size, ratios);
    const pixels = countPixels(size);
    const [, tier] = tiers.find(([most]) => pixels !== undefined && pixels <= most) ?? [];
    return {
      ...(ratio !== undefined && { aspect_ratio: ratio }),
      ...(tier !== undefined && { [field]: tier }),
    };
  };
}
