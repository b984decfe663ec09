import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileStore } from "@calotype/node";
import { APIError, toFile } from "openai";
import type { ImageGenStreamEvent } from "openai/resources/images";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { BANANA, CALLER_KEY, CHANNEL_KEY, FLASH_2_5, LITE, openGateway, PRO, useGoogle } from "./support.js";

const google = useGoogle();

/** The bodies that Google got, in order. */
function sent(): readonly SentBody[] {
  return google().emulator.requests.map(({ body }) => body as SentBody);
}

interface SentBody {
  readonly contents: readonly { readonly parts: readonly object[] }[];
  readonly generationConfig: { readonly seed?: number };
}

async function measure(base64: string | undefined) {
  const { width, height, format } = await sharp(Buffer.from(base64 ?? "", "base64")).metadata();
  return { size: `${width}x${height}`, format };
}

async function createPng(color: string): Promise<Buffer<ArrayBuffer>> {
  const image = sharp({ create: { width: 64, height: 64, channels: 3, background: color } });
  return Buffer.from(await image.png().toBuffer());
}

async function redPng() {
  return toFile(await createPng("red"), "a.png", { type: "image/png" });
}

/** Fails unless the promise rejects with an error of the API. */
async function errorOf(promise: Promise<unknown>): Promise<APIError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof APIError) return error;
  throw new Error("The request did not fail.", { cause: error });
}

