import { toExpressHandler } from "@calotype/express";
import express from "express";
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  NotFoundError,
  RateLimitError,
  toFile,
} from "openai";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "./support/listen.js";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

// Full-size images, because the tests check their sizes.
const providers = useProviders({ images: "full" });

/** The official client, which calls a gateway in an Express app over a socket. */
async function connect(options: ClientOptions = {}) {
  const started = startGateway(providers());
  const { url, close } = await listen(express().use(toExpressHandler(started.gateway)));
  onTestFinished(close);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0, ...options });
  return { ...started, client };
}

function generate(client: OpenAI, fields: object = {}) {
  return client.images.generate({ model: SEEDREAM, prompt: "a red fox", size: "1K", ...fields });
}

/** The only request that the provider got. */
function sentUpstream(): unknown {
  const { requests } = providers().emulator;
  expect(requests.map(({ route }) => route)).toHaveLength(1);
  return requests[0]?.body;
}

describe("images.generate of the openai client", () => {
  it("returns links to images of the requested size", async () => {
    const { client } = await connect();

    const { data = [], created } = await client.images.generate({
      model: SEEDREAM,
      prompt: "一只橘猫坐在窗台上",
      size: "1280x720",
    });

    expect(created).toBeCloseTo(Date.now() / 1000, -2);
    expect(data).toEqual([{ url: expect.stringMatching(/^http/), size: "1280x720" }]);
    const image = await fetch(data[0]?.url ?? "");
    expect(await measure(await image.bytes())).toMatchObject({ width: 1280, height: 720 });
  });

  it("returns four images of the requested size as base64", async () => {
    const { client, records } = await connect();

    const { data = [] } = await client.images.generate({
      model: SEEDREAM,
      prompt: "four different sheets of a paper kite",
      n: 4,
      size: "1024x1024",
      response_format: "b64_json",
    });

    const measures = await Promise.all(
      data.map(({ b64_json = "" }) => measure(Buffer.from(b64_json, "base64"))),
    );
    expect(measures).toEqual(
      Array.from({ length: 4 }, () => ({ width: 1024, height: 1024, format: "jpeg" })),
    );
    expect(sentUpstream()).toMatchObject({
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 4 },
      response_format: "b64_json",
    });
    expect(sentUpstream()).not.toHaveProperty("n");
    expect(records).toMatchObject([{ images: 4, charge: "0.12" }]);
  });

  it("can send the fields of family B and OpenAI's fields", async () => {
    const { client } = await connect();

    const { data = [] } = await client.images.generate({
      model: QWEN_IMAGE,
      prompt: "a red fox",
      n: 1,
      size: "1328x1328",
    });

    expect(sentUpstream()).toMatchObject({
      model: "qwen-image-max",
      input: { messages: [{ role: "user", content: [{ text: "a red fox" }] }] },
      parameters: { size: "1328*1328" },
    });
    const image = await fetch(data[0]?.url ?? "");
    expect(await measure(await image.bytes())).toMatchObject({ width: 1328, height: 1328, format: "png" });
  });

  it("may send null, which counts as absent", async () => {
    const { client } = await connect();

    await client.images.generate({
      model: SEEDREAM,
      prompt: "a red fox",
      n: null,
      size: null,
      response_format: null,
      output_format: null,
      quality: null,
    });

    expect(sentUpstream()).toEqual({ model: "doubao-seedream-4-0-250828", prompt: "a red fox" });
  });

  it("gets the names of OpenAI's fields that had no effect", async () => {
    const { client } = await connect();

    const { response } = await client.images
      .generate({
        model: SEEDREAM,
        prompt: "a red fox",
        size: "auto",
        quality: "hd",
        style: "vivid",
        background: "opaque",
        moderation: "low",
        output_compression: 80,
        user: "user-1",
      })
      .withResponse();

    expect(response.headers.get("x-calotype-ignored")?.split(", ").toSorted()).toEqual([
      "background",
      "moderation",
      "output_compression",
      "quality",
      "style",
      "user",
    ]);
    expect(sentUpstream()).toEqual({ model: "doubao-seedream-4-0-250828", prompt: "a red fox" });
  });
});

describe("images.generate of the openai client, streamed", () => {
  it("returns each image and the usage when they arrive", async () => {
    const { client, records } = await connect();

    const stream = await client.images.generate({
      model: SEEDREAM,
      prompt: "two different paper kites",
      n: 2,
      size: "1K",
      stream: true,
    });
    const events: { type: string }[] = [];
    for await (const event of stream) events.push(event);

    expect(events).toMatchObject([
      { type: "image_generation.partial_succeeded", image_index: 0, url: expect.stringMatching(/^http/) },
      { type: "image_generation.partial_succeeded", image_index: 1, url: expect.stringMatching(/^http/) },
      { type: "image_generation.completed", usage: { generated_images: 2 } },
    ]);
    expect(records).toMatchObject([{ images: 2, charge: "0.06" }]);
  });

  it("throws if the provider breaks off, after it has returned the earlier images", async () => {
    const { client } = await connect();
    providers().emulator.faults.add({ streamErrorAfterImages: 1 });
    const stream = await client.images.generate({ model: SEEDREAM, prompt: "kites", n: 3, stream: true });
    const events: { type: string }[] = [];

    const error = await failureOf(
      (async () => {
        for await (const event of stream) events.push(event);
      })(),
      APIError,
    );

    expect(events).toMatchObject([{ type: "image_generation.partial_succeeded" }]);
    expect(error.code).toBe("InternalServiceError");
  });
});

