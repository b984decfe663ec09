import { describe, expect, it } from "vitest";
import { createFamilyChecks } from "../../family-suite/create-family-checks.js";
import type { FamilySubject } from "../../family-suite/subject.js";
import { gemini } from "./gemini.js";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Bodies in the form of Google's SDK. */
const SUBJECT: FamilySubject = {
  family: gemini,
  model: "gemini-nano-banana-2.1",
  exchanges: [
    {
      name: "an image with a text, a draft and thoughts",
      request: { fields: { prompt: "a fox", size: "2K" } },
      response: {
        body: {
          candidates: [
            {
              content: {
                role: "model",
                parts: [
                  { text: "**Composing**", thought: true },
                  { inlineData: { mimeType: "image/png", data: PNG }, thought: true },
                  { text: "Here is your image." },
                  { inlineData: { mimeType: "image/png", data: PNG }, thoughtSignature: "c2ln" },
                ],
              },
              finishReason: "STOP",
              index: 0,
            },
          ],
          usageMetadata: {
            promptTokenCount: 3,
            promptTokensDetails: [{ modality: "TEXT", tokenCount: 3 }],
            candidatesTokenCount: 1686,
            candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1680 }],
            thoughtsTokenCount: 150,
            totalTokenCount: 1839,
          },
          modelVersion: "gemini-nano-banana-2.1",
          responseId: "r-1",
        },
      },
      expects: {
        images: 1,
        usage: {
          generated_images: 1,
          output_tokens: 1836,
          total_tokens: 1839,
          output_image_tokens: 1680,
          output_text_tokens: 156,
          input_text_tokens: 3,
        },
      },
    },
    {
      name: "an edit without usage",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: {
        body: {
          candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: PNG } }] } }],
        },
      },
      expects: { images: 1, usage: { generated_images: 1 } },
    },
    {
      name: "a prompt that is blocked",
      request: { fields: { prompt: "a fox" } },
      response: {
        body: {
          promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
          usageMetadata: {
            promptTokenCount: 3,
            promptTokensDetails: [{ modality: "TEXT", tokenCount: 3 }],
            totalTokenCount: 3,
          },
        },
      },
      expects: {
        images: 0,
        status: 400,
        code: "PROHIBITED_CONTENT",
        usage: { generated_images: 0, output_tokens: 0, total_tokens: 3, input_text_tokens: 3 },
      },
    },
    {
      name: "an image that is refused, without usage",
      request: { fields: { prompt: "a fox" } },
      response: { body: { candidates: [{ finishReason: "IMAGE_SAFETY", index: 0 }] } },
      expects: { images: 0, status: 400, code: "IMAGE_SAFETY" },
    },
    {
      name: "a text only, without usage",
      request: { fields: { prompt: "a fox" } },
      response: {
        body: { candidates: [{ content: { parts: [{ text: "A fox is red." }] }, finishReason: "STOP" }] },
      },
      expects: { images: 0, status: 502, code: "NO_IMAGE" },
    },
  ],
  failures: [
    error(400, "INVALID_ARGUMENT", "content"),
    { ...error(400, "INVALID_ARGUMENT", "credential", "API_KEY_INVALID") },
    error(403, "PERMISSION_DENIED", "credential"),
    error(404, "NOT_FOUND", "model"),
    error(429, "RESOURCE_EXHAUSTED", "rate"),
    error(500, "INTERNAL", "server"),
    error(503, "UNAVAILABLE", "overload"),
    error(504, "DEADLINE_EXCEEDED", "server"),
  ],
};

function error(
  code: number,
  status: string,
  kind: FamilySubject["failures"][number]["kind"],
  reason?: string,
): FamilySubject["failures"][number] {
  const type = "type.googleapis.com/google.rpc.ErrorInfo";
  const details = reason === undefined ? {} : { details: [{ "@type": type, reason }] };
  return { status: code, kind, body: { error: { code, status, message: "No.", ...details } } };
}

describe("the family gemini", () => {
  it.each(createFamilyChecks(SUBJECT))("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
