import { randomBytes } from "node:crypto";
import type { ImageToStore } from "@calotype/core/stores";
import { onTestFinished } from "vitest";
import type { S3StoreOptions } from "../options.js";
import { createS3Store, type S3Store } from "../store.js";
import { BUCKET, CREDENTIALS, FakeS3, REGION } from "./fake-s3.js";

export const MIB = 1024 * 1024;

/** A server, and a store on it with short times. The server is closed at the end of the test. */
export async function setUp(
  options: Partial<S3StoreOptions> = {},
): Promise<{ server: FakeS3; store: S3Store }> {
  const server = new FakeS3();
  const endpoint = await server.listen();
  onTestFinished(() => server.close());
  const timeouts = { requestSeconds: 5, retrySeconds: 10 };
  return {
    server,
    store: createS3Store({ endpoint, region: REGION, bucket: BUCKET, ...CREDENTIALS, timeouts, ...options }),
  };
}

/** An image of random bytes, in chunks of this size. */
export function makeImage(
  byteLength: number,
  { chunkBytes = 65_536, ...changes }: Partial<ImageToStore> & { chunkBytes?: number } = {},
): ImageToStore & { readonly bytes: Buffer } {
  const bytes = Buffer.alloc(byteLength, randomBytes(65_521)); // repeated, because many random bytes take long
  return {
    id: randomBytes(16).toString("hex"),
    contentType: "image/png",
    body: toChunks(bytes, chunkBytes),
    byteLength,
    expiresAt: new Date(Date.now() + 3_600_000),
    signal: new AbortController().signal,
    bytes,
    ...changes,
  };
}

/** Chunks of one memory that is overwritten for each, as {@link ImageToStore.body} allows. */
export async function* toChunks(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(chunkBytes);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes);
    memory.set(chunk);
    yield memory.subarray(0, chunk.length);
    memory.fill(0);
  }
}

/** The bytes of a body. */
export async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
