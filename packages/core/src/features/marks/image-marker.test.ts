import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ImageMarker, markImage } from "./image-marker.js";
import { type Mark, SOURCE_TYPE, writeAigc } from "./mark.js";
import {
  createJpeg,
  createPng,
  createWebp,
  XMP,
  xmpOfJpeg,
  xmpOfPng,
  xmpOfWebp,
} from "./testing/sample-images.js";

const AIGC = writeAigc('A & <B> "中"', "req-1");
const BOTH: Mark = { hasSourceType: true, aigc: AIGC };
const EU: Mark = { hasSourceType: true, aigc: undefined };
const C2PA = "JP\0\u0001\0\0\0\u0001\0\0\0\u0010jumbc2pa";
const EXIF = { type: "\u00e1", data: "Exif\0\0II*\0\u0008\0\0\0\0\0" };
const CAMERA = XMP.replace(
  "<dc:source>",
  `<i:DigitalSourceType xmlns:i="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture</i:DigitalSourceType><dc:source>`,
);
const MARKED = CAMERA.replace("digitalCapture", "compositeWithTrainedAlgorithmicMedia");

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");
const count = (text: string, part: string): number => text.split(part).length - 1;

const SAMPLES: readonly (readonly [
  name: string,
  image: Uint8Array<ArrayBuffer>,
  existing: Uint8Array<ArrayBuffer>,
])[] = [
  ["PNG", createPng(), createPng({ before: [{ type: "iCCP", data: "p\0\0x" }, xmpOfPng()] })],
  [
    "JPEG",
    createJpeg(),
    createJpeg({ before: [EXIF, { type: "\u00e2", data: "ICC_PROFILE\0\u0001\u0001x" }, xmpOfJpeg()] }),
  ],
  ["WebP", createWebp(), createWebp({ before: [{ type: "ICCP", data: "abc" }], after: [xmpOfWebp()] })],
];

describe.each(SAMPLES)("%s", (_name, image, existing) => {
  it("gets both marks, and nothing else changes", () => {
    const { image: marked, result } = markImage(image, BOTH);
    const text = toText(marked);
    expect(result).toBe("marked");
    expect(count(text, SOURCE_TYPE)).toBe(1);
    expect(count(text, `<TC260:AIGC>${AIGC}</TC260:AIGC>`)).toBe(1);
    expect(count(text, `AIGC\0${AIGC}`)).toBe(text.includes("PNG") ? 1 : 0);
    expect(
      text.endsWith(toText(image.slice(-1_000)).slice(0, 900)) || text.includes(toText(image.slice(-900))),
    ).toBe(true);
  });

  it("keeps its XMP and gets one packet", () => {
    const text = toText(markImage(existing, BOTH).image);
    expect(text).toContain("<dc:source>A &amp; B</dc:source>");
    expect(count(text, "W5M0MpCehiHzreSzNTczkc9d")).toBe(1);
    expect(count(text, 'rdf:about="uuid:1"')).toBe(2);
    expect(count(text, SOURCE_TYPE)).toBe(1);
  });

  it("is not marked twice", () => {
    const once = markImage(existing, BOTH).image;
    expect(markImage(once, BOTH)).toEqual({ image: once, result: "marked" });
  });

  it("gives the same bytes however it is divided", () => {
    for (const mark of [BOTH, EU]) {
      for (const whole of [image, existing]) {
        const expected = toText(markImage(whole, mark).image);
        const bytewise = new ImageMarker(mark, undefined);
        const pieces = [...whole].flatMap((byte) => bytewise.push(Uint8Array.of(byte)));
        expect(toText(Buffer.concat([...pieces, ...bytewise.end()]))).toBe(expected);
        for (let at = 1; at < whole.length; at += 31) {
          const marker = new ImageMarker(mark, undefined);
          const parts = [
            ...marker.push(whole.subarray(0, at)),
            ...marker.push(whole.subarray(at)),
            ...marker.end(),
          ];
          expect(toText(Buffer.concat(parts))).toBe(expected);
        }
      }
    }
  });

  it("is passed on as it is if it breaks off before its pixels", () => {
    for (let length = 0; length < 33; length++) {
      const cut = image.slice(0, length);
      const { image: passed, result } = markImage(cut, BOTH);
      expect(toText(passed)).toBe(toText(cut));
      expect(result).not.toBe("marked");
    }
  });
});

