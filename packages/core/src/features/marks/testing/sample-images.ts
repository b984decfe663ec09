import { crc32 } from "node:zlib";

/** XMP with a title. */
export const XMP =
  '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">' +
  '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="uuid:1" ' +
  'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:source>A &amp; B</dc:source></rdf:Description></rdf:RDF>' +
  '</x:xmpmeta><?xpacket end="w"?>';

/** A chunk of a PNG or WebP image, or a segment of a JPEG. */
export interface SamplePart {
  readonly type: string;
  readonly data: Uint8Array | string;
}

export const xmpOfPng = (xmp = XMP): SamplePart => ({
  type: "iTXt",
  data: `XML:com.adobe.xmp\0\0\0\0\0${xmp}`,
});
export const xmpOfJpeg = (xmp = XMP): SamplePart => ({
  type: "\u00e1",
  data: `http://ns.adobe.com/xap/1.0/\0${xmp}`,
});
export const xmpOfWebp = (xmp = XMP): SamplePart => ({ type: "XMP ", data: xmp });

/** Parts before the pixels, the number of bytes of the pixels, and parts after them. */
export interface Sample {
  readonly before?: readonly SamplePart[];
  readonly after?: readonly SamplePart[];
  readonly byteLength?: number;
}

/** A PNG whose pixels are no picture. */
export function createPng({
  before = [],
  after = [],
  byteLength = 1_000,
}: Sample = {}): Uint8Array<ArrayBuffer> {
  const header = Buffer.from("0000000100000001080200000000".slice(0, 26), "hex");
  const parts = [
    { type: "IHDR", data: header },
    ...before,
    { type: "IDAT", data: pixels(byteLength) },
    ...after,
    { type: "IEND", data: "" },
  ];
  return join([Buffer.from("89504e470d0a1a0a", "hex"), ...parts.flatMap(writePngChunk)]);
}

function writePngChunk({ type, data }: SamplePart): readonly Uint8Array[] {
  const typed = Buffer.concat([Buffer.from(type), Buffer.from(data)]);
  return [number(typed.length - 4), typed, number(crc32(typed))];
}

/** A JPEG with a header of JFIF, whose pixels are no picture. */
export function createJpeg({ before = [], byteLength = 1_000 }: Sample = {}): Uint8Array<ArrayBuffer> {
  const parts = [
    { type: "\u00e0", data: "JFIF\0\u0001\u0002\0\0\u0001\0\u0001\0\0" },
    ...before,
    { type: "\u00c0", data: "\b\0\u0001\0\u0001\u0001\u0001\u0011\0" },
    { type: "\u00da", data: "\u0001\u0001\0\0?\0" },
  ];
  const scan = pixels(byteLength).map((byte) => byte & 0x7f);
  return join([Uint8Array.of(0xff, 0xd8), ...parts.flatMap(writeSegment), scan, Uint8Array.of(0xff, 0xd9)]);
}

function writeSegment({ type, data }: SamplePart): readonly Uint8Array[] {
  const bytes =
    typeof data === "string" && /^[\0-\u00ff]*$/.test(data) ? Buffer.from(data, "latin1") : Buffer.from(data);
  return [Uint8Array.of(0xff, type.charCodeAt(0)), number(bytes.length + 2).subarray(2), bytes];
}

/** A WebP image with an extended header if it has other parts, and else without one. Its pixels are no picture. */
export function createWebp({
  before = [],
  after = [],
  byteLength = 1_000,
}: Sample = {}): Uint8Array<ArrayBuffer> {
  const frame = Buffer.concat([Buffer.from("0000009d012a0a000800", "hex"), pixels(byteLength)]);
  const extended =
    before.length + after.length > 0
      ? [{ type: "VP8X", data: Buffer.from("00000000090000070000", "hex") }]
      : [];
  const chunks = join(
    [...extended, ...before, { type: "VP8 ", data: frame }, ...after].flatMap(writeRiffChunk),
  );
  return join([Buffer.from("RIFF"), little(chunks.length + 4), Buffer.from("WEBP"), chunks]);
}

function writeRiffChunk({ type, data }: SamplePart): readonly Uint8Array[] {
  const bytes = Buffer.from(data);
  return [Buffer.from(type), little(bytes.length), bytes, new Uint8Array(bytes.length % 2)];
}

function pixels(byteLength: number): Uint8Array {
  return Uint8Array.from({ length: byteLength }, (_, index) => (index * 31 + (index >> 8)) % 256);
}

function number(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function little(value: number): Uint8Array {
  return number(value).toReversed();
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}
