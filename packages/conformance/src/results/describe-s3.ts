import { randomBytes } from "node:crypto";
import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import type { ResultsOptions } from "@calotype/core";
import type { ImageToStore } from "@calotype/core/stores";
import { createS3Store, type S3Store, type S3StoreOptions } from "@calotype/s3";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM, startGateway, startProviders } from "../support/test-gateway.js";

/** A server with the API of S3, and an empty bucket. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly close: () => Promise<void>;
}

const REGION = "us-east-1";
/** With characters that must be encoded in a path. */
const PREFIX = "it's a+b/图/";
const MIB = 1024 * 1024;

interface StoredBody {
  readonly data: readonly { readonly url?: string }[];
  readonly extra?: { readonly errors?: readonly unknown[] };
}

/** Generates an image at a gateway whose results are stored, and then stops the provider: its links are dead. */
async function generate(model: string, results: ResultsOptions) {
  const providers = await startProviders({ images: "full" });
  const { gateway, logLines, records } = startGateway(providers, { results });
  const response = await gateway.fetch(
    new Request("http://gateway.test/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model, prompt: "a red fox", size: "1664x928" }),
    }),
  );
  const body: StoredBody = JSON.parse(await response.text());
  await providers.server.close();
  return {
    gateway,
    body,
    url: body.data[0]?.url ?? "",
    logLines,
    records,
    providerUrl: providers.server.url,
  };
}

const sizeOf = async (response: Response) => {
  const { width, height } = await sharp(await response.bytes()).metadata();
  return { width, height };
};

/** An image of random bytes. */
function makeImage(byteLength: number): ImageToStore & { readonly bytes: Buffer } {
  const bytes = Buffer.alloc(byteLength, randomBytes(65_521)); // repeated, because many random bytes take long
  return {
    id: randomBytes(16).toString("hex"),
    contentType: "image/webp",
    body: toChunks(bytes),
    byteLength: undefined,
    expiresAt: new Date(Date.now() + 3_600_000),
    signal: new AbortController().signal,
    bytes,
  };
}

