import { inflateSync } from "node:zlib";
import { joinChunks } from "../../util/join-chunks.js";
import { encodeText } from "../../util/utf8.js";
import { containsText, type HeadChange, type HeadResult, hasText, MAX_PARTS, viewOf } from "./head.js";
import { AIGC_MEMBER, type Mark } from "./mark.js";
import { markXmp } from "./xmp.js";

export const PNG_SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
/** After the keyword: not compressed, no language, no translated keyword. */
const XMP = "XML:com.adobe.xmp\0\0\0\0\0";
const XMP_KEYWORD = "XML:com.adobe.xmp\0";
/** The keyword of an older form of XMP, in hexadecimal digits. */
const RAW_XMP_KEYWORD = "Raw profile type xmp\0";
/** The most bytes of XMP that was compressed. */
const MAX_XMP_BYTES = 4 * 1024 * 1024;
const AIGC_KEYWORD = "AIGC\0";
/** The length and the type before the data of a chunk, and the checksum after it. */
const FRAME_BYTES = 12;
const MAX_CHUNK_BYTES = 2 ** 31 - 1;

/**
 * Reads a PNG up to its pixels. The chunks of the mark come after the header, which moves no chunk relative to those after it.
 * Whether metadata follow the pixels is known only when the mark has been passed on: XMP there stays, and {@link PngTail} finds a
 * C2PA manifest.
 */
export function readPng(bytes: Uint8Array, mark: Mark): HeadResult {
  const view = viewOf(bytes);
  let xmp: { readonly at: number; readonly length: number } | undefined;
  let hasAigc = false;
  let headerEnd = 0;
  let at = PNG_SIGNATURE.length;
  for (let parts = 0; ; parts++) {
    if (parts > MAX_PARTS) return { mark: "too_large" };
    if (bytes.length < at + 8) return { needs: at + 8 };
    const length = view.getUint32(at);
    const type = readType(bytes, at + 4);
    if (length > MAX_CHUNK_BYTES || !/^[A-Za-z]{4}$/.test(type)) return { mark: "broken" };
    if ((parts === 0) !== (type === "IHDR") || (parts === 0 && length !== 13)) return { mark: "broken" };
    if (type === "caBX") return { mark: "c2pa" };
    if (type === "IDAT") break;
    if (type === "IEND") return { mark: "broken" };
    const end = at + FRAME_BYTES + length;
    if (bytes.length < end) return { needs: end };
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (parts === 0) headerEnd = end;
    const isText = type === "iTXt" || type === "tEXt" || type === "zTXt";
    if (isText && hasText(data, RAW_XMP_KEYWORD)) return { mark: "xmp" };
    if (isText && hasText(data, XMP_KEYWORD)) {
      if (view.getUint32(end - 4) !== checksum(bytes.subarray(at + 4, end - 4))) return { mark: "broken" };
      xmp ??= { at, length: end - at };
    }
    if (isText) hasAigc ||= hasText(data, AIGC_KEYWORD);
    if (type === "eXIf") hasAigc ||= containsText(data, AIGC_MEMBER);
    at = end;
  }
  return change(mark, { bytes, xmp, hasAigc, headerEnd });
}

/** Finds a C2PA manifest after the pixels of a PNG. */
export class PngTail {
  hasManifest = false;
  /** The bytes of the current chunk that have not arrived. */
  #left = 0;
  /** The length and the type of the next chunk, as far as they have arrived. */
  #frame: number[] = [];

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const skipped = Math.min(this.#left, bytes.length - at);
      this.#left -= skipped;
      at += skipped;
      while (this.#left === 0 && at < bytes.length && this.#frame.length < 8)
        this.#frame.push(bytes[at++] ?? 0);
      if (this.#frame.length === 8) this.#begin(Uint8Array.from(this.#frame.splice(0)));
    }
  }

  #begin(frame: Uint8Array): void {
    this.#left = viewOf(frame).getUint32(0) + FRAME_BYTES - 8;
    this.hasManifest ||= readType(frame, 4) === "caBX";
  }
}

interface FoundInPng {
  readonly bytes: Uint8Array;
  readonly xmp: { readonly at: number; readonly length: number } | undefined;
  readonly hasAigc: boolean;
  readonly headerEnd: number;
}

function change(mark: Mark, { bytes, xmp, hasAigc, headerEnd }: FoundInPng): HeadResult {
  const packet = xmp && readPacket(bytes.subarray(xmp.at + 4, xmp.at + xmp.length - 4));
  if (xmp !== undefined && packet === undefined) return { mark: "xmp" };
  const marked = markXmp(packet, mark, hasAigc);
  if (marked.mark !== "marked") return marked;
  const changes: HeadChange[] = [];
  if (mark.aigc !== undefined && !hasAigc) {
    const inserted = writeChunk("tEXt", encodeText(AIGC_KEYWORD + mark.aigc));
    changes.push({ at: headerEnd, removed: 0, inserted });
  }
  if (marked.packet !== undefined) {
    const inserted = writeChunk("iTXt", joinChunks([encodeText(XMP), marked.packet]));
    changes.push({ at: xmp?.at ?? headerEnd, removed: xmp?.length ?? 0, inserted });
  }
  return { mark: "marked", changes };
}

/** The packet in a text chunk, given with its type. Some programs compress it. `undefined` if it cannot be read. */
function readPacket(chunk: Uint8Array): Uint8Array | undefined {
  const type = readType(chunk, 0);
  const data = chunk.subarray(4);
  const start = XMP_KEYWORD.length;
  if (type === "tEXt") return data.subarray(start);
  if (type === "zTXt") return data[start] === 0 ? inflate(data.subarray(start + 1)) : undefined;
  const [isCompressed, method] = data.subarray(start, start + 2);
  const endOfLanguage = data.indexOf(0, start + 2);
  const endOfTranslation = endOfLanguage === -1 ? -1 : data.indexOf(0, endOfLanguage + 1);
  if (endOfTranslation === -1) return undefined;
  const content = data.subarray(endOfTranslation + 1);
  if (isCompressed === 0) return content;
  return isCompressed === 1 && method === 0 ? inflate(content) : undefined;
}

function inflate(compressed: Uint8Array): Uint8Array | undefined {
  try {
    return inflateSync(compressed, { maxOutputLength: MAX_XMP_BYTES });
  } catch {
    return undefined;
  }
}

function readType(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

function writeChunk(type: string, data: Uint8Array): Uint8Array {
  const typed = joinChunks([encodeText(type), data]);
  const chunk = new Uint8Array(typed.length + 8);
  const view = viewOf(chunk);
  view.setUint32(0, data.length);
  chunk.set(typed, 4);
  view.setUint32(typed.length + 4, checksum(typed));
  return chunk;
}

let table: Uint32Array | undefined;

/** The CRC-32 of PNG, annex D of its specification. */
function checksum(bytes: Uint8Array): number {
  table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
    return crc;
  });
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
