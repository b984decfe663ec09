import OpenAI, { APIError, toFile } from "openai";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "../support/listen.ts";
import { CALLER_KEY, start, startEmulator } from "./start.ts";

const paint = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 64, height: 64, channels: 4, background } })
    .png()
    .toBuffer();
const PNG = await paint("#3366cc");
const MASK = await paint("#00000000");
const PROMPT = "a red fox";

const file = (bytes: Buffer, name = "a.png") => toFile(bytes, name, { type: "image/png" });

const sendOne = (client: OpenAI): Promise<unknown> =>
  client.images.generate({ model: "gpt-image-2", prompt: PROMPT });

/** Requests of the official client. */
const REQUESTS: Readonly<Record<string, (client: OpenAI) => Promise<unknown>>> = {
  "one image": sendOne,
  "three images": (client) =>
    client.images.generate({ model: "gpt-image-2", prompt: PROMPT, n: 3, quality: "low" }),
  "every field": (client) =>
    client.images.generate({
      model: "gpt-image-2.6-flare",
      prompt: PROMPT,
      size: "1536x1024",
      quality: "max",
      background: "transparent",
      output_format: "webp",
      output_compression: 80,
      moderation: "low",
      user: "u-1",
    }),
  "an edit of a file": async (client) =>
    client.images.edit({ model: "gpt-image-2", prompt: PROMPT, image: await file(PNG) }),
  "an edit of two files with a mask": async (client) =>
    client.images.edit({
      model: "gpt-image-1.5",
      prompt: PROMPT,
      image: [await file(PNG), await file(PNG, "b.png")],
      mask: await file(MASK),
      input_fidelity: "high",
      n: 2,
    }),
  "an edit in JSON": (client) =>
    client.post("/images/edits", {
      body: {
        model: "gpt-image-2",
        prompt: PROMPT,
        images: [{ image_url: `data:image/png;base64,${PNG.toString("base64")}` }],
      },
    }),
  "a stream": (client) =>
    readAll(client.images.generate({ model: "gpt-image-2", prompt: PROMPT, stream: true })),
  "a stream of two images with partial images": (client) =>
    readAll(
      client.images.generate({
        model: "gpt-image-2",
        prompt: PROMPT,
        n: 2,
        stream: true,
        partial_images: 2,
      }),
    ),
  "the stream of an edit": async (client) =>
    readAll(
      client.images.edit({
        model: "gpt-image-2",
        prompt: PROMPT,
        image: await file(PNG),
        stream: true,
        partial_images: 1,
      }),
    ),
};

const MODELS = ["gpt-image-2", "gpt-image-2.6-flare", "gpt-image-1.5"];

async function readAll(stream: Promise<AsyncIterable<unknown>>): Promise<unknown> {
  const events: unknown[] = [];
  for await (const event of await stream) events.push(event);
  return events;
}

/** What the official client got: the bytes, and what it made of them. */
interface RecordedExchange {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
  readonly result: unknown;
}

/** Sends a request with the official client and keeps the bytes of the response. */
async function exchange(
  { baseURL, apiKey }: { readonly baseURL: string; readonly apiKey: string },
  send: (client: OpenAI) => Promise<unknown>,
): Promise<RecordedExchange> {
  let seen: Promise<Omit<RecordedExchange, "result">> | undefined;
  const client = new OpenAI({
    baseURL,
    apiKey,
    maxRetries: 0,
    async fetch(url, init) {
      const response = await fetch(url, init);
      const [ours, theirs] = response.body?.tee() ?? [];
      const { status, headers } = response;
      const type = headers.get("content-type")?.replace(/;.*/, "") ?? null;
      seen = new Response(ours).text().then((text) => ({ status, type, text }));
      return new Response(theirs, { status, headers });
    },
  });
  const result = await send(client).catch((error: unknown) => {
    if (error instanceof APIError) return error.error;
    throw error;
  });
  if (seen === undefined) throw new Error("Nothing was sent.");
  return { ...(await seen), result };
}

const direct = ({ openai }: { readonly openai: string }) => ({ baseURL: openai, apiKey: "k" });
const through = (url: string) => ({ baseURL: `${url}/v1`, apiKey: CALLER_KEY });

