import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { Fault } from "../faults/fault.js";
import { countColor, dataUrl, inspect } from "../test-support/images.js";
import { readEvents } from "../test-support/read-events.js";

const model = "gemini-nano-banana-2.1";

interface GeminiPart {
  readonly text?: string;
  readonly thought?: true;
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
}

interface GeminiBody {
  readonly candidates?: readonly { content?: { parts: readonly GeminiPart[] }; finishReason?: string }[];
  readonly promptFeedback?: { readonly blockReason: string };
  readonly usageMetadata?: Readonly<Record<string, unknown>>;
  readonly error?: { code: number; message: string; status: string; details?: readonly object[] };
}

interface AskedGemini {
  readonly name?: string;
  readonly method?: string;
  readonly parts?: readonly object[];
  readonly config?: object;
  readonly fields?: object;
}

async function ask(emulator: Emulator, asked: AskedGemini = {}) {
  const {
    name = model,
    method = "generateContent",
    parts = [{ text: "a fox" }],
    config,
    fields = {},
  } = asked;
  const response = await emulator.fetch(`http://emulator.test/gemini/v1beta/models/${name}:${method}`, {
    method: "POST",
    headers: { "x-goog-api-key": "k", "content-type": "application/json" },
    body: JSON.stringify({ contents: [{ role: "user", parts }], generationConfig: config, ...fields }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as GeminiBody,
  };
}

function under(fault: Fault): Emulator {
  const emulator = createEmulator({ images: "tiny" });
  emulator.faults.add(fault);
  return emulator;
}

describe("generateContent", () => {
  it("responds with a text, an image and the usage by modality", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const { status, body } = await ask(emulator);
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "Here is your image." },
              {
                inlineData: { mimeType: "image/jpeg", data: expect.any(String) },
                thoughtSignature: expect.any(String),
              },
            ],
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: 2,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: 2 }],
        candidatesTokenCount: 1126,
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1120 }],
        thoughtsTokenCount: 150,
        totalTokenCount: 1278,
      },
      modelVersion: model,
      responseId: expect.stringMatching(/^[0-9a-f]{22}$/),
    });
    expect(emulator.requests[0]).toMatchObject({ route: "gemini", body: { contents: [{ role: "user" }] } });
  });

  it.each([
    ["gemini-nano-banana-2.1", { aspectRatio: "16:9", imageSize: "2K" }, "jpeg", 2736, 1536, 1680],
    ["gemini-nano-banana-2.1", { aspectRatio: "1:8" }, "jpeg", 368, 2896, 1120],
    ["gemini-3-pro-image", { imageSize: "4K" }, "jpeg", 4096, 4096, 2000],
    ["gemini-3.1-flash-lite-image", { aspectRatio: "3:2" }, "jpeg", 1248, 832, 1120],
    ["gemini-2.5-flash-image", {}, "png", 1024, 1024, 1290],
  ])("%s draws %j", async (name, imageConfig, format, width, height, tokens) => {
    const config = { responseModalities: ["IMAGE"], imageConfig };
    const { body } = await ask(createEmulator(), { name, config });
    const [part, ...others] = body.candidates?.[0]?.content?.parts ?? [];
    expect(others).toEqual([]);
    const image = await inspect(Buffer.from(part?.inlineData?.data ?? "", "base64"));
    expect(image).toMatchObject({ format, width, height });
    expect(body.usageMetadata?.candidatesTokenCount).toBe(tokens);
  });

  it("draws its input images, in their ratio", async () => {
    const url = await dataUrl({ width: 128, height: 64, color: "#20c040" });
    const data = url.replace(/^.*,/, "");
    const parts = [
      { text: "a fox" },
      { inlineData: { mimeType: "image/png", data } },
      { inline_data: { mime_type: "image/png", data } },
    ];
    const { body } = await ask(createEmulator(), { parts });
    const image = await inspect(
      Buffer.from(body.candidates?.[0]?.content?.parts[1]?.inlineData?.data ?? "", "base64"),
    );
    expect(image.width / image.height).toBeCloseTo(2, 1);
    expect(countColor(image, [32, 192, 64])).toBeGreaterThan(5000);
    expect(body.usageMetadata?.promptTokensDetails).toContainEqual({ modality: "IMAGE", tokenCount: 516 });
  });

  it("returns its thoughts, with a draft image, on request and under a fault", async () => {
    const config = { thinkingConfig: { includeThoughts: true } };
    for (const { body } of [await ask(createEmulator(), { config }), await ask(under({ thoughts: true }))]) {
      const parts = body.candidates?.[0]?.content?.parts ?? [];
      expect(parts.map(({ thought }) => thought === true)).toEqual([true, true, false, false]);
      expect(parts[1]?.inlineData).toBeDefined();
    }
  });

  it("takes the key as a parameter too", async () => {
    const init = { method: "POST", body: JSON.stringify({ contents: [{ parts: [{ text: "a fox" }] }] }) };
    const url = `http://emulator.test/gemini/v1beta/models/${model}:generateContent?key=k`;
    expect((await createEmulator({ images: "tiny" }).fetch(url, init)).status).toBe(200);
  });
});

