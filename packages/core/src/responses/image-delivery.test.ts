import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GatewayOptions } from "../gateway-options/options.js";
import { type LoopbackServer, startServer } from "../testing/start-server.js";
import {
  createTestGateway,
  DASHSCOPE_KEY,
  type ReadResponse,
  type TestGateway,
} from "../testing/test-gateway.js";
import { createFetchTransport } from "../upstream/transport-fetch.js";
import { createTransport } from "../upstream/transport-node.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { ImageBudget } from "./image-budget.js";
import { PlainDelivery } from "./image-delivery.js";
import { deliverSmall } from "./linked-images.js";

const MODEL = "image-2.0";
const IMAGE = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));

interface Provider extends LoopbackServer {
  /** The links of its next response, absolute or by path. */
  links: readonly string[];
  /** The requests for its links: path and headers. */
  readonly downloads: readonly IncomingMessage[];
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

const serveImage: Serve = (_request, response) => void response.end(IMAGE);

/** DashScope and its storage on one loopback port. */
async function startProvider(serve: Serve = serveImage): Promise<Provider> {
  const downloads: IncomingMessage[] = [];
  const server = await startServer((request, response) => {
    if (request.method === "GET") {
      downloads.push(request);
      return serve(request, response);
    }
    request.resume();
    const content = provider.links.map((link) => ({ image: new URL(link, server.url).href }));
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        output: { choices: [{ message: { role: "assistant", content } }] },
        usage: { image_count: content.length },
        request_id: "b1a2",
      }),
    );
  });
  const provider: Provider = { ...server, links: ["/1.png"], downloads };
  onTestFinished(server.close);
  return provider;
}

function startGateway(
  provider: LoopbackServer,
  options: { readonly resultHosts?: string[] } = {},
): TestGateway {
  const gatewayOptions: Partial<GatewayOptions> = {
    fetch: undefined,
    models: { [MODEL]: { family: "qwen-image" } },
    channels: [
      {
        id: "bailian",
        family: "qwen-image",
        apiKey: DASHSCOPE_KEY,
        baseUrl: `${provider.url}/api/v1`,
        ...options,
      },
    ],
    billing: { model_details: { [MODEL]: { pricing_mode: "per-request", model_price: "0.2" } } },
  };
  const test = createTestGateway(undefined, gatewayOptions, { transport: createTransport() });
  onTestFinished(() => test.gateway.close());
  return test;
}

const ask = (test: TestGateway, fields: object = {}): Promise<ReadResponse> =>
  test.post({ model: MODEL, prompt: "x", response_format: "b64_json", ...fields });

function imagesOf({ body }: ReadResponse): readonly JsonObject[] {
  const { data } = body;
  return Array.isArray(data) ? data.filter(isJsonObject) : [];
}

const failed = (index: number, message: string): object => ({
  index,
  code: "image_download_failed",
  message,
});

