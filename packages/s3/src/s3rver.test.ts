import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createS3Store, type S3Store } from "./store.js";
import { MIB, makeImage, readAll, toChunks } from "./testing/setup.js";

/** The only key of this server. */
const KEYS = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const directory = mkdtempSync(join(tmpdir(), "calotype-s3rver-"));
const server = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory,
  resetOnClose: true,
  configureBuckets: [{ name: "pictures" }],
});
let endpoint = "";
let store: S3Store;
let client: S3Client;

beforeAll(async () => {
  const { port } = await server.run();
  endpoint = `http://127.0.0.1:${port}`;
  store = createS3Store({
    endpoint,
    region: "us-east-1",
    bucket: "pictures",
    prefix: "it's a+b/图/",
    ...KEYS,
  });
  client = new S3Client({ endpoint, region: "us-east-1", credentials: { ...KEYS }, forcePathStyle: true });
});
afterAll(async () => {
  client.destroy();
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

it.each([0, 1, 300_000, 8 * MIB, 8 * MIB + 1, 20 * MIB])(
  "an image of %i bytes on another server is stored, read, linked, and found by the official SDK",
  async (bytes) => {
    const image = makeImage(bytes, { contentType: "image/webp", byteLength: undefined });
    await store.put(image);

    const stored = await store.open(image.id);
    expect(stored).toMatchObject({ contentType: "image/webp", byteLength: bytes });
    expect((await readAll(stored?.body ?? toChunks(Buffer.of(), 1))).equals(image.bytes)).toBe(true);

    const linked = await fetch(await store.link(image));
    expect([linked.status, linked.headers.get("content-type")]).toEqual([200, "image/webp"]);
    expect(Buffer.from(await linked.arrayBuffer()).equals(image.bytes)).toBe(true);

    const key = { Bucket: "pictures", Key: `it's a+b/图/${image.id}` };
    const { Body, CacheControl } = await client.send(new GetObjectCommand(key));
    expect(CacheControl).toMatch(/^private, max-age=\d+, immutable$/);
    expect(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(image.bytes)).toBe(true);
  },
);

it.each([
  [0, 0],
  [1_000, 200_000],
  [299_999, 299_999],
])("reads the bytes from %i to %i on another server", async (first, last) => {
  const image = makeImage(300_000);
  await store.put(image);

  const stored = await store.open(image.id, { first, last });

  expect(stored?.byteLength).toBe(300_000);
  expect(
    (await readAll(stored?.body ?? toChunks(Buffer.of(), 1))).equals(image.bytes.subarray(first, last + 1)),
  ).toBe(true);
});

it("finds no image on another server, and gets its refusals", async () => {
  expect(await store.open("f".repeat(32))).toBeUndefined();

  const options = { endpoint, region: "us-east-1", bucket: "pictures", ...KEYS };
  const wrong = createS3Store({ ...options, secretAccessKey: "wrong" });
  await expect(wrong.put(makeImage(10))).rejects.toMatchObject({
    status: 403,
    code: "SignatureDoesNotMatch",
  });
  const link = await wrong.link(makeImage(10));
  expect((await fetch(link)).status).toBe(403);
  const elsewhere = createS3Store({ ...options, bucket: "another" });
  await expect(elsewhere.open("a")).rejects.toMatchObject({ code: "NoSuchBucket" });
});