describe("an image that gets no mark is passed on as it is", () => {
  it.each([
    ["a PNG with C2PA", createPng({ before: [{ type: "caBX", data: "jumb" }] }), "c2pa"],
    ["a JPEG with C2PA", createJpeg({ before: [{ type: "\u00eb", data: C2PA }] }), "c2pa"],
    ["a WebP image with C2PA", createWebp({ after: [{ type: "C2PA", data: "jumb" }] }), "c2pa"],
    [
      "a JPEG whose manifest is elsewhere",
      createJpeg({
        before: [
          xmpOfJpeg(
            XMP.replace(
              "<dc:source>",
              '<d:provenance xmlns:d="http://purl.org/dc/terms/">https://a.test</d:provenance><dc:source>',
            ),
          ),
        ],
      }),
      "c2pa",
    ],
    ["a PNG of a camera", createPng({ before: [xmpOfPng(CAMERA)] }), "source_type"],
    ["a GIF", new TextEncoder().encode("GIF89a and some more bytes"), "format"],
    ["no image", new TextEncoder().encode("<!doctype html><html></html>"), "format"],
    ["a PNG without pixels", createPng().slice(0, 33), "broken"],
    ["a PNG without a header", createPng({}).fill(0x41, 12, 16), "broken"],
    ["a WebP image that breaks off", createWebp().slice(0, 500), "broken"],
    ["XMP that is not complete", createPng({ before: [xmpOfPng(XMP.replace("</rdf:RDF>", ""))] }), "xmp"],
    [
      "XMP that is not UTF-8",
      createJpeg({
        before: [
          {
            type: "\u00e1",
            data: Buffer.from(`http://ns.adobe.com/xap/1.0/\0\u00ff${XMP.slice(40)}`, "latin1"),
          },
        ],
      }),
      "xmp",
    ],
    ["XMP with a document type", createJpeg({ before: [xmpOfJpeg(`<!DOCTYPE x>${XMP}`)] }), "xmp"],
    [
      "compressed XMP that is not complete",
      createPng({ before: [{ type: "iTXt", data: "XML:com.adobe.xmp\0\u0001\0\0\0x" }] }),
      "xmp",
    ],
    [
      "XMP of an older form",
      createPng({ before: [{ type: "zTXt", data: "Raw profile type xmp\0x" }] }),
      "xmp",
    ],
    [
      "a JPEG whose XMP has no room",
      createJpeg({ before: [xmpOfJpeg(XMP.replace("A &amp; B", "x".repeat(64_900)))] }),
      "xmp",
    ],
    [
      "a PNG with large metadata",
      createPng({ before: [{ type: "zTXt", data: "x".repeat(4_200_000) }] }),
      "too_large",
    ],
  ] as const)("%s", (_name, image, expected) => {
    const { image: passed, result } = markImage(image, BOTH);
    expect(result).toBe(expected);
    expect(Buffer.compare(passed, image)).toBe(0);
  });
});

describe("marks that an image has", () => {
  it("stay, and only what is missing is added", () => {
    const text = toText(markImage(createPng({ before: [xmpOfPng(MARKED)] }), BOTH).image);
    expect(count(text, ":DigitalSourceType>")).toBe(1);
    expect(text).toContain("compositeWithTrainedAlgorithmicMedia");
    expect(count(text, `>${AIGC}<`)).toBe(1);
  });

  it("stay in a text chunk of PNG and in Exif", () => {
    const chunk = { type: "tEXt", data: 'AIGC\0{"Label":"1"}' };
    const exif = { type: "\u00e1", data: 'Exif\0\0UNICODE {"AIGC":{"Label":"1"}}' };
    for (const image of [createPng({ before: [chunk] }), createJpeg({ before: [exif] })]) {
      const { image: marked, result } = markImage(image, BOTH);
      expect(result).toBe("marked");
      expect(toText(marked)).not.toContain("ContentProducer");
      expect(toText(marked)).toContain(SOURCE_TYPE);
    }
  });
});

it.each([
  ["JPEG", createJpeg({ before: [{ type: "\u00e1", data: "Exif\0\0ASCII\0\0\0a cat, AIGC style" }] })],
  ["PNG", createPng({ before: [{ type: "eXIf", data: "ASCII\0\0\0a cat, AIGC style" }] })],
  ["WebP", createWebp({ after: [{ type: "EXIF", data: "ASCII\0\0\0a cat, AIGC style" }] })],
])("takes a prompt in the Exif of a %s for no mark", (_name, image) => {
  const text = toText(markImage(image, BOTH).image);
  expect(count(text, `<TC260:AIGC>${AIGC}</TC260:AIGC>`)).toBe(1);
});

