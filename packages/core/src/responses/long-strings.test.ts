import { describe, expect, it, vi } from "vitest";
import { gemini } from "../families/gemini/gemini.js";
import type { ResultStore } from "../features/results/store.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import { cutEvery } from "../testing/cut-bytes.js";
import { createPost, createTestGateway, type TestGateway } from "../testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { type LongString, LongStrings } from "./long-strings.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const KEPT = 128 * 1024;

/** Pushes a document in chunks of this size. */
function read(
  json: string,
  chunkBytes: number,
): { readonly strings: LongStrings; readonly value: JsonObject } {
  const strings = new LongStrings();
  for (const chunk of cutEvery(encoder.encode(json), chunkBytes)) strings.push(chunk.slice());
  return { strings, value: JSON.parse(decoder.decode(strings.text)) as JsonObject };
}

/** The bytes of a long string that is held. */
const join = (found: LongString | undefined): string =>
  decoder.decode(Buffer.concat(found !== undefined && "bytes" in found ? found.bytes : []));

describe("the long strings of a document", () => {
  it.each([7, 65_536, 1_000_000])("are taken out of it, in chunks of %d bytes", (chunkBytes) => {
    const long = "A".repeat(KEPT + 1);
    const longer = `${"B+/".repeat(60_000)}==`;
    const rest = {
      text: 'x "y" \\ {[',
      number: 1.5,
      list: [1, null, { "a b": "" }],
      whole: "C".repeat(KEPT),
    };
    const { strings, value } = read(JSON.stringify({ long, ...rest, deep: [{ longer }] }), chunkBytes);

    const { long: shortLong, deep, ...others } = value;
    const [{ longer: shortLonger } = { longer: "" }] = deep as readonly { readonly longer: string }[];
    expect(others).toEqual(rest);
    expect(String(shortLong).startsWith(long.slice(0, KEPT))).toBe(true);
    expect(join(strings.find(String(shortLong))) === JSON.stringify(long)).toBe(true);
    expect(shortLonger.slice(0, KEPT) === longer.slice(0, KEPT)).toBe(true);
    expect(join(strings.find(shortLonger)) === JSON.stringify(longer)).toBe(true);
    expect(strings.find(rest.whole)).toBeUndefined();
    expect(strings.find("")).toBeUndefined();
  });

  it("may have escapes at any place", () => {
    for (const escape of ["\\/", "\\u002b", "\\\\", '\\"', "ä", "🦊"]) {
      for (let before = KEPT - 8; before <= KEPT; before++) {
        const written = `"${"A".repeat(before)}${escape.repeat(9)}"`;
        const { strings, value } = read(`{"a":${written},"b":1}`, 50_000);
        expect(value["b"]).toBe(1);
        expect(String(value["a"]).startsWith("A".repeat(before))).toBe(true);
        expect(join(strings.find(String(value["a"]))) === written).toBe(true);
      }
    }
  });

  it("must not be changed by a family", () => {
    const { strings, value } = read(JSON.stringify({ a: "A".repeat(KEPT + 1) }), 1_000);
    expect(() => strings.find(`${String(value["a"])}=`)).toThrow("A family changed base64 that was cut.");
  });
});

const MODEL = "gemini-nano-banana-2.1";

/** A PNG of 1280x720 by its first bytes. */
function createPng(seed: number, length: number): Buffer {
  const bytes = Buffer.alloc(length, seed + 1);
  bytes.set(Buffer.from("iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAAB", "base64"));
  return bytes;
}

type Part = JsonObject;

const part = (image: Buffer, rest: JsonObject = {}): Part => ({
  inlineData: { mimeType: "image/png", data: image.toString("base64") },
  ...rest,
});

