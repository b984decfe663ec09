import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import type { ResultsOptions } from "@calotype/core";
import type { ImageToStore } from "@calotype/core/stores";
import { createFileStore } from "@calotype/node";
import { createS3Store } from "@calotype/s3";
import sharp from "sharp";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Hosts } from "../hosts/every-host.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { writeTable } from "../support/written-table.js";

const directory = mkdtempSync(join(tmpdir(), "calotype-hosts-"));
const s3 = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory: join(directory, "s3"),
  resetOnClose: true,
  configureBuckets: [{ name: "pictures" }],
});
let s3Port = 0;

/** A file server of the operator, in memory. */
const kept = new Map<string, { readonly type: string; readonly bytes: Buffer }>();
const fileServer = createServer((request, response) => {
  const file = kept.get(request.url ?? "");
  if (file === undefined) return response.writeHead(404).end();
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
  response.setHeader("content-type", file.type);
  if (first === undefined) return response.end(file.bytes);
  return response.writeHead(206).end(file.bytes.subarray(Number(first), Number(last) + 1));
});
let fileOrigin = "";

async function storeByFunction({ id, contentType, body }: ImageToStore): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  kept.set(`/${id}`, { type: contentType, bytes: Buffer.concat(chunks) });
  return `${fileOrigin}/${id}`;
}

beforeAll(async () => {
  ({ port: s3Port } = await s3.run());
  await once(fileServer.listen(0, "127.0.0.1"), "listening");
  const address = fileServer.address();
  fileOrigin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}, 120_000);

afterAll(async () => {
  await s3.close();
  fileServer.close();
  rmSync(directory, { recursive: true, force: true });
});

const createS3 = () =>
  createS3Store({
    endpoint: `http://127.0.0.1:${s3Port}`,
    region: "us-east-1",
    bucket: "pictures",
    accessKeyId: "S3RVER",
    secretAccessKey: "S3RVER",
  });

interface StoreColumn {
  readonly results: () => ResultsOptions;
  /** Who serves the image. */
  readonly served: string;
}

const STORES: Readonly<Record<string, StoreColumn>> = {
  Files: {
    results: () => ({ store: createFileStore({ directory: join(directory, "files") }) }),
    served: "gateway",
  },
  S3: { results: () => ({ store: createS3() }), served: "store" },
  'S3 with `urls: "gateway"`': {
    results: () => ({ store: createS3(), urls: "gateway", secrets: ["a secret of at least 32 characters"] }),
    served: "gateway",
  },
  "A function": { results: () => ({ store: storeByFunction }), served: "store" },
};

/** The stores of results, on every host. */
export function describeStores(hosts: Hosts): void {
  const CASES = Object.entries(hosts).flatMap(([host, open]) =>
    Object.entries(STORES).map(([store, column]) => ({ host, open, store, ...column })),
  );
  /** What was seen, by host and store. */
  const seen = new Map<string, string>();
  const providers = useProviders({ images: "full" });

  it.each(CASES)(
    "$host with $store: generates, downloads the link, and reads a range of it",
    async (given) => {
      const { gateway } = startGateway(providers(), { results: given.results() });
      const opened = await given.open(gateway);
      const { status, text } = await opened.send(jsonCall(SEEDREAM_BODY));
      expect(status).toBe(200);
      const body: {
        readonly data: readonly [{ readonly url: string }];
        readonly extra?: unknown;
      } = JSON.parse(text);
      expect(body.extra).toBeUndefined();
      const [{ url }] = body.data;
      const isOwn = new URL(url).pathname.includes("/v1/images/files/");
      expect(isOwn ? "gateway" : "store").toBe(given.served);

      const whole = await opened.download(url);
      const type = whole.headers.get("content-type") ?? "";
      const bytes = Buffer.from(await whole.arrayBuffer());
      const { width, height, format } = await sharp(bytes).metadata();
      expect({ status: whole.status, type }).toEqual({ status: 200, type: `image/${format}` });
      expect(width * height).toBeGreaterThan(500_000);
      const part = await opened.download(url, { range: "bytes=100-1099" });
      expect(part.status).toBe(206);
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100, 1_100))).toBe(true);
      seen.set(`${given.host}|${given.store}`, `served by the ${given.served}`);
    },
  );

  it("docs/stored-images.md shows which stores work on which hosts", async () => {
    const stores = Object.keys(STORES);
    const rows = Object.keys(hosts).map((host) => [
      host,
      ...stores.map((store) => seen.get(`${host}|${store}`) ?? "no"),
    ]);
    const { text, path } = writeTable("docs/stored-images.md", ["Host", ...stores], rows);
    await expect(text).toMatchFileSnapshot(path);
  });
}