it("uses the padding of XMP if a JPEG has no room besides", () => {
  const padded = XMP.replace("<?xpacket end", `${" ".repeat(64_700)}<?xpacket end`);
  const { image, result } = markImage(createJpeg({ before: [xmpOfJpeg(padded)] }), BOTH);
  expect(result).toBe("marked");
  expect(count(toText(image), `>${AIGC}<`)).toBe(1);
});

it.each([
  ["zTXt", Buffer.from("XML:com.adobe.xmp\0\0")],
  ["iTXt", Buffer.from("XML:com.adobe.xmp\0\u0001\0\0\0")],
])("merges XMP that was compressed: %s", (type, head) => {
  const compressed = { type, data: Buffer.concat([head, deflateSync(XMP)]) };
  const { image, result } = markImage(createPng({ before: [compressed] }), BOTH);
  const text = toText(image);
  expect(result).toBe("marked");
  expect(text).toContain("<dc:source>A &amp; B</dc:source>");
  expect([count(text, "XML:com.adobe.xmp"), count(text, SOURCE_TYPE)]).toEqual([1, 1]);
});

it.each([
  ["an attribute of many letters", XMP.replace("<dc:source>", `<dc:x ${"a".repeat(100_000)}><dc:source>`)],
  ["a description of many letters", XMP.replace('rdf:about="uuid:1"', "a".repeat(100_000))],
  [
    "many properties with the name of a mark",
    XMP.replace("<dc:source>", `${"<a:AIGC/>".repeat(80_000)}<dc:source>`),
  ],
])("reads XMP with %s in a moment", (_what, xmp) => {
  const image = createPng({ before: [xmpOfPng(xmp)] });
  const begun = performance.now();
  expect(markImage(image, BOTH).result).toBe("marked");
  expect(performance.now() - begun).toBeLessThan(3_000);
});

it("reads a PNG of many chunks that arrives in small pieces in a moment", () => {
  const image = createPng({
    before: Array.from({ length: 4_000 }, () => ({ type: "zTXt", data: "x".repeat(1_000) })),
  });
  const marker = new ImageMarker(EU, undefined);
  const pieces: Uint8Array[] = [];
  const begun = performance.now();
  for (let at = 0; at < image.length; at += 500) pieces.push(...marker.push(image.subarray(at, at + 500)));
  pieces.push(...marker.end());
  expect(performance.now() - begun).toBeLessThan(3_000);
  expect(marker.result).toBe("marked");
  expect(Buffer.compare(Buffer.concat(pieces), markImage(image, EU).image)).toBe(0);
});

it("keeps extended XMP", () => {
  const extension = {
    type: "\u00e1",
    data: `http://ns.adobe.com/xmp/extension/\0${"A".repeat(32)}\0\0\0\u0001\0\0\0\0x`,
  };
  const image = createJpeg({ before: [xmpOfJpeg(), extension] });
  expect(toText(markImage(image, BOTH).image)).toContain(extension.data);
});

it("finds a C2PA manifest after the pixels of a PNG", () => {
  const image = createPng({ after: [{ type: "caBX", data: "jumb" }] });
  for (const size of [1, 13, 5_000]) {
    const marker = new ImageMarker(EU, undefined);
    for (let at = 0; at < image.length; at += size) marker.push(image.subarray(at, at + size));
    expect([marker.result, marker.hasBrokenManifest]).toEqual(["c2pa", true]);
  }
});

it("counts what it holds, and holds nothing in the end", () => {
  let held = 0;
  let most = 0;
  const bytes = {
    addAnyway: (added: number) => void (most = Math.max(most, (held += added))),
    remove: (removed: number) => void (held -= removed),
  };
  const image = createPng({ byteLength: 1_000_000 });
  const marker = new ImageMarker(BOTH, bytes);
  for (let at = 0; at < image.length; at += 1_000) marker.push(image.subarray(at, at + 1_000));
  expect([most, held]).toEqual([1_000, 0]);
});

it("writes a producer that no reader takes for XML or for the end of a string", () => {
  expect(AIGC).toMatch(/^[ -%'-;=?-~]*$/);
  expect(JSON.parse(AIGC)).toMatchObject({ Label: "1", ContentProducer: 'A & <B> "中"', ProduceID: "req-1" });
});
