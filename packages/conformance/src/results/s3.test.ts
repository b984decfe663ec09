import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import type { ResultsOptions } from "@calotype/core";
import { createS3Store, type S3StoreOptions } from "@calotype/s3";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM, startGateway, startProviders } from "../support/test-gateway.js";

const directory = mkdtempSync(join(tmpdir(), "calotype-s3-"));
const server = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory,
  resetOnClose: true,
  configureBuckets: [{ name: "pictures" }],
});
let endpoint = "";
beforeAll(async () => {
  const { port } = await server.run();
  endpoint = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

const createStore = (options: Partial<S3StoreOptions> = {}) =>
  createS3Store({
    endpoint,
    region: "us-east-1",
    bucket: "pictures",
    prefix: "images/",
    accessKeyId: "S3RVER",
    secretAccessKey: "S3RVER",
    ...options,
  });

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
  const body = (await response.json()) as StoredBody;
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

describe("a gateway that stores images on S3", () => {
  it.each([SEEDREAM, QWEN_IMAGE])("delivers presigned links to the images of %s", async (model) => {
    const { url } = await generate(model, { store: createStore() });

    expect(url).toMatch(
      new RegExp(`^${endpoint}/pictures/images/[0-9a-f]{32}\\?.*X-Amz-Expires=6(?:04800|047\\d\\d)&`),
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
