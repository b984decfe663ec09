import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayOptions } from "@calotype/core";
import { createFileStore } from "@calotype/node";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { BANANA, CALLER_KEY, CHANNEL_KEY, LITE, openGateway, PRICES, PRO, useGoogle } from "./support.js";

const google = useGoogle();

const HEADERS = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };

interface GeminiReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly data?: readonly { readonly id?: string; readonly b64_json?: string }[] };
}

async function send(
  url: string,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> | undefined } = {},
) {
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...HEADERS, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as GeminiReply["body"],
  };
}

function generate(url: string, fields: object, headers?: Record<string, string>): Promise<GeminiReply> {
  return send(`${url}/v1/images/generations`, {
    body: { model: BANANA, prompt: "a fox", ...fields },
    headers,
  });
}

/** A results store in a directory that is deleted after the test. */
async function createResults(): Promise<NonNullable<GatewayOptions["results"]>> {
  const directory = await mkdtemp(join(tmpdir(), "calotype-gemini-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return { store: createFileStore({ directory }) };
}

describe("a task of Gemini", () => {
  it.each([
    [{ response_format: "url" }, "url"],
    [{}, "b64_json"],
  ])("with %j has its images as %s", async (fields, format) => {
    const { url, records } = await openGateway(google(), { results: await createResults() });
    const submitted = await generate(url, { n: 2, ...fields }, { prefer: "respond-async" });
    expect(submitted.status).toBe(202);
    const { body } = await send(`${url}${submitted.headers.get("location")}?wait=30`);
    expect(body).toMatchObject({
      status: "completed",
      result: {
        model: BANANA,
        data: [{ [format]: expect.any(String) }, { [format]: expect.any(String) }],
        usage: { output_tokens_details: { image_tokens: 2240 } },
      },
    });
    expect(records).toMatchObject([{ images: 2, usage: { output_image_tokens: 2240 } }]);
  });

  it("that is refused fails with Google's reason, and is charged by its tokens", async () => {
    const { url, records } = await openGateway(google(), { results: await createResults() });
    google().emulator.faults.add({ blockReason: "PROHIBITED_CONTENT" });
    const submitted = await generate(url, { response_format: "url" }, { prefer: "respond-async" });
    const { body } = await send(`${url}${submitted.headers.get("location")}?wait=30`);
    expect(body).toMatchObject({ status: "failed", error: { code: "PROHIBITED_CONTENT" } });
    expect(records).toMatchObject([{ images: 0, charge: expect.stringMatching(/^0\.0000/) }]);
  });
});

const withBudget = (budget: string): Partial<GatewayOptions> => ({
  callers: [{ id: "tester", key: CALLER_KEY, budget }],
});

describe("the budget of a caller", () => {
  // 2,000 image tokens at 120, 8,192 of text at 12, and 5 + 64 of the prompt at 2.
  const hold = (2_000 * 120 + 8_192 * 12 + 69 * 2) / 1e6;

  it("must cover an image of the requested size with text and thoughts", async () => {
    const below = await openGateway(google(), withBudget(String(hold - 1e-6)));
    const refused = await generate(below.url, { model: PRO, size: "4K" });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "insufficient_quota" } } });
    expect(google().emulator.requests).toEqual([]);

    const enough = await openGateway(google(), withBudget(String(hold)));
    expect(await generate(enough.url, { model: PRO, size: "4K" })).toMatchObject({ status: 200 });
    expect(Number(chargeOf(enough.records[0]))).toBeLessThan(hold);
  });

  it("must cover all calls of a request", async () => {
    const { url } = await openGateway(google(), withBudget(String(hold)));
    expect(await generate(url, { model: PRO, size: "4K", n: 2 })).toMatchObject({ status: 403 });
  });
});

function chargeOf(record: unknown): unknown {
  return (record as { charge?: unknown } | undefined)?.charge;
}

describe("a report of more tokens than the request can make", () => {
  it("is cut to the bounds of the hold, and the operator is told", async () => {
    const { url, records, logLines } = await openGateway(google());
    google().emulator.faults.add({
      usage: {
        candidatesTokenCount: 50_000,
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 50_000 }],
        totalTokenCount: 50_100,
      },
    });
    expect(await generate(url, {})).toMatchObject({ status: 200 });
    expect(records).toMatchObject([
      { usage: { output_image_tokens: 1_120 }, reportedUsage: { output_image_tokens: 50_000 } },
    ]);
    expect(logLines.join()).toContain("more than the request could make");
  });
});

