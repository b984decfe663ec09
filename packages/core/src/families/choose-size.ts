import { type GatewayError, invalidRequest } from "../errors.js";
import { findNearestSize, type WantedSize } from "../images/nearest-size.js";
import type { SizeLimits } from "../images/size.js";

/** The fields of a request that say its size. */
export interface SizeFields {
  readonly size?: string | undefined;
  /** Read if there is no `size`, such as `16:9`. */
  readonly aspect_ratio?: unknown;
  /** Read if there is no `size`, such as `2K`. */
  readonly resolution?: unknown;
}

/** The size to send with the option `sizes: "nearest"`. */
export interface ChosenSize {
  /** `<width>x<height>`, a preset of the model, or the client's own size if it cannot be read. Absent: none is sent. */
  readonly size?: string | undefined;
  /** The size, if it is not the one that the client asked for. */
  readonly replacedSize?: string | undefined;
  /** The fields that the size was read from. They are not forwarded as they are. */
  readonly read: readonly string[];
  /** The fields that have no effect, because the model accepts no size. */
  readonly ignored: readonly string[];
}

/** True for a size that means the provider's default. */
export function isDefaultSize(size: unknown): boolean {
  return size === "auto" || size === "adaptive";
}

/**
 * Chooses the size that the model accepts and that is nearest to the client's. A size that cannot be read stays as it is,
 * and the strict check refuses it.
 *
 * @param limits absent: the family accepts any size, so the client's stays as it is
 * @throws GatewayError `invalid_request_error` for an `aspect_ratio` or a `resolution` that cannot be read
 */
export function chooseNearestSize(fields: SizeFields, limits: SizeLimits | "none" | undefined): ChosenSize {
  const size = isDefaultSize(fields.size) ? undefined : fields.size;
  const read: readonly SizeField[] =
    size === undefined ? RATIO_FIELDS.filter((name) => fields[name] !== undefined) : ["size"];
  if (limits === "none") return { read, ignored: read };
  const wanted = size === undefined ? readRatioFields(fields) : { size };
  if (wanted === undefined) return { read, ignored: [] };
  const isKept = limits === undefined && (size !== undefined || wanted.size === fields.resolution);
  const found = isKept ? wanted.size : (findNearestSize(wanted, limits ?? {}) ?? wanted.size);
  const isSame = found.toLowerCase() === wanted.size.toLowerCase().replace("*", "x");
  return { size: found, replacedSize: isKept || isSame ? undefined : found, read, ignored: [] };
}

type SizeField = keyof SizeFields;

const RATIO_FIELDS = ["aspect_ratio", "resolution"] as const;

function readRatioFields(fields: SizeFields): WantedSize | undefined {
  const [ratio, resolution] = RATIO_FIELDS.map((name) => readField(name, fields[name]));
  // A ratio says no number of pixels, so it is not a resolution.
  if (ratio !== undefined && findNearestSize({ size: ratio, resolution }, {}) === undefined) {
    throw unreadable("resolution");
  }
  if (ratio !== undefined) return { size: ratio, resolution };
  return resolution === undefined ? undefined : { size: resolution };
}

function readField(name: (typeof RATIO_FIELDS)[number], value: unknown): string | undefined {
  if (value === undefined || isDefaultSize(value)) return undefined;
  if (typeof value === "string" && findNearestSize({ size: value }, {}) !== undefined) return value;
  throw unreadable(name);
}

function unreadable(name: (typeof RATIO_FIELDS)[number]): GatewayError {
  return invalidRequest(`${name} must be a string such as ${EXAMPLES[name]}.`, name);
}

const EXAMPLES = { aspect_ratio: '"16:9"', resolution: '"2K"' } as const;
