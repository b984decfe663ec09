import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { array, assert, asyncProperty, integer } from "fast-check";
import { describe, expect, it } from "vitest";
import { FORM_TYPE, formBytes, PNG } from "../testing/form-bytes.js";
import { toPlainParts } from "../testing/form-files.js";
import { collectForm } from "./collect-form.js";
import { createParser } from "./read-multipart.js";
import { createSpool } from "./spool.js";
import { openSpoolFile } from "./spool-file-node.js";

const LIMITS = { form: 10_000_000, file: 10_000_000 };

const PICTURE = Buffer.from(Uint8Array.from({ length: 900_001 }, (_, at) => (at * 7 + (at >> 9)) & 255));
const FORM = formBytes(
  { name: "prompt", content: "雪".repeat(40_000) },
  { name: "image", filename: "a", content: PICTURE },
  { name: "model", content: "m" },
  { name: "image", filename: "b", content: PICTURE.subarray(0, 300_000) },
  { name: "image", filename: "c", content: PNG },
);

interface Read {
  /** Of a text itself, of a file its hash. */
  readonly parts: readonly string[];
  /** Lengths of the chunks that were freed. */
  readonly freed: readonly number[];
}

/** Reads the form in chunks of these lengths, over and over; a chunk that is freed is spoiled. */
async function read(lengths: readonly number[], memoryBytes: number): Promise<Read> {
  const freed: number[] = [];
  async function* body() {
    for (let start = 0, index = 0; start < FORM.length; index++) {
      const end = start + (lengths[index % lengths.length] ?? 1);
      yield FORM.slice(start, end);
      start = end;
    }
  }
  const shelf = createSpool({ memoryBytes, openFile: openSpoolFile }).open({ remove: () => undefined });
  const freeChunk = (chunk: Uint8Array): void => {
    freed.push(chunk.length);
    chunk.fill(0xee);
  };
  const form = await collectForm(body(), createParser(FORM_TYPE, LIMITS), {
    limits: LIMITS,
    shelf,
    freeChunk,
  });
  const parts = toPlainParts(form).map((part) => ("text" in part ? part.text : hash(part.bytes)));
  shelf.close();
  return { parts, freed };
}

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const EXPECTED = ["雪".repeat(40_000), hash(PICTURE), "m", hash(PICTURE.subarray(0, 300_000)), hash(PNG)];

describe("a chunk of a form", () => {
  it.each([
    ["memory", Infinity],
    ["a file", 0],
  ])(
    "that is nothing but a part of a file is freed once that is kept, in %s",
    async (_where, memoryBytes) => {
      const { parts, freed } = await read([65_536], memoryBytes);
      expect(parts).toEqual(EXPECTED);
      // Not those with an end of a part in them.
      expect(freed.length).toBeGreaterThan(10);
      expect(new Set(freed)).toEqual(new Set([65_536]));
    },
  );

  it("is kept, too, where its file ended while the one before was written", async () => {
    expect((await read([4_042, 199_997], 0)).parts).toEqual(EXPECTED);
  });

  it("is never freed while anything of it is needed, however the form is cut", async () => {
    await assert(
      asyncProperty(
        array(integer({ min: 1_000, max: 200_000 }), { minLength: 1, maxLength: 6 }),
        integer({ min: 0, max: 1_500_000 }),
        async (lengths, memoryBytes) => {
          expect((await read(lengths, memoryBytes)).parts).toEqual(EXPECTED);
        },
      ),
      { numRuns: 25, seed: 8 },
    );
  });
});
