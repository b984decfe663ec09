import { describe, expect, it } from "vitest";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import { gemini } from "./gemini.js";
import { fromGemini } from "./response.js";

const PNG = "iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAAB";
const REQUEST: ImageRequest = gemini.normalize(
  { prompt: "a fox" },
  {
    operation: "generate",
    model: "pic",
    capabilities: gemini.findCapabilities?.("gemini-3-pro-image"),
    defaultResponseFormat: undefined,
  },
);

const image = (data = PNG, mimeType = "image/png"): JsonObject => ({ inlineData: { mimeType, data } });

/** A response with these parts in one candidate. */
function withParts(parts: readonly unknown[], rest: JsonObject = {}): JsonObject {
  return { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }], ...rest };
}

/** A response whose candidate has no content. */
const finished = (finishReason: string, rest: JsonObject = {}): JsonObject => ({
  candidates: [{ finishReason, ...rest }],
});

/** Entries of the details of tokens. */
const text = (tokenCount: number): JsonObject => ({ modality: "TEXT", tokenCount });
const ofImage = (tokenCount: number): JsonObject => ({ modality: "IMAGE", tokenCount });

const read = (body: JsonObject) => fromGemini(body, REQUEST);

describe("the images of a response", () => {
  it("have their size and format, and the response has the service name", () => {
    expect(read(withParts([{ text: "Here." }, image()], { responseId: "r-1", modelVersion: "x" }))).toEqual({
      images: [{ b64_json: PNG, size: "1280x720", output_format: "png" }],
      errors: [],
      failure: undefined,
      usage: { generated_images: 1 },
      upstreamRequestId: "r-1",
      fields: { model: "pic", output_format: "png" },
    });
  });

  it.each<[string, readonly unknown[], number]>([
    ["all parts", [image(), image("/9j/x", "image/jpeg")], 2],
    ["no drafts", [{ ...image(), thought: true }, image()], 1],
    ["drafts only", [{ ...image(), thought: true }], 0],
    ["no other media", [image("AAAA", "video/mp4")], 0],
    ["no empty data", [image("")], 0],
    ["nothing of junk", [null, 1, "x", [], { inlineData: 1 }, { inlineData: { data: "AAAA" } }], 0],
  ])("are %s", (_what, parts, count) => {
    expect(read(withParts(parts)).images).toHaveLength(count);
  });

  it("are those of all candidates", () => {
    const [one] = withParts([image()])["candidates"] as unknown[];
    expect(read({ candidates: [one, one] }).images).toHaveLength(2);
  });
});

describe("a response without an image", () => {
  it.each<[JsonObject, string, string]>([
    ...["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "SOMETHING_NEW"].map(
      (blockReason): [JsonObject, string, string] => [
        { promptFeedback: { blockReason } },
        "content",
        blockReason,
      ],
    ),
    ...[
      "SAFETY",
      "RECITATION",
      "LANGUAGE",
      "BLOCKLIST",
      "PROHIBITED_CONTENT",
      "SPII",
      "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT",
      "IMAGE_RECITATION",
    ].map((reason): [JsonObject, string, string] => [finished(reason), "content", reason]),
    ...["NO_IMAGE", "IMAGE_OTHER", "OTHER", "MAX_TOKENS", "MALFORMED_RESPONSE", "SOMETHING_NEW"].map(
      (reason): [JsonObject, string, string] => [finished(reason), "server", reason],
    ),
    [finished("STOP"), "server", "NO_IMAGE"],
    [{}, "server", "NO_IMAGE"],
    [{ candidates: [] }, "server", "NO_IMAGE"],
    [{ error: { code: 503, status: "UNAVAILABLE", message: "Busy." } }, "overload", "UNAVAILABLE"],
    [{ error: { code: 400, status: "INVALID_ARGUMENT" } }, "content", "INVALID_ARGUMENT"],
  ])("%j is a failure of kind %s with the code %s", (body, kind, code) => {
    expect(read(body).failure).toMatchObject({ kind, code, message: expect.stringMatching(/\S/) });
  });

  it("has the provider's message, or the model's text", () => {
    expect(read(finished("IMAGE_SAFETY", { finishMessage: "Not this." })).failure?.message).toBe("Not this.");
    const { failure } = read(
      withParts([{ text: "I cannot " }, { text: "draw that." }, { text: "x".repeat(900) }]),
    );
    expect(failure?.message).toMatch(
      /^The provider made no image \(STOP\)\. The model said: I cannot draw that\.x+$/,
    );
    expect(failure?.message.length).toBeLessThan(400);
  });

  it("with usage counts no image, and without usage reports nothing", () => {
    const usageMetadata = { promptTokenCount: 4, totalTokenCount: 4 };
    expect(read({ ...finished("SAFETY"), usageMetadata }).usage).toMatchObject({
      generated_images: 0,
      total_tokens: 4,
    });
    expect(read(finished("SAFETY")).usage).toBeUndefined();
  });

  it("is not a failure if it has an image", () => {
    const [candidate] = withParts([image()])["candidates"] as JsonObject[];
    expect(read({ candidates: [{ ...candidate, finishReason: "MAX_TOKENS" }] }).failure).toBeUndefined();
  });
});

