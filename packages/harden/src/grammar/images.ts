import { crc32, deflateSync } from "node:zlib";
import { mutateBytes } from "./bytes.ts";
import { chance, drawInt, drawSize, pick, type Random } from "./draw.ts";

/** An image as bytes, of which a gateway may find the format. */
export interface DrawnImage {
  readonly base64: string;
  /** True if the image is as it was built. False: bytes of it were changed. */
  readonly isWhole: boolean;
  /** True if it was built with a C2PA manifest before its pixels. */
  readonly hasManifest: boolean;
}

interface Part {
  readonly type: string;
  readonly data: Buffer;
}

const IPTC = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/";
const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const PROPERTIES = [
  "<dc:title>A &amp; B</dc:title>",
  `<i:DigitalSourceType xmlns:i="${IPTC}">http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture</i:DigitalSourceType>`,
  `<i:DigitalSourceType xmlns:i="${IPTC}" r:resource="http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"/>`,
  '<t:AIGC xmlns:t="http://www.tc260.org.cn/ns/AIGC/1.0/">{"Label":"1"}</t:AIGC>',
  '<d:provenance xmlns:d="http://purl.org/dc/terms/">https://manifests.example</d:provenance>',
  "<!-- </r:RDF> > ' -->",
  "<![CDATA[</r:RDF>]]>",
  `<x a="</r:RDF>" b='>'/>`,
];

/** Draws a PNG, JPEG or WebP image with any metadata, or another file; often with changed bytes. */
export function drawImage(random: Random): DrawnImage {
  const hasManifest = chance(random, 0.15);
  const build = pick(random, [buildPng, buildJpeg, buildWebp]);
  const whole = chance(random, 0.05)
    ? Buffer.from("GIF89a and more than twelve bytes")
    : build(random, hasManifest);
  const isWhole = chance(random, 0.4);
  const bytes = isWhole ? whole : mutateBytes(random, whole);
  return { base64: bytes.toString("base64"), isWhole: isWhole && whole[0] !== 0x47, hasManifest };
}

function drawXmp(random: Random): Buffer {
  const properties = Array.from({ length: drawInt(random, 0, 4) }, () => pick(random, PROPERTIES));
  const padding = chance(random, 0.1) ? " ".repeat(drawInt(random, 60_000, 66_000)) : "";
  const xmp =
    `<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF xmlns:r="${RDF}">` +
    `<r:Description r:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">${properties.join("")}</r:Description></r:RDF>` +
    `</x:xmpmeta>${padding}<?xpacket end="w"?>`;
  return Buffer.from(xmp);
}

function drawPixels(random: Random): Buffer {
  const size = drawSize(random, 500, 50_000);
  return Buffer.from(Array.from({ length: size }, (_, index) => (index * 31) % 127));
}

function buildPng(random: Random, hasManifest: boolean): Buffer {
  const drawText = (): Part => {
    const head = Buffer.from("XML:com.adobe.xmp\0");
    const xmp = drawXmp(random);
    return pick(random, [
      { type: "iTXt", data: Buffer.concat([head, Buffer.alloc(4), xmp]) },
      { type: "zTXt", data: Buffer.concat([head, Buffer.alloc(1), deflateSync(xmp)]) },
      { type: "tEXt", data: Buffer.from('AIGC\0{"Label":"1"}') },
      { type: "tEXt", data: Buffer.from("Comment\0none") },
    ]);
  };
  const parts = [
    { type: "IHDR", data: Buffer.from("00000001000000010802000000", "hex") },
    ...drawSome(random, drawText),
    ...(hasManifest ? [{ type: "caBX", data: Buffer.from("jumb") }] : []),
    { type: "IDAT", data: drawPixels(random) },
    ...drawSome(random, drawText, 0.1),
    { type: "IEND", data: Buffer.alloc(0) },
  ];
  const chunks = parts.flatMap(({ type, data }) => {
    const typed = Buffer.concat([Buffer.from(type), data]);
    return [toNumber(data.length), typed, toNumber(crc32(typed))];
  });
  return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), ...chunks]);
}

function buildJpeg(random: Random, hasManifest: boolean): Buffer {
  const drawSegment = (): Part =>
    pick(random, [
      {
        type: "\u00e1",
        data: Buffer.concat([Buffer.from("http://ns.adobe.com/xap/1.0/\0"), drawXmp(random)]),
      },
      { type: "\u00e1", data: Buffer.from("Exif\0\0II*\0") },
      { type: "\u00e1", data: Buffer.from("http://ns.adobe.com/xmp/extension/\0x") },
      { type: "\u00e2", data: Buffer.from("ICC_PROFILE\0x") },
      { type: "\u00fe", data: Buffer.alloc(drawInt(random, 0, 200), 0xff) },
    ]);
  const parts = [
    { type: "\u00e0", data: Buffer.from("JFIF\0") },
    ...drawSome(random, drawSegment),
    ...(hasManifest ? [{ type: "\u00eb", data: Buffer.from("JP\0\u0001jumb") }] : []),
    { type: "\u00c0", data: Buffer.from("0800010001010111", "hex") },
    { type: "\u00da", data: Buffer.from("010100003f00", "hex") },
  ].filter(({ data }) => data.length < 65_534);
  const segments = parts.flatMap(({ type, data }) => [
    Buffer.of(0xff, type.charCodeAt(0)),
    toNumber(data.length + 2).subarray(2),
    data,
  ]);
  return Buffer.concat([Buffer.of(0xff, 0xd8), ...segments, drawPixels(random), Buffer.of(0xff, 0xd9)]);
}

function buildWebp(random: Random, hasManifest: boolean): Buffer {
  const frame = Buffer.concat([Buffer.from("0000009d012a0a000800", "hex"), drawPixels(random)]);
  const xmp = drawSome(random, () => ({ type: "XMP ", data: drawXmp(random) }));
  const manifest = hasManifest ? [{ type: "C2PA", data: Buffer.from("jumb") }] : [];
  const others = [...xmp, ...manifest];
  const parts = [
    ...(others.length > 0 ? [{ type: "VP8X", data: Buffer.from("04000000090000070000", "hex") }] : []),
    { type: "VP8 ", data: frame },
    ...others,
  ];
  const chunks = Buffer.concat(
    parts.flatMap(({ type, data }) => [
      Buffer.from(type),
      toNumber(data.length).toReversed(),
      data,
      Buffer.alloc(data.length % 2),
    ]),
  );
  return Buffer.concat([
    Buffer.from("RIFF"),
    toNumber(chunks.length + 4).toReversed(),
    Buffer.from("WEBP"),
    chunks,
  ]);
}

function drawSome(random: Random, draw: () => Part, probability = 0.6): readonly Part[] {
  return chance(random, probability) ? Array.from({ length: drawInt(random, 1, 3) }, draw) : [];
}

function toNumber(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}