describe("images.edit of the openai client", () => {
  it.each([
    { count: 1, names: ["猫 — a “cat”.png"] },
    { count: 2, names: ["blob", "image.jpg"] },
  ])("sends $count files, whatever their names, in order", async ({ names }) => {
    const { client } = await connect();
    const files = await Promise.all(names.map((_name, index) => draw(100 + index)));
    const image = await Promise.all(files.map((bytes, index) => toFile(bytes, names[index])));

    const { data } = await client.images.edit({
      model: SEEDREAM,
      prompt: "换成夜景",
      image: image.length === 1 ? (image[0] ?? []) : image,
    });

    expect(data).toHaveLength(1);
    const urls = files.map((bytes) => `data:image/png;base64,${bytes.toString("base64")}`);
    expect([readImage(sentUpstream())].flat()).toEqual(urls);
  });

  it("gets an error for a mask instead of an edit of the whole image", async () => {
    const { client } = await connect();
    const image = await toFile(await draw(1), "image.png");

    const error = await failureOf(
      client.images.edit({ model: SEEDREAM, prompt: "a hat", image, mask: image }),
      BadRequestError,
    );

    expect(error.param).toBe("mask");
    expect(providers().emulator.requests).toEqual([]);
  });
});

describe("the errors of the openai client", () => {
  it("identify a wrong key, with a request id", async () => {
    const { client } = await connect({ apiKey: "somebody-elses" });

    const error = await failureOf(generate(client), AuthenticationError);

    expect(error).toMatchObject({ status: 401, code: "invalid_api_key", type: "authentication_error" });
    expect(error.requestID).toMatch(/^req_/);
  });

  it("name the wrong field", async () => {
    const { client } = await connect();

    const error = await failureOf(generate(client, { size: "512x512" }), BadRequestError);

    expect(error).toMatchObject({ code: "invalid_request_error", param: "size" });
    expect(error.message).toContain("1K, or 2K, or 4K");
    expect(providers().emulator.requests).toEqual([]);
  });

  it("report an unknown model as not found", async () => {
    const { client } = await connect();

    const error = await failureOf(generate(client, { model: "dall-e-3" }), NotFoundError);

    expect(error).toMatchObject({ code: "model_not_found", param: "model" });
  });

  it("keep the provider's own code and message", async () => {
    const { client } = await connect();
    providers().emulator.faults.add({ code: "InputTextSensitiveContentDetected" });

    const error = await failureOf(generate(client), BadRequestError);

    expect(error.code).toBe("InputTextSensitiveContentDetected");
    expect(error.message).toMatch(/Request id: \w+/);
  });

  it("report a rate limit and the time to wait", async () => {
    const { client } = await connect();
    providers().emulator.faults.add({ code: "RequestBurstTooFast", retryAfterSeconds: 9 });

    const error = await failureOf(generate(client), RateLimitError);

    expect(error).toMatchObject({ status: 429, type: "rate_limit_error", code: "RequestBurstTooFast" });
    expect(error.headers.get("retry-after")).toBe("9");
  });

  it("do not occur if a repeat succeeds", async () => {
    const { client, records } = await connect({ maxRetries: 2 });
    providers().emulator.faults.add({ code: "RequestBurstTooFast", retryAfterSeconds: 1, times: 1 });
    const startedAt = performance.now();

    const { data } = await generate(client);

    expect(data).toHaveLength(1);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(records).toMatchObject([
      { status: 429, charge: "0" },
      { status: 200, charge: "0.03" },
    ]);
  });

  it.each([
    { failure: "the provider failed", fault: { code: "InternalServiceError" }, status: 502 },
    { failure: "the provider's response is broken", fault: { malformedJson: true as const }, status: 502 },
    { failure: "the channel's key is refused", fault: { wrongKey: true as const }, status: 401 },
    { failure: "the provider account is used up", fault: { code: "QuotaExceeded" }, status: 429 },
  ])("are not repeated, and nothing is sent twice, if $failure", async ({ fault, status }) => {
    const { client, records } = await connect({ maxRetries: 2 });
    providers().emulator.faults.add(fault);

    const error = await failureOf(generate(client), APIError);

    expect(error.status).toBe(status);
    expect(providers().emulator.requests).toHaveLength(1);
    expect(records).toHaveLength(1);
  });
});

/** The error of a failed call, which must have this class. */
async function failureOf<E extends Error>(
  call: PromiseLike<unknown>,
  type: abstract new (...args: never[]) => E,
): Promise<E> {
  const error: unknown = await Promise.resolve(call).then(
    () => new Error("The call did not fail."),
    (reason: unknown) => reason,
  );
  if (!(error instanceof type)) throw error;
  return error;
}

function readImage(body: unknown): unknown {
  return typeof body === "object" && body !== null && "image" in body ? body.image : undefined;
}

/** A small image that differs from the others. */
function draw(red: number): Promise<Buffer> {
  const background = { r: red, g: 0, b: 0 };
  return sharp({ create: { width: 64, height: 64, channels: 3, background } })
    .png()
    .toBuffer();
}

async function measure(bytes: Uint8Array) {
  const { width, height, format } = await sharp(bytes).metadata();
  return { width, height, format };
}
