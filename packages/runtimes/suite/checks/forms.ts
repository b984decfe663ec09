import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { EDITS, SEEDREAM } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, read } from "../expect.ts";
import { createBitmap } from "./create-bitmap.ts";

/** The three spellings of several images in a form. */
const SPELLINGS = [
  ["image", "image", "image"],
  ["image[]", "image[]", "image[]"],
  ["image[0]", "image[1]", "image[2]"],
] as const;

const MIB = 1024 * 1024;

/** Edits with the runtime's own `FormData`. */
export const forms: readonly Check[] = [
  ...SPELLINGS.map(
    (names): Check => ({
      name: `takes a form whose images are called ${names.join(", ")}`,
      async run({ serve, asked }) {
        const images = names.map((_name, shade) => createBitmap(32, 40 * shade));
        const form = createForm();
        for (const [index, name] of names.entries())
          form.append(name, toFile(images[index]), `猫${index}.bmp`);
        expectMatch(await serve().post(form, EDITS), { status: 200, body: { data: [{ url: /^http/ }] } });
        const [request] = await asked();
        assert.deepEqual(read(request, "body", "image"), images.map(toDataUrl));
        assert.equal(read(request, "body", "prompt"), "夜里");
      },
    }),
  ),
  {
    name: "accepts a form of twelve megabytes",
    async run({ serve, asked }) {
      const sent = createBitmap(2_000, 90);
      assert.ok(sent.length > 11 * MIB);
      const form = createForm();
      form.append("image", toFile(sent), "large.bmp");
      expectMatch(await serve().post(form, EDITS), { status: 200 });
      const [request] = await asked();
      const image = read(request, "body", "image");
      assert.ok(image === toDataUrl(sent) || read(image, 0) === toDataUrl(sent), "another image arrived");
    },
  },
];

function createForm(): FormData {
  const form = new FormData();
  form.append("model", SEEDREAM);
  form.append("prompt", "夜里");
  form.append("size", "1K");
  return form;
}

function toFile(bytes: Uint8Array<ArrayBuffer> = new Uint8Array()): Blob {
  return new Blob([bytes], { type: "image/bmp" });
}

function toDataUrl(bytes: Uint8Array): string {
  return `data:image/bmp;base64,${Buffer.from(bytes).toString("base64")}`;
}
