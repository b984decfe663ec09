import { ApiError, type GenerateContentResponse, GoogleGenAI } from "@google/genai";
import { describe, expect, it, vi } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { decode, drawPng, toDataUrl } from "./support/images.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, QWEN_IMAGE_2, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders({ images: "tiny", millisecondsPerImage: 100 });

async function connect(apiKey = CALLER_KEY, options: Parameters<typeof serve>[1] = {}) {
  const { url, records } = await serve(providers(), {
    basePath: "/google",
    geminiEndpoint: true,
    ...options,
  });
  const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/google` } });
  return { models: client.models, chats: client.chats, records, url };
}

/** The getter `data` of the SDK writes a warning if there are several candidates. */
const dataOf = ({ candidates }: GenerateContentResponse): Buffer =>
  Buffer.from(candidates?.[0]?.content?.parts?.[0]?.inlineData?.data ?? "", "base64");

describe("@google/genai", () => {
  it.each([SEEDREAM, QWEN_IMAGE_2])(
    "generates and edits images with %s, which are charged",
    async (model) => {
      const { models, records } = await connect();
      const png = await drawPng(1);

      const made = await models.generateContent({
        model,
        contents: "2 images of a fox",
        config: { candidateCount: 2, responseModalities: ["IMAGE"], imageConfig: { aspectRatio: "1:1" } },
      });
      const edited = await models.generateContent({
        model,
        contents: [
          { text: "at night" },
          { inlineData: { mimeType: "image/png", data: png.toString("base64") } },
        ],
      });

      expect(made.candidates).toHaveLength(2);
      expect(await decode(dataOf(made))).toMatchObject({ format: expect.stringMatching(/png|jpeg/) });
      expect(await decode(dataOf(edited))).toMatchObject({ format: expect.any(String) });
      expect(JSON.stringify(sentUpstream(providers())[1])).toContain(toDataUrl(png));
      expect(records).toMatchObject([{ images: 2 }, { images: 1 }]);
    },
  );

  it("streams the images as they arrive, keeps them in a chat, and is charged for all if the client leaves", async () => {
    const { models, chats, records } = await connect();
    const request = { model: SEEDREAM, contents: "3 images of a fox", config: { candidateCount: 3 } };
    for await (const chunk of await models.generateContentStream(request)) {
      expect([chunk.candidates?.[0]?.index, records.length]).toEqual([0, 0]);
      break;
    }
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 3, charge: "0.09" }]), 5_000);

    const chat = chats.create({ model: SEEDREAM });
    for await (const { data } of await chat.sendMessageStream({ message: "a fox" }))
      expect(data).not.toBe("");
    const second = await chat.sendMessage({ message: "an owl" });
    expect(second.usageMetadata?.totalTokenCount).toBeGreaterThan(0);
    expect(chat.getHistory(true)).toHaveLength(4);
  });

  it("reads each field of a result", async () => {
    const { models } = await connect();
    const made = await models.generateContent({ model: SEEDREAM, contents: "a fox" });

    expect(made).toMatchObject({
      candidates: [
        {
          index: 0,
          finishReason: "STOP",
          content: {
            role: "model",
            parts: [{ inlineData: { mimeType: expect.stringMatching(/^image\//), data: made.data } }],
          },
        },
      ],
      modelVersion: SEEDREAM,
      responseId: expect.stringMatching(/^req_/),
      usageMetadata: { candidatesTokenCount: expect.any(Number), totalTokenCount: expect.any(Number) },
      sdkHttpResponse: { headers: { "x-request-id": made.responseId } },
    });
    expect(made.data).not.toBe("");
  });

  it("throws an ApiError with the status and the reason", async () => {
    const { models, records } = await connect();
    const wrongKey = await connect("wrong");
    const errors = [
      await failureOf(models.generateContent({ model: SEEDREAM, contents: [{ text: " " }] })),
      await failureOf(models.generateContent({ model: "none", contents: "a fox" })),
      await failureOf(wrongKey.models.generateContent({ model: SEEDREAM, contents: "a fox" })),
    ];
    expect(errors).toMatchObject([400, 404, 401].map((status) => ({ status })));
    expect(errors[0]).toBeInstanceOf(ApiError);
    expect(errors.map(String)).toEqual(
      ["INVALID_ARGUMENT", "NOT_FOUND", "UNAUTHENTICATED"].map((name) => expect.stringContaining(name)),
    );
    expect(records).toEqual([]);
  });
});
