import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "@calotype/core";
import { initSync, WasmReader } from "@contentauth/c2pa-wasm";
import { parse } from "exifr";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeMissing, hasTool, runTool, type Tool } from "./tools.js";

/*
 * Other people's programs read the marks, accept the files, decode the pixels and verify C2PA manifests. The images come through a
 * gateway, so these are the bytes that a client gets.
 */

const SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";
const PRODUCER = 'A & <B> "某公司"';
const XMP =
  '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">' +
  '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" ' +
  'xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="a photo"/></rdf:RDF></x:xmpmeta><?xpacket end="w"?>';

interface Sample {
  readonly name: string;
  readonly format: "png" | "jpeg" | "webp";
  readonly hasMetadata: boolean;
  readonly made: Uint8Array;
  readonly marked: Uint8Array;
  /** The file of the marked image, and that of the image as it was made. */
  readonly path: string;
  readonly madePath: string;
}

type Drawing = ReturnType<typeof sharp>;

const folder = mkdtempSync(join(tmpdir(), "calotype-marks-"));
let samples: readonly Sample[] = [];
let requestId = "";

beforeAll(async () => {
  const drawn = await Promise.all(
    [false, true].flatMap((hasMetadata) => [
      draw("png", hasMetadata, (image) => image.png()),
      draw("jpeg", hasMetadata, (image) => image.jpeg()),
      draw("jpeg", hasMetadata, (image) => image.jpeg({ progressive: true })),
      draw("webp", hasMetadata, (image) => image.webp()),
      draw("webp", hasMetadata, (image) => image.webp({ lossless: true })),
    ]),
  );
  const delivered = await deliver(drawn.map(({ made }) => made));
  requestId = delivered.id;
  samples = drawn.map((sample, index) => {
    const marked = delivered.images[index] ?? new Uint8Array();
    const path = join(folder, `${index}.${sample.format}`);
    const madePath = join(folder, `made-${index}.${sample.format}`);
    writeFileSync(path, marked);
    writeFileSync(madePath, sample.made);
    return { ...sample, marked, path, madePath };
  });
  const require = createRequire(import.meta.url);
  const wasm = require.resolve("@contentauth/c2pa-wasm").replace(/c2pa\.js$/, "c2pa_bg.wasm");
  initSync({ module: readFileSync(wasm) });
});
afterAll(() => rmSync(folder, { recursive: true }));

async function draw(format: Sample["format"], hasMetadata: boolean, encode: (image: Drawing) => Drawing) {
  const background = { r: 200, g: 30, b: 90, alpha: 0.5 };
  const image = sharp({
    create: { width: 67, height: 45, channels: format === "jpeg" ? 3 : 4, background, noise: undefined },
  });
  const described = hasMetadata
    ? image
        .withIccProfile("p3")
        .withExif({ IFD0: { Copyright: "me" } })
        .withXmp(XMP)
    : image;
  const name = `${format}${hasMetadata ? " with metadata" : ""}`;
  return { name, format, hasMetadata, made: new Uint8Array(await encode(described).toBuffer()) };
}

/** Returns the images as a client gets them. */
async function deliver(
  images: readonly Uint8Array[],
): Promise<{ readonly id: string; readonly images: readonly Buffer[] }> {
  const data = images.map((image) => ({ b64_json: Buffer.from(image).toString("base64") }));
  const usage = { generated_images: images.length, output_tokens: 1, total_tokens: 1 };
  const gateway = createGateway({
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "ark-key-1" }],
    callers: [{ id: "me", key: "caller-key-1" }],
    marks: { producer: PRODUCER, china: true },
    logger: { warn: () => undefined, error: () => undefined },
    fetch: async () => Response.json({ model: "m", created: 1, data, usage }),
  });
  const response = await gateway.fetch(
    new Request("http://localhost/v1/images/generations", {
      method: "POST",
      headers: { authorization: "Bearer caller-key-1", "content-type": "application/json" },
      body: JSON.stringify({ model: "doodle", prompt: "a cat", response_format: "b64_json" }),
    }),
  );
  const body = (await response.json()) as { readonly data: readonly { readonly b64_json: string }[] };
  await gateway.close();
  return {
    id: response.headers.get("x-request-id") ?? "",
    images: body.data.map(({ b64_json: base64 }) => Buffer.from(base64, "base64")),
  };
}

const aigc = (): object => ({
  Label: "1",
  ContentProducer: PRODUCER,
  ProduceID: requestId,
  ReservedCode1: "",
  ContentPropagator: "",
  PropagateID: "",
  ReservedCode2: "",
});

