import { expect, it } from "vitest";
import { PNG } from "../../testing/form-bytes.js";
import { ImageUpload } from "./image-upload.js";

it("an image that arrives byte by byte is stored whole, with its type", async () => {
  const stored: (readonly [string, Buffer])[] = [];
  const upload = new ImageUpload({
    timeoutMs: 5_000,
    onStored: () => {},
    async put({ contentType, body }) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      stored.push([contentType, Buffer.concat(chunks)]);
      return { id: "1", url: "https://store.test/1" };
    },
  });
  const image = Buffer.concat([Buffer.from(PNG), Buffer.alloc(40, 7)]);
  for (const byte of image) await upload.write(Uint8Array.of(byte));
  expect(await upload.end()).toMatchObject({ url: "https://store.test/1" });
  expect(stored).toEqual([["image/png", image]]);
});
