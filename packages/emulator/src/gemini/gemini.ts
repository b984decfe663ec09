import { readBearerKey, readKeyHeader } from "../http/read-key.js";
import { jsonResponse } from "../http/responses.js";
import type { Provider } from "../provider.js";
import { randomHex } from "../random.js";
import { geminiCodeForStatus } from "./error-codes.js";
import { describeGeminiError, geminiRefusal, invalidArgument, renderGeminiRefusal } from "./errors.js";
import { generateContent, streamGenerateContent } from "./generation.js";

/** Google's Gemini API with the image models. The model is in the path. */
export const gemini: Provider = {
  name: "gemini",
  basePaths: ["/gemini/v1beta/"],
  operations: [
    {
      kind: "generation",
      method: "POST",
      path: /^models\/(?<model>[^/:]+):generateContent$/,
      respond: generateContent,
    },
    {
      kind: "generation",
      method: "POST",
      path: /^models\/(?<model>[^/:]+):streamGenerateContent$/,
      respond: streamGenerateContent,
    },
  ],
  readKey: (request) =>
    readKeyHeader(request, "x-goog-api-key") ?? (new URL(request.url).searchParams.get("key") || undefined),
  wrongKey: () => geminiRefusal("API_KEY_INVALID"),
  bodyTooLarge: () => invalidArgument("Request payload size exceeds the limit."),
  bodyNotJson: () => invalidArgument("Invalid JSON payload received. Unexpected end of input."),
  // It has no header of its own: the body has it as `responseId`.
  createRequestId: ({ random }) => randomHex(random, 22),
  headersOf: (_requestId, milliseconds) => ({ "server-timing": `gfet4t7; dur=${milliseconds}` }),
  acceptedKeys: ({ settings }) => settings.apiKeys?.gemini,
  codeForStatus: geminiCodeForStatus,
  renderRefusal: (refusal) => renderGeminiRefusal(refusal),
  renderNotFound: () => {
    const message = "The requested path was not found.";
    const body = describeGeminiError({
      code: "NOT_FOUND",
      message,
      status: 404,
      retryAfterSeconds: undefined,
    });
    return jsonResponse(body, 404);
  },
};

/** Vertex AI: the same models at the address of a project, with access tokens in place of keys. */
export const vertex: Provider = {
  ...gemini,
  name: "vertex",
  basePaths: ["/vertex/v1/"],
  operations: gemini.operations.map((operation) => ({
    ...operation,
    path: new RegExp(
      `^projects\\/[^/]+\\/locations\\/[^/]+\\/publishers\\/google\\/${operation.path.source.slice(1)}`,
    ),
  })),
  readKey: (request) => readBearerKey(request),
  wrongKey: () => geminiRefusal("UNAUTHENTICATED"),
  acceptedKeys: ({ settings }) => settings.apiKeys?.vertex,
};