describe("b64_json from a provider that returns links", () => {
  it("contains the bytes of the link, and no link", async () => {
    const provider = await startProvider();
    const test = startGateway(provider);
    const response = await ask(test);
    expect(response.status).toBe(200);
    expect(imagesOf(response)).toEqual([{ b64_json: IMAGE.toString("base64"), revised_prompt: "" }]);
    expect(response.body["extra"]).toEqual({ request_id: "b1a2" });
    expect(test.records).toMatchObject([{ status: 200, images: 1, charge: "0.2" }]);
  });

  it("is downloaded without the channel's key and without other headers", async () => {
    const provider = await startProvider();
    await ask(startGateway(provider));
    const [download] = provider.downloads;
    expect(download?.url).toBe("/1.png");
    expect(Object.keys(download?.headers ?? {}).toSorted()).toEqual(["connection", "host"]);
  });

  it("is not downloaded if the client requests links", async () => {
    const provider = await startProvider();
    const response = await ask(startGateway(provider), { response_format: "url" });
    expect(imagesOf(response)).toEqual([{ url: `${provider.url}/1.png`, revised_prompt: "" }]);
    expect(provider.downloads).toEqual([]);
  });

  it("keeps the order of several images, whichever arrives first", async () => {
    const provider = await startProvider((request, response) => {
      const delay = request.url === "/0" ? 40 : 0;
      setTimeout(() => response.end(`image ${request.url}`), delay);
    });
    provider.links = ["/0", "/1", "/2"];
    const response = await ask(startGateway(provider), { n: 3 });
    expect(
      imagesOf(response).map(({ b64_json: text }) => Buffer.from(String(text), "base64").toString()),
    ).toEqual(["image /0", "image /1", "image /2"]);
  });

  it.each<[string, Serve, string]>([
    [
      "is gone",
      (_request, response) => void response.writeHead(404).end("x".repeat(100_000)),
      "The image's link responded with status 404.",
    ],
    [
      "is forbidden",
      (_request, response) => void response.writeHead(403).end("<Error>Expired</Error>"),
      "The image's link responded with status 403.",
    ],
    [
      "leads elsewhere",
      (_request, response) => void response.writeHead(302, { location: "/2.png" }).end(),
      "The image's link responded with status 302.",
    ],
    ["gives nothing", (_request, response) => void response.end(), "The image's link gave nothing."],
    [
      "breaks off",
      (_request, response) =>
        void response.writeHead(200, { "content-length": "10" }).write("x", () => response.destroy()),
      "The download of the image broke off.",
    ],
    [
      "is compressed",
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x")),
      "The image has the content coding gzip, which was not requested.",
    ],
    ["hangs up", (request) => void request.socket.destroy(), "The image could not be downloaded."],
  ])(
    "keeps the link that %s, says so by its index, and is charged all the same",
    async (_what, serve, message) => {
      const provider = await startProvider((request, response) =>
        request.url === "/bad" ? serve(request, response) : serveImage(request, response),
      );
      provider.links = ["/good", "/bad"];
      const test = startGateway(provider);
      const response = await ask(test, { n: 2 });
      expect(response.status).toBe(200);
      expect(imagesOf(response)).toEqual([
        { b64_json: IMAGE.toString("base64"), revised_prompt: "" },
        { url: `${provider.url}/bad`, revised_prompt: "" },
      ]);
      expect(response.body["extra"]).toEqual({ request_id: "b1a2", errors: [failed(1, message)] });
      expect(provider.downloads).toHaveLength(2);
      expect(test.records).toMatchObject([{ status: 200, images: 2, charge: "0.4" }]);
      // An abandoned download must not cause an unhandled rejection.
      await pause(10);
    },
  );

  it("is not downloaded from another server of this machine, for any spelling of the link", async () => {
    const provider = await startProvider();
    const other = await startServer((_request, response) => void response.end("secret"));
    onTestFinished(other.close);
    const { port } = new URL(other.url);
    const links = [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `https://127.0.0.1:${port}/`,
      `https://127.1:${port}/`,
      `https://[::ffff:127.0.0.1]:${port}/`,
      `https://localhost:${port}/`,
    ];
    provider.links = links;
    const response = await ask(startGateway(provider), { n: 6 });
    expect(imagesOf(response).map(({ url }) => url)).toEqual(links.map((link) => new URL(link).href));
    const NOT_HTTPS = "The image's link is not an https link.";
    const NOT_PUBLIC = "The image's link leads to an address that is not public.";
    expect(response.body["extra"]).toMatchObject({
      errors: [
        failed(0, NOT_HTTPS),
        failed(1, NOT_HTTPS),
        failed(2, NOT_PUBLIC),
        failed(3, NOT_PUBLIC),
        failed(4, NOT_PUBLIC),
        failed(5, NOT_PUBLIC),
      ],
    });
    expect(other.connections()).toBe(0);
  });

  it("is downloaded from a name of this machine only if the operator allows it", async () => {
    const provider = await startProvider();
    const other = await startServer(() => {});
    onTestFinished(other.close);
    provider.links = [`https://localhost:${new URL(other.url).port}/`];
    await ask(startGateway(provider, { resultHosts: ["images.internal"] }));
    expect(other.connections()).toBe(0);
    // The server does not use TLS. The test only checks that it is called at all.
    await ask(startGateway(provider, { resultHosts: ["localhost"] }));
    expect(other.connections()).toBe(1);
  });
});

describe("a response with more images than any provider makes", () => {
  it("has fifteen downloaded, four at once, and the others as links", async () => {
    let running = 0;
    let most = 0;
    const transport = createFetchTransport(async () => {
      running++;
      most = Math.max(most, running);
      await pause(1);
      running--;
      return new Response("png");
    });
    const links = Array.from({ length: 40 }, (_, index) => ({
      kind: "image" as const,
      image: { url: `https://results.test/${index}` },
      index,
    }));
    const source = { baseUrl: "https://ark.test", resultHosts: [] };
    const delivery = new PlainDelivery({
      transport,
      source,
      bytes: { addAnyway: () => {}, remove: () => {} },
      format: "b64_json",
      logger: { warn: () => {}, error: () => {} },
    });
    const delivered = await deliverSmall(delivery, links, { budget: new ImageBudget(Infinity) });
    expect(delivered.filter(({ image }) => image?.b64_json !== undefined)).toHaveLength(15);
    expect(delivery.errors.list).toHaveLength(25);
    expect(most).toBe(4);
  });
});