const of = (...formats: readonly Sample["format"][]): readonly Sample[] =>
  samples.filter(({ format }) => formats.includes(format));

it("exifr reads the marks, and the metadata that were there", async () => {
  for (const { marked, hasMetadata, name } of of("png", "jpeg")) {
    const read = await parse(Buffer.from(marked), {
      xmp: true,
      icc: true,
      ifd0: {},
      mergeOutput: true,
    });
    expect([name, read.DigitalSourceType]).toEqual([name, SOURCE_TYPE]);
    expect(JSON.parse(read.AIGC)).toEqual(aigc());
    const metadata = { source: "a photo", Copyright: "me", ProfileDescription: "sP3C" };
    expect(read).toMatchObject(hasMetadata ? metadata : {});
  }
});

it("libvips decodes the same pixels", async () => {
  for (const { marked, made, name } of samples) {
    const [pixels, original] = await Promise.all(
      [marked, made].map((image) => sharp(image).raw().toBuffer()),
    );
    expect([name, pixels?.equals(original ?? Buffer.alloc(0))]).toEqual([name, true]);
  }
});

const hasTools = (...tools: readonly Tool[]): boolean => tools.every(hasTool);

it.runIf(hasTools("exiftool"))(
  `exiftool reads the marks, and the metadata that were there${describeMissing(["exiftool"])}`,
  () => {
    const { output } = runTool("exiftool", ["-json", "-G1", ...samples.map(({ path }) => path)]);
    const read = JSON.parse(output.toString().slice(0, output.lastIndexOf("]") + 1)) as readonly Record<
      string,
      string
    >[];
    const metadata = {
      "XMP-dc:Source": "a photo",
      "IFD0:Copyright": "me",
      "ICC_Profile:ProfileDescription": "sP3C",
    };
    for (const [index, { hasMetadata, format }] of samples.entries()) {
      const tags = read[index] ?? {};
      const label = tags["XMP-TC260:Aigc"] ?? tags["XMP-TC260:AIGC"] ?? "";
      expect(tags["XMP-iptcExt:DigitalSourceType"]).toBe(SOURCE_TYPE);
      expect(JSON.parse(label)).toEqual(aigc());
      expect(tags["PNG:AIGC"]).toBe(format === "png" ? label : undefined);
      expect(tags).toMatchObject(hasMetadata ? metadata : {});
    }
  },
);

it.runIf(hasTools("pngcheck"))(`pngcheck accepts PNG${describeMissing(["pngcheck"])}`, () => {
  for (const { path } of of("png")) expect(runTool("pngcheck", ["-q", path]).output.toString()).toBe("");
});

it.runIf(hasTools("jpeginfo", "djpeg"))(
  `jpeginfo accepts JPEG, and djpeg decodes the same pixels${describeMissing(["jpeginfo", "djpeg"])}`,
  () => {
    for (const { path, madePath } of of("jpeg")) {
      expect(runTool("jpeginfo", ["-c", path])).toMatchObject({ status: 0 });
      expect(runTool("djpeg", [path]).output.equals(runTool("djpeg", [madePath]).output)).toBe(true);
    }
  },
);

it.runIf(hasTools("webpinfo", "dwebp"))(
  `webpinfo accepts WebP, and dwebp decodes the same pixels${describeMissing(["webpinfo", "dwebp"])}`,
  () => {
    for (const { path, madePath } of of("webp")) {
      expect(runTool("webpinfo", ["-quiet", path])).toMatchObject({ status: 0 });
      const [pixels, original] = [path, madePath].map(
        (from) => runTool("dwebp", ["-quiet", "-pam", "-o", "-", from]).output,
      );
      expect(pixels).toEqual(original);
    }
  },
);

describe.each(["jpeg", "png", "webp"] as const)("a signed %s", (format) => {
  const read = (): Uint8Array => readFileSync(new URL(`samples/signed.${format}`, import.meta.url));

  it("keeps a C2PA manifest that the reader of c2pa-rs verifies", async () => {
    const made = read();
    const [delivered = new Uint8Array()] = (await deliver([made])).images;
    expect(await verify(format, delivered)).toBe("Valid");
    // The reader finds a change of one byte.
    const changed = Uint8Array.from(made);
    changed[changed.length - 60] = (changed.at(-60) ?? 0) ^ 1;
    expect(await verify(format, changed)).toBe("Invalid");
  });
});

/** What the reader says of the hashes and the signature. The certificate of the samples is a test certificate. */
async function verify(format: string, image: Uint8Array): Promise<string> {
  const reader = await WasmReader.fromBytes(`image/${format}`, image);
  const store = JSON.parse(reader.json()) as { readonly validation_state: string };
  return store.validation_state;
}