describe("images.generate of the openai client", () => {
  it("returns base64, the size, and OpenAI's usage", async () => {
    const { client, records } = await openGateway(google());
    const { data = [], ...rest } = await client.images.generate({ model: BANANA, prompt: "a red fox" });
    expect(await measure(data[0]?.b64_json)).toEqual({ size: "1024x1024", format: "jpeg" });
    expect(data).toMatchObject([{ size: "1024x1024", output_format: "jpeg" }]);
    expect(rest).toMatchObject({ model: BANANA, output_format: "jpeg" });
    const { usage } = rest;
    expect(usage).toMatchObject({ output_tokens_details: { image_tokens: 1120, text_tokens: 156 } });
    expect(usage?.total_tokens).toBe((usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0));
    const [{ headers, body } = { headers: {}, body: {} }] = google().emulator.requests;
    expect(headers).toMatchObject({ "x-goog-api-key": CHANNEL_KEY });
    expect(headers).not.toHaveProperty("authorization");
    expect(body).toEqual({
      contents: [{ role: "user", parts: [{ text: "a red fox" }] }],
      generationConfig: { responseModalities: ["TEXT", "IMAGE"] },
    });
    // 1,120 image tokens at 30, 156 of text and thoughts at 7.5, and the prompt at 1.5.
    const prompt = usage?.input_tokens_details?.text_tokens ?? 0;
    expect(records).toMatchObject([
      {
        images: 1,
        charge: String((1120 * 30 + 156 * 7.5 + prompt * 1.5) / 1e6),
        usage: {
          generated_images: 1,
          output_image_tokens: 1120,
          output_text_tokens: 156,
          input_text_tokens: prompt,
        },
        upstreamRequestId: expect.stringMatching(/^\w{22}$/),
      },
    ]);
  });

  it.each([
    [BANANA, "1376x768", { aspectRatio: "16:9" }, "jpeg"],
    [BANANA, "2048x2048", { aspectRatio: "1:1", imageSize: "2K" }, "jpeg"],
    [BANANA, "512x2048", { aspectRatio: "1:4" }, "jpeg"],
    [PRO, "3168x1344", { aspectRatio: "21:9", imageSize: "2K" }, "jpeg"],
    [PRO, "4K", { imageSize: "4K" }, "jpeg"],
    [LITE, "1024x1024", { aspectRatio: "1:1" }, "jpeg"],
    [FLASH_2_5, "1248x832", { aspectRatio: "3:2" }, "png"],
  ])("maps %s %s to %j", async (model, size, imageConfig, format) => {
    const { client } = await openGateway(google());
    const { data = [] } = await client.images.generate({ model, prompt: "a fox", size });
    expect(sent()[0]).toMatchObject({ generationConfig: { imageConfig } });
    expect((await measure(data[0]?.b64_json)).format).toBe(format);
  });

  it("replaces a size with sizes: nearest, and states the real one", async () => {
    const { client } = await openGateway(google(), { sizes: "nearest" });
    const { data, response } = await client.images
      .generate({ model: BANANA, prompt: "a fox", size: "1536x1024" })
      .withResponse();
    expect(response.headers.get("x-calotype-size")).toBe("1264x848");
    expect(sent()[0]).toMatchObject({ generationConfig: { imageConfig: { aspectRatio: "3:2" } } });
    const [image] = data.data ?? [];
    expect(image).toMatchObject({ size: (await measure(image?.b64_json)).size });
  });

  it("refuses url without a results store, and says what to send", async () => {
    const { client } = await openGateway(google());
    const request = client.images.generate({ model: BANANA, prompt: "a fox", response_format: "url" });
    expect(await errorOf(request)).toMatchObject({
      status: 400,
      param: "response_format",
      message: expect.stringContaining('send "b64_json"'),
    });
    expect(sent()).toEqual([]);
  });

  it("returns links with a results store", async () => {
    const directory = await mkdtemp(join(tmpdir(), "calotype-gemini-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const { client } = await openGateway(google(), { results: { store: createFileStore({ directory }) } });
    const { data = [] } = await client.images.generate({
      model: BANANA,
      prompt: "a fox",
      response_format: "url",
    });
    expect(data).toMatchObject([{ url: expect.stringMatching(/^http/), size: "1024x1024" }]);
    expect(data[0]).not.toHaveProperty("b64_json");
    const image = await fetch(data[0]?.url ?? "");
    expect(image.headers.get("content-type")).toBe("image/jpeg");
    const base64 = Buffer.from(await image.arrayBuffer()).toString("base64");
    expect(await measure(base64)).toEqual({ size: "1024x1024", format: "jpeg" });
  });

  it("makes n images with n calls, and charges their sum", async () => {
    const { client, records } = await openGateway(google());
    const fields = { seed: 7 }; // not in the types of the client
    const { data = [] } = await client.images.generate({ model: BANANA, prompt: "a fox", n: 3, ...fields });
    expect(data).toHaveLength(3);
    expect(new Set(data.map(({ b64_json }) => b64_json)).size).toBe(3);
    const seeds = sent().map(({ generationConfig }) => generationConfig.seed);
    expect(new Set(seeds)).toEqual(new Set([7, 8, 9]));
    expect(records).toMatchObject([
      {
        images: 3,
        usage: { generated_images: 3, output_image_tokens: 3 * 1120, output_text_tokens: 3 * 156 },
      },
    ]);
  });

  it("returns the other images of a request if one call is refused", async () => {
    const { client, records } = await openGateway(google());
    google().emulator.faults.add({ finishReason: "IMAGE_SAFETY", times: 1 });
    const response = await client.images.generate({ model: BANANA, prompt: "a fox", n: 2 });
    expect(response.data).toHaveLength(1);
    expect(response).toMatchObject({ extra: { errors: [{ code: "IMAGE_SAFETY" }] } });
    expect(records).toMatchObject([
      { images: 1, usage: { generated_images: 1, output_image_tokens: 1120, output_text_tokens: 156 + 150 } },
    ]);
  });

  it.each([
    [{ finishReason: "IMAGE_SAFETY" }, 400, "IMAGE_SAFETY"],
    [{ finishReason: "PROHIBITED_CONTENT" }, 400, "PROHIBITED_CONTENT"],
    [{ blockReason: "SAFETY" }, 400, "SAFETY"],
    [{ finishReason: "NO_IMAGE" }, 502, "NO_IMAGE"],
    [{ finishReason: "MAX_TOKENS" }, 502, "MAX_TOKENS"],
    [{ noImages: true }, 502, "NO_IMAGE"],
  ] as const)("reports %j as %i %s, and charges what was used", async (fault, status, code) => {
    const { client, records } = await openGateway(google());
    google().emulator.faults.add(fault);
    const error = await errorOf(client.images.generate({ model: BANANA, prompt: "a fox" }));
    expect(error).toMatchObject({ status, code });
    expect(sent()).toHaveLength(1);
    const [record] = records;
    expect(record).toMatchObject({ images: 0, usage: { generated_images: 0 } });
    expect(Number(record?.state === "settled" && record.charge)).toBeGreaterThan(0);
  });

  it("charges nothing for a refusal if images have a price", async () => {
    const { client, records } = await openGateway(google());
    google().emulator.faults.add({ finishReason: "IMAGE_SAFETY" });
    await errorOf(client.images.generate({ model: LITE, prompt: "a fox" }));
    expect(records).toMatchObject([{ images: 0, charge: "0" }]);
  });

  it("leaves out drafts of thoughts, and returns every image of a response", async () => {
    const { client, records } = await openGateway(google());
    google().emulator.faults.add({ thoughts: true, imagesPerResponse: 2 });
    const { data = [] } = await client.images.generate({ model: BANANA, prompt: "a fox" });
    expect(data).toHaveLength(2);
    expect(records).toMatchObject([{ images: 2, usage: { generated_images: 2, output_image_tokens: 2240 } }]);
    expect(records[0]).not.toHaveProperty("reportedUsage");
  });
});

describe("images.edit of the openai client", () => {
  it("sends files as base64 without a prefix, in order", async () => {
    const { client, records } = await openGateway(google());
    const [red, blue] = [await createPng("red"), await createPng("blue")];
    const { data = [] } = await client.images.edit({
      model: BANANA,
      prompt: "both together",
      image: [
        await toFile(red, "a.png", { type: "image/png" }),
        await toFile(blue, "b.png", { type: "image/png" }),
      ],
      n: 1,
      size: "1024x1024",
    });
    expect(data).toHaveLength(1);
    expect(sent()[0]?.contents[0]?.parts).toEqual([
      { text: "both together" },
      { inlineData: { mimeType: "image/png", data: red.toString("base64") } },
      { inlineData: { mimeType: "image/png", data: blue.toString("base64") } },
    ]);
    expect(records).toMatchObject([{ operation: "edit", usage: { input_image_tokens: 516 } }]);
  });

  it("refuses a mask, more references than the model takes, and a type that Gemini does not take", async () => {
    const { client } = await openGateway(google());
    const gif = toFile(Buffer.from("GIF89a................"), "a.gif", { type: "image/gif" });
    const refused = [
      { image: await redPng(), mask: await redPng() },
      { image: [await redPng(), await redPng(), await redPng(), await redPng()] },
      { image: await gif },
    ].map((fields) => errorOf(client.images.edit({ model: FLASH_2_5, prompt: "a fox", ...fields })));
    expect(await Promise.all(refused)).toMatchObject([
      { status: 400, param: "mask" },
      { status: 400, param: "image", message: expect.stringContaining("0 to 3 reference images") },
      { status: 400, param: "image[0]", message: expect.stringContaining("image/gif") },
    ]);
    expect(sent()).toEqual([]);
  });
});

describe("streams of the openai client", () => {
  it("are made by the gateway from the response, with streamFormat openai", async () => {
    const { client, records } = await openGateway(google(), { streamFormat: "openai" });
    const stream = await client.images.generate({ model: BANANA, prompt: "a fox", n: 2, stream: true });
    const events: ImageGenStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      "image_generation.completed",
      "image_generation.completed",
    ]);
    expect(events[1]).toMatchObject({
      size: "1024x1024",
      output_format: "jpeg",
      usage: { output_tokens: 2 * 1276 },
    });
    expect(records).toMatchObject([{ images: 2 }]);
    expect(google().emulator.requests.map(({ url }) => new URL(url).pathname.split(":")[1])).toEqual([
      "generateContent",
      "generateContent",
    ]);
  });

  it("are refused otherwise", async () => {
    const { client } = await openGateway(google());
    const request = client.images.generate({ model: BANANA, prompt: "a fox", stream: true });
    expect(await errorOf(request)).toMatchObject({ status: 400, param: "stream" });
  });
});

