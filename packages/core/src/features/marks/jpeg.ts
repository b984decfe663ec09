import { joinChunks } from "../../util/join-chunks.js";
import { encodeText } from "../../util/utf8.js";
import { containsText, type HeadChange, type HeadResult, hasText, MAX_PARTS, viewOf } from "./head.js";
import { AIGC_MEMBER, type Mark } from "./mark.js";
import { markXmp, withoutPadding } from "./xmp.js";

const XMP = "http://ns.adobe.com/xap/1.0/\0";
const EXIF = "Exif\0\0";
/** A segment has its length in two bytes, which count too. */
const MAX_SEGMENT_BYTES = 65_533;

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const APP0 = 0xe0;
const APP1 = 0xe1;
const APP11 = 0xeb;

/**
 * Reads a JPEG up to its first scan, before which all of its metadata is. The XMP is a segment after those of JFIF and Exif. Extended
 * XMP, which is in segments of its own, stays.
 */
export function readJpeg(bytes: Uint8Array, mark: Mark): HeadResult {
  const view = viewOf(bytes);
  /** Where the segment of the XMP is written. */
  let place = 2;
  let isBeginning = true;
  let xmp: { readonly at: number; readonly length: number } | undefined;
  let hasAigc = false;
  let at = 2;
  for (let parts = 0; ; parts++) {
    if (parts > MAX_PARTS) return { mark: "too_large" };
    if (bytes.length < at + 4) return { needs: at + 4 };
    if (bytes[at] !== 0xff) return { mark: "broken" };
    const marker = bytes[at + 1];
    if (marker === 0xff) {
      // Any number of these bytes may come before a marker.
      at++;
      continue;
    }
    if (marker === SOS) break;
    // Markers without a length do not come before the first scan.
    if (marker === undefined || marker === EOI || marker === SOI || marker < 0xc0) return { mark: "broken" };
    if (marker >= 0xd0 && marker <= 0xd7) return { mark: "broken" };
    const length = view.getUint16(at + 2);
    if (length < 2) return { mark: "broken" };
    const end = at + 2 + length;
    if (bytes.length < end) return { needs: end };
    const content = bytes.subarray(at + 4, end);
    if (marker === APP11 && hasText(content, "JP")) return { mark: "c2pa" };
    const isExif = marker === APP1 && hasText(content, EXIF);
    isBeginning &&= marker === APP0 || isExif;
    if (isBeginning) place = end;
    if (isExif) hasAigc ||= containsText(content, AIGC_MEMBER);
    if (marker === APP1 && hasText(content, XMP)) xmp ??= { at, length: end - at };
    at = end;
  }
  const existing = xmp && bytes.subarray(xmp.at + 4 + XMP.length, xmp.at + xmp.length);
  const marked = markXmp(existing, mark, hasAigc);
  if (marked.mark !== "marked") return marked;
  const { packet } = marked;
  if (packet === undefined) return { mark: "marked" };
  const room = MAX_SEGMENT_BYTES - XMP.length;
  const fitting = packet.length <= room ? packet : withoutPadding(packet);
  if (fitting.length > room) return { mark: "xmp" };
  const change: HeadChange = {
    at: xmp?.at ?? place,
    removed: xmp?.length ?? 0,
    inserted: writeSegment(fitting),
  };
  return { mark: "marked", changes: [change] };
}

function writeSegment(packet: Uint8Array): Uint8Array {
  const length = 2 + XMP.length + packet.length;
  return joinChunks([Uint8Array.of(0xff, APP1, length >> 8, length & 0xff), encodeText(XMP), packet]);
}