describe("GET /v1/models", () => {
  it("describes the models of Gemini", async () => {
    const { url } = await openGateway(google());
    const { body } = await send(`${url}/v1/models/${PRO}`);
    expect(body).toMatchObject({
      id: PRO,
      owned_by: "gemini",
      capabilities: {
        operations: ["generate", "edit"],
        sizes: { presets: ["1K", "2K", "4K"], list: expect.arrayContaining(["1376x768", "5504x3072"]) },
        max_images: 10,
        references: { min: 0, max: 14 },
        stream: false,
      },
    });
  });

  it("lists the names of a series", async () => {
    const { url } = await openGateway(google(), {
      models: { "gemini-3*": { family: "gemini" } },
      billing: undefined,
    });
    const { body } = await send(`${url}/v1/models`);
    expect(body.data?.map(({ id }) => id)).toEqual([PRO, LITE, "gemini-3.1-flash-image"]);
  });
});

describe("the profile of a client", () => {
  it.each([
    "librechat",
    "dify",
    "open-webui",
    "langchain",
    "lobehub",
    "litellm",
    "comfyui",
    "ai-sdk",
    "openai",
  ] as const)("%s gets an image for OpenAI's size", async (client) => {
    const { url } = await openGateway(google(), { callers: [{ id: "tester", key: CALLER_KEY, client }] });
    const { status, headers, body } = await generate(url, { size: "1536x1024", quality: "high" });
    expect(status).toBe(200);
    expect(headers.get("x-calotype-size")).toBe("1264x848");
    expect(typeof body.data?.[0]?.b64_json).toBe("string");
  });
});

const LINK = "https://93.184.216.34/reference.png";

/** A gateway whose downloads get `image`. */
async function openWithDownloads(image: () => Response) {
  const { emulator, server } = google();
  const downloads: string[] = [];
  const opened = await openGateway(google(), {
    async fetch(url, init) {
      if (url.startsWith(server.baseUrls.gemini)) return emulator.fetch(url, init);
      downloads.push(url);
      expect(JSON.stringify(init)).not.toContain(CHANNEL_KEY);
      return image();
    },
  });
  return { ...opened, downloads };
}

describe("references that are links", () => {
  it("are downloaded once for all calls, and sent as bytes", async () => {
    const png = await sharp({ create: { width: 32, height: 32, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    const { url, downloads } = await openWithDownloads(() => new Response(new Uint8Array(png)));
    const body = { model: BANANA, prompt: "a fox", n: 2, images: [{ image_url: LINK }] };
    expect(await send(`${url}/v1/images/edits`, { body })).toMatchObject({ status: 200 });
    expect(downloads).toEqual([LINK]);
    const { requests } = google().emulator;
    expect(requests).toHaveLength(2);
    for (const { bodyText } of requests) {
      expect(bodyText).toContain(png.toString("base64"));
      expect(bodyText).not.toContain(LINK);
    }
  });

  it.each([
    ["a page", () => new Response("<html>"), "is a link to something that is not an image"],
    ["a GIF", () => new Response("GIF89a.........."), "is image/gif"],
    ["nothing", () => new Response("", { status: 404 }), "cannot be used"],
  ])("to %s are a 400", async (_what, image, message) => {
    const { url, records } = await openWithDownloads(image);
    expect(await generate(url, { image: LINK })).toMatchObject({
      status: 400,
      body: { error: { param: "image[0]", message: expect.stringContaining(message) } },
    });
    expect(google().emulator.requests).toEqual([]);
    expect(records).toEqual([]);
  });

  it("to this machine are a 400", async () => {
    const { url } = await openGateway(google());
    const reply = await generate(url, { image: `${url}/private.png` });
    expect(reply).toMatchObject({ status: 400, body: { error: { param: "image" } } });
  });
});

it("prices by token need no price of their own for each kind", async () => {
  const { url, records } = await openGateway(google(), {
    billing: {
      model_details: { ...PRICES, [BANANA]: { pricing_mode: "per-token", output_token_price: "30" } },
    },
  });
  await generate(url, {});
  expect(records).toMatchObject([{ charge: String((1276 * 30) / 1e6) }]);
});
