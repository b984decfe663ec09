import { Buffer } from "node:buffer";
import {
  array,
  assert,
  base64String,
  constantFrom,
  dictionary,
  integer,
  letrec,
  oneof,
  property,
  string,
  uint8Array,
} from "fast-check";
import { describe, expect, it } from "vitest";
import { isUploadedImage } from "../images/reference-image.js";
import { keepDataUrls } from "./keep-data-urls.js";

const MIN_LENGTH = 30;
const decoder = new TextDecoder("utf-8", { fatal: true });
const parse = (json: Uint8Array): unknown => JSON.parse(decoder.decode(json));
const keep = (json: string | Uint8Array): unknown =>
  keepDataUrls(typeof json === "string" ? new TextEncoder().encode(json) : json, parse, MIN_LENGTH);

/** What `JSON.parse` would have made of the value; as JSON, in which images write themselves. */
const toPlain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const countImages = (value: unknown): number => {
  if (isUploadedImage(value)) return 1;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countImages(item), 0);
};

const LONG = `data:image/png;base64,${"A".repeat(40)}`;

const texts = oneof(
  string({ unit: "binary" }),
  base64String().map((letters) => `data:image/png;base64,${letters}`),
  base64String({ minLength: 40 }).map((letters) => `data:image/jpeg;base64,${letters}`),
  constantFrom(LONG, `${LONG}"`, `${LONG}\\`, `${LONG}\u{e9}`, `${LONG} `, '","image":"', `:${LONG}`),
);
const keys = oneof(constantFrom("image", "images", "__proto__", "prompt", LONG), string());
const { value: documents } = letrec<{ value: unknown }>((tie) => ({
  value: oneof(
    { maxDepth: 4 },
    texts,
    integer(),
    constantFrom(true, null, 0.5),
    array(tie("value"), { maxLength: 4 }),
    dictionary(keys, tie("value"), { maxKeys: 4 }),
  ),
}));

describe("JSON whose data URLs are kept", () => {
  it("is for the rest what JSON.parse makes of it, with and without spaces", () => {
    assert(
      property(documents, constantFrom(undefined, 1, "\t\r\n"), (document, space) => {
        const json = JSON.stringify(document, null, space);
        expect(toPlain(keep(json))).toEqual(JSON.parse(json));
      }),
      { numRuns: 500 },
    );
  });

  it("is refused where JSON.parse refuses it, whatever was changed in it", () => {
    assert(
      property(documents, integer({ min: 0 }), uint8Array({ maxLength: 2 }), (document, at, bytes) => {
        const json = Buffer.from(JSON.stringify({ image: LONG, document, more: [LONG, LONG] }));
        const place = at % json.length;
        const changed = Buffer.concat([json.subarray(0, place), bytes, json.subarray(place + 1)]);
        // What is no number in JSON either, such as 1e999, is plain on neither side.
        const expected = attempt(() => toPlain(parse(changed)));
        expect(attempt(() => toPlain(keep(changed)))).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, string, number]>([
    ["as image", `{"image":"${LONG}"}`, 1],
    ["in a list that is image", `{"image" : [ "${LONG}" , "https://x.test/a" , "${LONG}" ] }`, 2],
    ["as image deeper down", `{"input":{"messages":[{"content":[{"image":"${LONG}"},{"text":"a"}]}]}}`, 1],
  ])("gives images for those that stand %s", (_where, json, images) => {
    const value = keep(json);
    expect(countImages(value)).toBe(images);
    expect(toPlain(value)).toEqual(JSON.parse(json));
  });

  it.each<[string, string]>([
    ["elsewhere", `{"prompt":"${LONG}","images":["${LONG}"]}`],
    ["as the name of a field", `{"${LONG}":1,"image":{"${LONG}" : 2}}`],
    ["in an object that is image", `{"image":{"url":"${LONG}"}}`],
    ["with escapes", `{"image":"${LONG.replace("/", "\\/")}"}`],
    ["with letters that are not base64", `{"image":"${LONG}-"}`],
    ["too short", `{"image":"data:image/png;base64,AAAA"}`],
    ["behind more texts than are looked at", `{"more":[${'"",'.repeat(20_000)}""],"image":"${LONG}"}`],
  ])("gives texts for those that stand %s", (_where, json) => {
    const value = keep(json);
    expect(countImages(value)).toBe(0);
    expect(value).toEqual(JSON.parse(json));
  });

  it("copies none of the bytes of an image", () => {
    const json = new TextEncoder().encode(`{"image":"${LONG}"}`);
    const value = keep(json) as { image: { dataUrl: Uint8Array } };
    expect(value.image.dataUrl.buffer).toBe(json.buffer);
  });

  it("shows the texts in the place of images to nobody", () => {
    let seen = "";
    const json = new TextEncoder().encode(`{"prompt":"a","image":"${LONG}"}`);
    keepDataUrls(json, (outline) => parse(Buffer.from((seen = decoder.decode(outline)))), MIN_LENGTH);
    const [, mark = ""] = /"image":"([^"]+)"/.exec(seen) ?? [];
    expect(mark.length).toBeGreaterThan(30);
    const forged = JSON.stringify({ prompt: mark, image: [mark, LONG] });
    expect(toPlain(keep(forged))).toEqual(JSON.parse(forged));
  });
});

/** The value, or that there is none. */
function attempt(work: () => unknown): unknown {
  try {
    return { value: work() };
  } catch (error) {
    return { refused: error instanceof SyntaxError || error instanceof TypeError };
  }
}