describe.each(["tiny", "full"] as const)("the response to the official client (%s images)", (images) => {
  it.each(Object.entries(REQUESTS))("has every byte of the provider's: %s", async (_name, send) => {
    const provider = await startEmulator({ images });
    const expected = await exchange(direct(provider.baseUrls), send);
    const { url } = await start({ models: MODELS, emulator: { images } });
    expect(expected.status).toBe(200);
    expect(await exchange(through(url), send)).toEqual(expected);
  });
});

describe.each(["openai", "native"] as const)("a stream in the format %s", (streamFormat) => {
  it.each([
    ["ends well", {}],
    ["fails after an image", { streamErrorAfterImages: 1, code: "moderation_blocked" }],
    ["fails before any image", { streamErrorAfterImages: 0, code: "moderation_blocked" }],
    ["fails with the provider", { streamErrorAfterImages: 1, code: "server_error" }],
  ])("has every byte of the provider's if it %s", async (_how, fault) => {
    const provider = await startEmulator();
    provider.emulator.faults.add(fault);
    const expected = await readStream(direct(provider.baseUrls));
    const { url, emulator } = await start({ options: { streamFormat } });
    emulator.faults.add(fault);
    expect(expected).toContain("event: ");
    expect(await readStream(through(url))).toBe(expected);
  });
});

/** Without the official client, which ends the connection at an error. */
async function readStream({ baseURL, apiKey }: ReturnType<typeof through>): Promise<string> {
  const response = await fetch(`${baseURL}/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-image-2", prompt: PROMPT, n: 2, stream: true }),
  });
  return response.text();
}

interface ErrorBody {
  readonly error: Readonly<Record<"message" | "type" | "code" | "param" | "upstream_request_id", unknown>>;
}

const readError = ({ text }: RecordedExchange): ErrorBody["error"] => (JSON.parse(text) as ErrorBody).error;

describe("an error has the provider's message, code and param, and the type and the status of the gateway", () => {
  it.each([
    ["moderation_blocked", 400, "invalid_request_error"],
    ["invalid_image_file", 400, "invalid_request_error"],
    ["unknown_parameter", 400, "invalid_request_error"],
    ["integer_above_max_value", 400, "invalid_request_error"],
    ["model_not_found", 404, "invalid_request_error"],
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["insufficient_quota", 429, "rate_limit_error"],
    ["server_error", 502, "upstream_error"],
    ["server_is_overloaded", 502, "upstream_error"],
  ])("%s", async (code, status, type) => {
    const provider = await startEmulator();
    provider.emulator.faults.add({ code });
    const { upstream_request_id: _none, ...expected } = readError(
      await exchange(direct(provider.baseUrls), sendOne),
    );
    const { url, emulator } = await start();
    emulator.faults.add({ code });
    const got = await exchange(through(url), sendOne);
    const { upstream_request_id: id, ...error } = readError(got);
    expect([got.status, got.type, id]).toEqual([status, "application/json", expect.any(String)]);
    expect(error).toEqual({ ...expected, type });
  });

  it("but a refused key says nothing of the operator's account", async () => {
    const { url, emulator } = await start();
    emulator.faults.add({ code: "invalid_api_key" });
    const got = await exchange(through(url), sendOne);
    expect([got.status, readError(got).code]).toEqual([401, "upstream_authentication_failed"]);
    expect(got.text).not.toContain("platform.openai.com");
  });
});

describe("a provider that writes white space and members that nobody knows", () => {
  it.each([
    ["a short response", "iVBORw0KGgo="],
    ["a response of a megabyte", Buffer.alloc(750_000, 7).toString("base64")],
  ])("%s has the same values in the same order", async (_name, image) => {
    const body = {
      created: 1763683200,
      data: [{ b64_json: image, revised_prompt: 'un "renard" 🦊\n', score: 0.30000000000000004 }],
      usage: { total_tokens: 20, input_tokens: 10, output_tokens: 10, more: { cached: null } },
      safety_identifier: "s-1",
      size: "1024x1024",
    };
    const provider = await listen((_request, response) => {
      response.setHeader("content-type", "application/json").end(JSON.stringify(body, null, 2));
    });
    onTestFinished(provider.close);
    const channel = { id: "c", family: "openai", apiKey: "provider-key-0001", baseUrl: `${provider.url}/v1` };
    const { url } = await start({ options: { channels: [channel] } });
    const { text } = await exchange(through(url), sendOne);
    // Only the white space differs, and OpenAI's details of the input are added.
    const usage = { ...body.usage, input_tokens_details: { text_tokens: 10, image_tokens: 0 } };
    expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify({ ...body, usage }));
  });
});