describe("errors of Google", () => {
  it.each([
    ["API_KEY_INVALID", 401, "upstream_authentication_failed"],
    ["PERMISSION_DENIED", 401, "upstream_authentication_failed"],
    ["FAILED_PRECONDITION", 401, "upstream_authentication_failed"],
    ["INVALID_ARGUMENT", 400, "INVALID_ARGUMENT"],
    ["NOT_FOUND", 404, "NOT_FOUND"],
    ["RESOURCE_EXHAUSTED", 429, "RESOURCE_EXHAUSTED"],
    ["RESOURCE_EXHAUSTED_PER_DAY", 429, "RESOURCE_EXHAUSTED"],
    ["INTERNAL", 502, "INTERNAL"],
    ["UNAVAILABLE", 502, "UNAVAILABLE"],
    ["DEADLINE_EXCEEDED", 502, "DEADLINE_EXCEEDED"],
  ] as const)("%s becomes %i %s, and costs nothing", async (code, status, shown) => {
    const { client, records, logLines } = await openGateway(google());
    google().emulator.faults.add({ code });
    expect(await errorOf(client.images.generate({ model: BANANA, prompt: "a fox" }))).toMatchObject({
      status,
      code: shown,
    });
    for (const record of records) expect(record).toMatchObject({ charge: "0" });
    expect(logLines.join()).not.toContain(CHANNEL_KEY);
  });

  it("tells the client the delay that is in the body", async () => {
    const { url } = await openGateway(google());
    google().emulator.faults.add({ code: "RESOURCE_EXHAUSTED", retryAfterSeconds: 34 });
    const response = await fetch(`${url}/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: BANANA, prompt: "a fox" }),
    });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("34");
  });

  it("of a limit of one model send that model elsewhere, and leave the key's other models", async () => {
    const { baseUrls } = google().server;
    const { client } = await openGateway(google(), {
      channels: ["first", "second"].map((id, index) => ({
        id,
        family: "gemini",
        apiKey: `key-of-the-${id}-channel`,
        baseUrl: baseUrls.gemini,
        priority: -index,
      })),
    });
    google().emulator.faults.add({ code: "RESOURCE_EXHAUSTED_PER_DAY", times: 1 });
    for (const model of [BANANA, BANANA, LITE]) {
      expect((await client.images.generate({ model, prompt: "a fox" })).data).toHaveLength(1);
    }
    const keys = google().emulator.requests.map(({ headers }) => headers["x-goog-api-key"]);
    expect(keys.map((key) => key?.split("-")[3])).toEqual(["first", "second", "second", "first"]);
  });
});