describe("the usage", () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      "of all kinds",
      {
        promptTokenCount: 270,
        promptTokensDetails: [text(12), ofImage(258)],
        candidatesTokenCount: 1126,
        candidatesTokensDetails: [ofImage(1120)],
        thoughtsTokenCount: 150,
        totalTokenCount: 1546,
      },
      {
        output_tokens: 1276,
        total_tokens: 1546,
        output_image_tokens: 1120,
        output_text_tokens: 156,
        input_text_tokens: 12,
        input_image_tokens: 258,
      },
    ],
    [
      "with a cache",
      {
        promptTokenCount: 270,
        promptTokensDetails: [text(12), ofImage(258)],
        cachedContentTokenCount: 100,
        cacheTokensDetails: [ofImage(90), text(10)],
        candidatesTokenCount: 1120,
        candidatesTokensDetails: [ofImage(1120)],
        totalTokenCount: 1390,
      },
      {
        output_tokens: 1120,
        total_tokens: 1390,
        output_image_tokens: 1120,
        input_text_tokens: 2,
        input_image_tokens: 168,
        cached_input_tokens: 100,
      },
    ],
    [
      "without details counts an image as its size says",
      { promptTokenCount: 5, candidatesTokenCount: 1130, totalTokenCount: 1135 },
      { output_tokens: 1130, total_tokens: 1135, output_image_tokens: 1120, output_text_tokens: 10 },
    ],
    [
      "with tokens of tools",
      { promptTokenCount: 5, toolUsePromptTokenCount: 20, candidatesTokenCount: 1120, totalTokenCount: 1145 },
      { output_tokens: 1120, total_tokens: 1145, output_image_tokens: 1120 },
    ],
    [
      "with a total below its parts",
      { promptTokenCount: 5, candidatesTokenCount: 1120, totalTokenCount: 5 },
      { output_tokens: 1120, total_tokens: 1125, output_image_tokens: 1120 },
    ],
    [
      "with more image tokens than tokens",
      { candidatesTokenCount: 10, candidatesTokensDetails: [ofImage(1e6)], totalTokenCount: 10 },
      { output_tokens: 10, total_tokens: 10, output_image_tokens: 10 },
    ],
    ["that is not a number", { promptTokenCount: "5", totalTokenCount: -1 }, {}],
  ])("%s", (_what, usageMetadata, expected) => {
    expect(read(withParts([image()], { usageMetadata })).usage).toEqual({ generated_images: 1, ...expected });
  });

  it("is shown in OpenAI's names, without the counts that every family has", () => {
    const usageMetadata = {
      promptTokenCount: 12,
      promptTokensDetails: [text(12)],
      candidatesTokenCount: 1120,
      candidatesTokensDetails: [ofImage(1120)],
      thoughtsTokenCount: 30,
      totalTokenCount: 1162,
    };
    expect(read(withParts([image()], { usageMetadata })).fields["usage"]).toEqual({
      input_tokens_details: { text_tokens: 12, image_tokens: 0 },
      output_tokens_details: { image_tokens: 1120, text_tokens: 30 },
    });
  });
});
