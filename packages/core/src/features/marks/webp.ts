import { joinChunks } from "../../util/join-chunks.js";
import { encodeText } from "../../util/utf8.js";
import { containsText, type HeadChange, type HeadResult, hasText, MAX_PARTS, viewOf } from "./head.js";
import { AIGC_MEMBER, type Mark } from "./mark.js";
import { markXmp } from "./xmp.js";

/** A larger image is not held, so it gets no mark. */
export const MAX_WEBP_BYTES = 16 * 1024 * 1024;
const RIFF_BYTES = 12;
const FRAME_BYTES = 8;
const VP8X_BYTES = 10;
const HAS_ALPHA = 0x10;
const HAS_XMP = 0x04;

/**
 * Reads a whole WebP image. Its XMP and its C2PA manifest are at its end, and its beginning says how long it is and whether it has
 * XMP.
 */
export function readWebp(bytes: Uint8Array, mark: Mark): HeadResult {
  if (bytes.length < RIFF_BYTES) return { needs: RIFF_BYTES };
  const view = viewOf(bytes);
  const end = 8 + view.getUint32(4, true);
  if (end < RIFF_BYTES + FRAME_BYTES || end % 2 !== 0) return { mark: "broken" };
  if (end > MAX_WEBP_BYTES) return { mark: "too_large" };
  if (bytes.length < end) return { needs: end };
  let xmp: { readonly at: number; readonly length: number } | undefined;
  let hasAigc = false;
  let first: string | undefined;
  let parts = 0;
  for (let at = RIFF_BYTES; at < end; parts++) {
    if (parts > MAX_PARTS) return { mark: "too_large" };
    if (at + FRAME_BYTES > end) return { mark: "broken" };
    const length = view.getUint32(at + 4, true);
    const next = at + FRAME_BYTES + length + (length % 2);
    if (next > end) return { mark: "broken" };
    const type = String.fromCharCode(...bytes.subarray(at, at + 4));
    first ??= type;
    if (type === "C2PA") return { mark: "c2pa" };
    if (type === "EXIF") hasAigc ||= containsText(bytes.subarray(at + FRAME_BYTES, next), AIGC_MEMBER);
    if (type === "XMP ") xmp ??= { at, length: FRAME_BYTES + length };
    at = next;
  }
  const header = first === "VP8X" ? readExtendedHeader(bytes) : writeExtendedHeader(bytes, first);
  if (header === undefined) return { mark: "broken" };
  const packet = xmp && bytes.subarray(xmp.at + FRAME_BYTES, xmp.at + xmp.length);
  const marked = markXmp(packet, mark, hasAigc);
  if (marked.mark !== "marked") return marked;
  if (marked.packet === undefined) return { mark: "marked" };
  const inserted = writeChunk("XMP ", marked.packet);
  const removed = xmp === undefined ? 0 : xmp.length + (xmp.length % 2);
  const written: HeadChange = { at: xmp?.at ?? end, removed, inserted };
  return { mark: "marked", changes: [writeSize(end, header, written), header, written] };
}

/** The length of the file without its first eight bytes. */
function writeSize(end: number, ...changes: readonly HeadChange[]): HeadChange {
  const growth = changes.reduce((sum, { removed, inserted }) => sum + inserted.length - removed, 0);
  const inserted = new Uint8Array(4);
  viewOf(inserted).setUint32(0, end - 8 + growth, true);
  return { at: 4, removed: 4, inserted };
}

/** The change of a header that says what the file has: it has XMP. `undefined` if it is not valid. */
function readExtendedHeader(bytes: Uint8Array): HeadChange | undefined {
  const at = RIFF_BYTES + FRAME_BYTES;
  if (viewOf(bytes).getUint32(RIFF_BYTES + 4, true) < VP8X_BYTES) return undefined;
  return { at, removed: 1, inserted: Uint8Array.of((bytes[at] ?? 0) | HAS_XMP) };
}

/** Such a header for a file without one, which has nothing but an image. `undefined` if that is not valid. */
function writeExtendedHeader(bytes: Uint8Array, type: string | undefined): HeadChange | undefined {
  const content = bytes.subarray(RIFF_BYTES + FRAME_BYTES);
  const size =
    type === "VP8 " ? readLossySize(content) : type === "VP8L" ? readLosslessSize(content) : undefined;
  if (size === undefined) return undefined;
  const header = new Uint8Array(VP8X_BYTES);
  const view = viewOf(header);
  view.setUint8(0, size.hasAlpha ? HAS_ALPHA | HAS_XMP : HAS_XMP);
  for (const [at, side] of [[4, size.width - 1] as const, [7, size.height - 1] as const]) {
    view.setUint16(at, side & 0xffff, true);
    view.setUint8(at + 2, side >> 16);
  }
  return { at: RIFF_BYTES, removed: 0, inserted: writeChunk("VP8X", header) };
}

interface WebpSize {
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}

/** RFC 6386, section 9.1. */
function readLossySize(content: Uint8Array): WebpSize | undefined {
  if (content.length < 10 || !hasText(content, "\u009d\u0001*", 3)) return undefined;
  const view = viewOf(content);
  const [width, height] = [view.getUint16(6, true) & 0x3fff, view.getUint16(8, true) & 0x3fff];
  return width === 0 || height === 0 ? undefined : { width, height, hasAlpha: false };
}

/** RFC 9649, section 3.4. */
function readLosslessSize(content: Uint8Array): WebpSize | undefined {
  if (content.length < 5 || content[0] !== 0x2f) return undefined;
  const bits = viewOf(content).getUint32(1, true);
  return {
    width: (bits & 0x3fff) + 1,
    height: ((bits >>> 14) & 0x3fff) + 1,
    hasAlpha: ((bits >>> 28) & 1) === 1,
  };
}

function writeChunk(type: string, data: Uint8Array): Uint8Array {
  const frame = new Uint8Array(FRAME_BYTES);
  frame.set(encodeText(type));
  viewOf(frame).setUint32(4, data.length, true);
  return joinChunks([frame, data, new Uint8Array(data.length % 2)]);
}
