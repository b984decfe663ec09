import type { ByteRange } from "./store.js";

/** What the header `range` requests of an image. */
export type RequestedRange =
  | { readonly first: number; readonly last: number }
  | { readonly lastBytes: number };

const RANGE = /^bytes=[\t ]*(\d*)-(\d*)[\t ]*$/i;

/**
 * Reads the header `range` (RFC 9110, section 14.2). Returns `undefined` for a header that is ignored: another unit, several
 * ranges, or a wrong syntax. The response then has the whole image, as the RFC allows.
 */
export function parseRange(header: string | null): RequestedRange | undefined {
  const [matched, first = "", last = ""] = RANGE.exec(header ?? "") ?? [];
  if (matched === undefined || (first === "" && last === "")) return undefined;
  if (first === "") return { lastBytes: Number(last) };
  const range = { first: Number(first), last: last === "" ? Infinity : Number(last) };
  return range.first <= range.last ? range : undefined;
}

/** Returns the bytes that a range has of an image, or `undefined` if it has none. */
export function cutRange(range: RequestedRange, byteLength: number): ByteRange | undefined {
  const end = byteLength - 1;
  const cut =
    "lastBytes" in range
      ? { first: Math.max(0, byteLength - range.lastBytes), last: end }
      : { first: range.first, last: Math.min(range.last, end) };
  return cut.first <= cut.last ? cut : undefined;
}