describe("Gemini blocks with 200", () => {
  it.each<[Fault, string]>([
    [{ finishReason: "IMAGE_SAFETY" }, "IMAGE_SAFETY"],
    [{ finishReason: "NO_IMAGE" }, "NO_IMAGE"],
    [{ failImages: [{ index: 0 }] }, "IMAGE_SAFETY"],
  ])("a candidate without parts: %j", async (fault, finishReason) => {
    const { status, body } = await ask(under(fault));
    expect(status).toBe(200);
    expect(body.candidates).toEqual([{ finishReason, index: 0 }]);
    expect(body.usageMetadata).toMatchObject({
      promptTokenCount: 2,
      thoughtsTokenCount: 150,
      totalTokenCount: 152,
    });
  });

  it("no candidate at all", async () => {
    for (const asked of [
      ask(under({ blockReason: "SAFETY" })),
      ask(createEmulator(), { parts: [{ text: "PROHIBITED_CONTENT" }] }),
    ]) {
      const { status, body } = await asked;
      expect([status, body.candidates]).toEqual([200, undefined]);
      expect(body.promptFeedback?.blockReason).toMatch(/^(?:SAFETY|PROHIBITED_CONTENT)$/);
      expect(body.usageMetadata).toHaveProperty("promptTokenCount");
    }
  });

  it("a text instead of an image, or several images", async () => {
    const { body } = await ask(under({ noImages: true }));
    expect(body.candidates).toMatchObject([
      { content: { parts: [{ text: expect.any(String) }] }, finishReason: "STOP" },
    ]);
    const several = await ask(under({ imagesPerResponse: 2 }));
    expect(several.body.candidates?.[0]?.content?.parts).toHaveLength(3);
    expect(several.body.usageMetadata?.candidatesTokenCount).toBe(2246);
  });
});