const toText = (...parts: readonly Part[]): string =>
  JSON.stringify({
    candidates: [{ content: { role: "model", parts: [{ text: "Here." }, ...parts] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1130, totalTokenCount: 1133 },
    responseId: "r-1",
  });

function respond(text: string, error?: Error): Response {
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield* cutEvery(encoder.encode(text), 60_000);
    await Promise.resolve();
    if (error !== undefined) throw error;
  };
  return new Response(ReadableStream.from(body()), { headers: { "content-type": "application/json" } });
}

function start(provider: () => Response, options: Partial<GatewayOptions> = {}): TestGateway {
  return createTestGateway(provider, {
    families: [gemini],
    models: { [MODEL]: { family: "gemini" } },
    channels: [{ id: "google", family: "gemini", apiKey: "key-of-google" }],
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    ...options,
  });
}

const request = { model: MODEL, prompt: "a fox" };
const imagesOf = ({ body }: { readonly body: JsonObject }): readonly JsonObject[] =>
  Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
const described = (image: Buffer): JsonObject => ({
  b64_json: image.toString("base64"),
  size: "1280x720",
  output_format: "png",
});

/** Held, and sent while it is held. */
const SIZES = [300_000, 4_000_000];

describe("a large image of Gemini", () => {
  it.each(SIZES)("is delivered with its facts: %d bytes", async (length) => {
    const images = [createPng(0, length), createPng(1, length)];
    const [first, second] = images.map((image) => part(image));
    const draft = part(createPng(2, length), { thought: true });
    const { post, records } = start(() =>
      respond(toText(draft, first ?? {}, part(createPng(3, 900)), second ?? {})),
    );
    const response = await post(request);
    expect(response.body).toMatchObject({
      model: MODEL,
      output_format: "png",
      usage: { input_tokens: 3, total_tokens: 1133 },
    });
    const expected = [images[0], createPng(3, 900), images[1]].map((image) => described(image as Buffer));
    expect(imagesOf(response).length).toBe(3);
    for (const [at, image] of imagesOf(response).entries()) {
      expect({ ...image, b64_json: image["b64_json"] === expected[at]?.["b64_json"] }).toEqual({
        ...expected[at],
        b64_json: true,
      });
    }
    expect(records).toMatchObject([{ images: 3, upstreamRequestId: "r-1", usage: { generated_images: 3 } }]);
  });

  it.each(SIZES)("is an event of OpenAI's stream: %d bytes", async (length) => {
    const image = createPng(0, length);
    const { post } = start(() => respond(toText(part(image))), { streamFormat: "openai" });
    const { text } = await post({ ...request, stream: true });
    const [event = ""] = text.split("\n\n");
    const data = JSON.parse(event.slice(event.indexOf("data: ") + 6)) as JsonObject;
    expect(data["b64_json"] === image.toString("base64")).toBe(true);
    expect(data).toMatchObject({ size: "1280x720", output_format: "png", usage: { total_tokens: 1133 } });
  });

  it.each(SIZES)("is stored, alone and in several calls: %d bytes", async (length) => {
    const stored: Buffer[] = [];
    const store: ResultStore = {
      link: ({ id }) => `https://store.test/${id}`,
      async put({ body }) {
        const chunks: Uint8Array[] = [];
        for await (const chunk of body) chunks.push(chunk.slice());
        stored.push(Buffer.concat(chunks));
      },
    };
    let calls = 0;
    const { post } = start(() => respond(toText(part(createPng(calls++, length)))), { results: { store } });
    for (const [n, format] of [
      [1, "url"],
      [1, "b64_json"],
      [2, "url"],
      [2, "b64_json"],
    ] as const) {
      const from = calls;
      const images = imagesOf(await post({ ...request, n, response_format: format }));
      expect(images).toHaveLength(n);
      for (const [at, image] of images.entries()) {
        const original = createPng(from + at, length);
        expect(stored.some((each) => each.equals(original))).toBe(true);
        expect(image[format === "url" ? "url" : "stored_url"]).toMatch(/^https:\/\/store\.test\//);
        const sent = format === "url" ? undefined : original.toString("base64");
        expect(image["b64_json"] === sent).toBe(true);
      }
    }
    expect(stored).toHaveLength(6);
  });

  it.each<[string, Error | undefined]>([
    ["breaks off", new Error("reset")],
    ["ends", undefined],
  ])("is an error if the response %s inside it", async (_what, error) => {
    const { post, records } = start(() =>
      respond(toText(part(createPng(0, 300_000))).slice(0, 250_000), error),
    );
    const { status, body } = await post(request);
    expect(status).toBe(502);
    expect(body).toMatchObject({ error: { code: "upstream_invalid_response" } });
    expect(records).toMatchObject([{ images: 0, charge: "0" }]);
  });

  it("is charged if the client leaves while it is sent", async () => {
    const { gateway, records } = start(() => respond(toText(part(createPng(0, 4_000_000)))));
    const response = await gateway.fetch(createPost(request));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 1, charge: "0.1", status: 200 }]));
  });
});
