import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import type { Gateway, ResultsOptions } from "@calotype/core";
import type { ImageToStore } from "@calotype/core/stores";
import { createFileStore, toNodeHandler } from "@calotype/node";
import { createS3Store } from "@calotype/s3";
import express from "express";
import Koa from "koa";
import sharp from "sharp";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { createExpressHost } from "../hosts/express-host.js";
import { createKoaHost } from "../hosts/koa-host.js";
import { createNextHost, startNext } from "../hosts/next-host.js";
import type { Call, ReadResponse } from "../support/http-client.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type Listening, listen } from "../support/listen.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { ROOT, readText } from "../support/workspace.js";

/** A gateway in a host: how a request is sent, and how a link to an image is opened. */
interface Opened {
  readonly send: (call: Call) => Promise<ReadResponse>;
  readonly download: (url: string, headers?: Record<string, string>) => Promise<Response>;
}

type Open = (gateway: Gateway) => Promise<Opened>;

const download: Opened["download"] = (url, headers = {}) => fetch(url, { headers });

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
let nextServer: Listening;

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
  nextServer = await startNext(".next-results");
  ({ port: s3Port } = await s3.run());
  await once(fileServer.listen(0, "127.0.0.1"), "listening");
  fileOrigin = `http://127.0.0.1:${(fileServer.address() as AddressInfo).port}`;
}, 120_000);

afterAll(async () => {
  await nextServer?.close();
  await s3.close();
  fileServer.close();
  rmSync(directory, { recursive: true, force: true });
});

const inHost =
  (host: { readonly mount: (gateway: Gateway) => Promise<Mounted> }): Open =>
  async (gateway) => {
    const { send, close } = await host.mount(gateway);
    onTestFinished(close);
    return { send, download };
  };
type Mounted = Pick<Awaited<ReturnType<ReturnType<typeof createExpressHost>["mount"]>>, "send" | "close">;

const HOSTS: Readonly<Record<string, Open>> = {
  Express: inHost(createExpressHost("Express 5", express)),
  Koa: inHost(createKoaHost("Koa 3", Koa)),
  "Next.js": inHost(createNextHost(() => nextServer)),
  "`node:http`": async (gateway) => {
    const { url, close } = await listen(toNodeHandler(gateway));
    onTestFinished(close);
    const send: Opened["send"] = async ({ method = "POST", path, headers = {}, body }) => {
      const response = await fetch(url + path, { method, headers, body: body as string });
      return { status: response.status, headers: {}, text: await response.text() };
    };
    return { send, download };
  },
  "`gateway.fetch`": async (gateway) => ({
    send: (call) => sendByFetch(gateway, call),
    download: async (url, headers = {}) =>
      url.startsWith("http://gateway.test/")
        ? gateway.fetch(new Request(url, { headers }))
        : download(url, headers),
  }),
};

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

const CASES = Object.entries(HOSTS).flatMap(([host, open]) =>
  Object.entries(STORES).map(([store, column]) => ({ host, open, store, ...column })),
);
/** What was seen, by host and store. */
const seen = new Map<string, string>();
const providers = useProviders({ images: "full" });

it.each(CASES)("$host with $store: generates, downloads the link, and reads a range of it", async (given) => {
  const { gateway } = startGateway(providers(), { results: given.results() });
  const opened = await given.open(gateway);
  const { status, text } = await opened.send(jsonCall(SEEDREAM_BODY));
  expect(status).toBe(200);
  const body = JSON.parse(text) as {
    readonly data: readonly [{ readonly url: string }];
    readonly extra?: unknown;
  };
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
});

const PATH = "docs/results.md";
const BEGIN = "<!-- Written by the tests from what they saw: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

it("docs/results.md shows which stores work on which hosts", async () => {
  const stores = Object.keys(STORES);
  const rows = Object.keys(HOSTS).map((host) =>
    row([host, ...stores.map((store) => seen.get(`${host}|${store}`) ?? "no")]),
  );
  const table = [row(["Host", ...stores]), row(["---", ...stores.map(() => "---")]), ...rows].join("\n");
  const [head, rest = ""] = readText(PATH).split(BEGIN);
  const [, tail] = rest.split(END);
  await expect(`${head}${BEGIN}${table}\n\n${END}${tail}`).toMatchFileSnapshot(join(ROOT, PATH));
});