describe("Gemini refuses", () => {
  it.each<[AskedGemini, number, string, string]>([
    [{ name: "gemini-3.1-flash-image-preview" }, 404, "NOT_FOUND", "is not found for API version v1beta"],
    [{ fields: { n: 2 } }, 400, "INVALID_ARGUMENT", 'Unknown name "n"'],
    [{ config: { candidateCount: 2 } }, 400, "INVALID_ARGUMENT", "Multiple candidates"],
    [{ config: { imageConfig: { imageSize: "1k" } } }, 400, "INVALID_ARGUMENT", "image_size"],
    [
      { name: "gemini-3.1-flash-lite-image", config: { imageConfig: { imageSize: "1K" } } },
      400,
      "INVALID_ARGUMENT",
      "not supported",
    ],
    [
      { name: "gemini-3-pro-image", config: { imageConfig: { aspectRatio: "1:8" } } },
      400,
      "INVALID_ARGUMENT",
      "aspect_ratio",
    ],
    [
      { config: { imageConfig: { outputMimeType: "image/png" } } },
      400,
      "INVALID_ARGUMENT",
      "Cannot find field",
    ],
    [{ parts: [] }, 400, "INVALID_ARGUMENT", "must not be empty"],
    [
      { parts: [{ inlineData: { mimeType: "image/png", data: "data:x" } }] },
      400,
      "INVALID_ARGUMENT",
      "Base64",
    ],
    [{ parts: [{ inlineData: { mimeType: "text/plain", data: "" } }] }, 400, "INVALID_ARGUMENT", "MIME type"],
    [{ parts: [{ fileData: { fileUri: "files/x" } }] }, 403, "PERMISSION_DENIED", "files/x"],
  ])("%j", async (asked, status, name, message) => {
    const { body, ...response } = await ask(createEmulator(), asked);
    expect([response.status, body.error]).toMatchObject([status, { code: status, status: name }]);
    expect(body.error?.message).toContain(message);
  });

  it.each<[Fault, number, object]>([
    [
      { code: "RESOURCE_EXHAUSTED", retryAfterSeconds: 34 },
      429,
      {
        status: "RESOURCE_EXHAUSTED",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            violations: [{ quotaId: expect.stringContaining("PerMinute") }],
          },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" },
        ],
      },
    ],
    [{ code: "RESOURCE_EXHAUSTED_PER_DAY" }, 429, { status: "RESOURCE_EXHAUSTED" }],
    [{ wrongKey: true }, 400, { status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] }],
    [{ status: 503 }, 503, { status: "UNAVAILABLE" }],
    [{ code: "DEADLINE_EXCEEDED" }, 504, { code: 504 }],
  ])("under the fault %j", async (fault, status, error) => {
    const response = await ask(under(fault));
    expect([response.status, response.body.error]).toMatchObject([status, error]);
    expect(response.headers.get("retry-after")).toBeNull();
  });
});

describe("streamGenerateContent", () => {
  const method = "streamGenerateContent?alt=sse";

  it("sends whole responses without event names and [DONE], the usage in the last one", async () => {
    const { headers, text } = await ask(createEmulator({ images: "tiny" }), { method });
    expect(headers.get("content-type")).toContain("text/event-stream");
    const events = readEvents(text);
    expect(events.map(({ event }) => event)).toEqual([undefined, undefined, undefined]);
    const chunks = events.map(({ data }) => JSON.parse(data) as GeminiBody);
    expect(chunks.map((chunk) => chunk.candidates?.[0]?.finishReason)).toEqual([
      undefined,
      undefined,
      "STOP",
    ]);
    expect(chunks[1]?.candidates?.[0]?.content?.parts[0]).toHaveProperty("inlineData.data");
    expect(chunks.map((chunk) => "usageMetadata" in chunk)).toEqual([false, false, true]);
  });

  it("is an array of the chunks without alt=sse", async () => {
    const { body } = await ask(createEmulator({ images: "tiny" }), { method: "streamGenerateContent" });
    expect(body).toHaveLength(3);
  });

  it("breaks with an error in the stream", async () => {
    const { text } = await ask(under({ streamErrorAfterImages: 1, code: "UNAVAILABLE" }), { method });
    expect(JSON.parse(readEvents(text).at(-1)?.data ?? "")).toMatchObject({
      error: { code: 503, status: "UNAVAILABLE" },
    });
  });
});

describe("Vertex AI", () => {
  const url = "http://emulator.test/vertex/v1/projects/p-1/locations/europe-west4/publishers/google/models";
  const send = (headers: Record<string, string>) =>
    createEmulator({ images: "tiny", apiKeys: { vertex: ["token-1"] } }).fetch(
      `${url}/gemini-3-pro-image:generateContent`,
      {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "a fox" }] }] }),
      },
    );

  it("has the models of Gemini at the address of a project, for an access token", async () => {
    const response = await send({ authorization: "Bearer token-1" });
    expect([response.status, await response.json()]).toMatchObject([200, { candidates: [{}] }]);
  });

  it.each([{ authorization: "Bearer old" }, { "x-goog-api-key": "token-1" }])(
    "refuses %j",
    async (headers) => {
      const response = await send(headers);
      expect([response.status, await response.json()]).toMatchObject([
        401,
        { error: { status: "UNAUTHENTICATED" } },
      ]);
    },
  );
});