async function* toChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** The bytes of a stored image. */
async function readStored(stored: Awaited<ReturnType<S3Store["open"]>>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stored?.body ?? []) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** The tests of a store on a real server, and of a gateway that uses it. */
export function describeS3(name: string, start: () => Promise<S3Server>): void {
  let server: S3Server | undefined;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.close());

  const settingsOf = ({ endpoint, bucket, accessKeyId, secretAccessKey }: S3Server) => ({
    endpoint,
    region: REGION,
    bucket,
    accessKeyId,
    secretAccessKey,
  });
  const createStore = (options: Partial<S3StoreOptions> = {}): S3Store => {
    if (server === undefined) throw new Error("The server starts before the first test.");
    return createS3Store({ ...settingsOf(server), prefix: "images/", ...options });
  };

  describe(`a store of images on ${name}`, () => {
    it.each([0, 1, 300_000, 8 * MIB, 8 * MIB + 1, 20 * MIB])(
      "stores, reads and links an image of %i bytes, and the official SDK finds it",
      async (bytes) => {
        const store = createStore({ prefix: PREFIX });
        const image = makeImage(bytes);
        await store.put(image);

        const stored = await store.open(image.id);
        expect(stored).toMatchObject({ contentType: "image/webp", byteLength: bytes });
        expect((await readStored(stored)).equals(image.bytes)).toBe(true);

        const linked = await fetch(await store.link(image));
        expect([linked.status, linked.headers.get("content-type")]).toEqual([200, "image/webp"]);
        expect(Buffer.from(await linked.arrayBuffer()).equals(image.bytes)).toBe(true);

        const { endpoint = "", bucket: Bucket = "", ...credentials } = server ?? {};
        const sdk = new S3Client({
          endpoint,
          region: REGION,
          credentials: { accessKeyId: "", secretAccessKey: "", ...credentials },
          forcePathStyle: true,
        });
        const { Body, CacheControl } = await sdk.send(
          new GetObjectCommand({ Bucket, Key: PREFIX + image.id }),
        );
        expect(CacheControl).toMatch(/^private, max-age=\d+, immutable$/);
        expect(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(image.bytes)).toBe(true);
        sdk.destroy();
      },
    );

    it.each([
      [0, 0],
      [1_000, 200_000],
      [299_999, 299_999],
    ])("reads the bytes from %i to %i", async (first, last) => {
      const store = createStore();
      const image = makeImage(300_000);
      await store.put(image);

      const stored = await store.open(image.id, { first, last });

      expect(stored?.byteLength).toBe(300_000);
      expect((await readStored(stored)).equals(image.bytes.subarray(first, last + 1))).toBe(true);
    });

    it("removes an image, also one that is not there", async () => {
      const store = createStore();
      const image = makeImage(10);
      await store.put(image);

      await store.remove(image.id);
      await store.remove(image.id);

      expect(await store.open(image.id)).toBeUndefined();
    });

    it("gets the refusals of the server", async () => {
      const wrong = createStore({ secretAccessKey: "wrong" });
      await expect(wrong.put(makeImage(10))).rejects.toMatchObject({
        status: 403,
        code: "SignatureDoesNotMatch",
      });
      expect((await fetch(await wrong.link(makeImage(10)))).status).toBe(403);
      const elsewhere = createStore({ bucket: "another" });
      await expect(elsewhere.open("a")).rejects.toMatchObject({ code: "NoSuchBucket" });
    });
  });

  describe(`a gateway that stores images on ${name}`, () => {
    it.each([SEEDREAM, QWEN_IMAGE])("delivers presigned links to the images of %s", async (model) => {
      const { url } = await generate(model, { store: createStore() });

      expect(url).toMatch(
        new RegExp(
          `^${server?.endpoint}/${server?.bucket}/images/[0-9a-f]{32}\\?.*X-Amz-Expires=6(?:04800|047\\d\\d)&`,
        ),
      );
      const response = await fetch(url);
      expect(response.headers.get("content-type")).toMatch(/^image\/(?:png|jpeg)$/);
      expect(await sizeOf(response)).toEqual({ width: 1664, height: 928 });
    });

    it("serves the images itself, with ranges", async () => {
      const secrets = ["a-secret-of-at-least-32-characters"];
      const { gateway, url } = await generate(SEEDREAM, { store: createStore(), urls: "gateway", secrets });

      expect(url).toMatch(/^http:\/\/gateway\.test\/v1\/images\/files\//);
      const whole = await (await gateway.fetch(new Request(url))).bytes();
      const part = await gateway.fetch(new Request(url, { headers: { range: "bytes=10-99" } }));

      expect(part.status).toBe(206);
      expect(await part.bytes()).toEqual(whole.subarray(10, 100));
      const unknown = await gateway.fetch(new Request(url.replace(/files\/\w{4}/, "files/0000")));
      expect(unknown.status).toBeGreaterThanOrEqual(400);
    });

    it("delivers the provider's link, and charges, if S3 refuses the image", async () => {
      const store = createStore({ secretAccessKey: "wrong-secret-canary" });
      const { body, url, providerUrl, logLines, records } = await generate(SEEDREAM, { store });

      expect(new URL(url).host).toBe(new URL(providerUrl).host);
      expect(body.extra?.errors).toHaveLength(1);
      expect(records).toMatchObject([{ charge: "0.03" }]);
      expect(logLines.join("\n")).toContain("SignatureDoesNotMatch");
      expect(logLines.join("\n")).not.toContain("canary");
    });

    it("fails at startup if presigned links cannot be valid for as long as the images", async () => {
      const results = { store: createStore(), ttlSeconds: 604_801 };

      await expect(generate(SEEDREAM, results)).rejects.toThrow(/ttlSeconds/);
    });
  });
}
