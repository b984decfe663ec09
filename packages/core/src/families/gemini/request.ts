import * as z from "zod/mini";
import { invalidRequest } from "../../errors.js";
import { readMediaType, toBase64, toReferenceImage } from "../../images/reference-image.js";
import type { ImageRequest } from "../../types.js";
import { type JsonObject, toPlainNumber } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { Capabilities } from "../capabilities.js";
import type { NormalizeContext } from "../family.js";
import { imageList } from "../image-list.js";
import { splitOpenAiOnly } from "../shared.js";
import type { UpstreamCall } from "../upstream-call.js";
import { countUpstreamCalls } from "../upstream-calls.js";
import { TEXT_TOKENS } from "./models.js";
import { chooseGeminiSize } from "./size.js";

/** The media types of Gemini's input images. */
const MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["png", "jpeg", "jpg", "webp", "heic", "heif"].map((format) => `image/${format}`),
);

/** The most reference images of any model. */
const MAX_REFERENCES = 14;

/** The fields of a client of `/v1`, checked. Gemini makes one image per call, so several images are several calls. */
export function normalizeGemini(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { known, ignored } = splitOpenAiOnly(fields);
  const parsed = parseFields(geminiRequestSchema, known);
  const { capabilities } = context;
  checkConfig(parsed.generationConfig);
  // With the stream format `openai` the gateway makes the stream from the response.
  if (parsed.stream === true && context.streamFormat !== "openai")
    throw invalidRequest("stream is not offered for this model: leave it out.", "stream");
  const { n = 1 } = parsed;
  const upstreamCalls = countUpstreamCalls(parsed, { ...context, capabilities: { imagesPerCall: 1 } });
  if (n > upstreamCalls) throw invalidRequest(`n asks for ${n} images; this model makes one.`, "n");
  const images = readImages(parsed.image, capabilities);
  const size = chooseGeminiSize(parsed, context);
  return {
    operation: context.operation,
    model: context.model,
    prompt: parsed.prompt,
    images,
    maxImages: upstreamCalls,
    ...(upstreamCalls > 1 && { upstreamCalls }),
    maxPixels: size.maxPixels,
    ...boundTokens(
      {
        prompt: parsed.prompt,
        systemInstruction: parsed.systemInstruction,
        references: images.length,
        tier: size.tier,
      },
      capabilities,
    ),
    responseFormat:
      parsed.response_format ?? context.defaultResponseFormat ?? context.ownResponseFormat ?? "b64_json",
    stream: parsed.stream ?? false,
    ...(size.replacedSize !== undefined && { replacedSize: size.replacedSize }),
    upstreamFields: {
      generationConfig: {
        responseModalities: ["TEXT", "IMAGE"],
        ...parsed.generationConfig,
        ...(parsed.seed !== undefined && { seed: parsed.seed }),
        ...(size.imageConfig !== undefined && { imageConfig: size.imageConfig }),
      },
      ...(parsed.safetySettings !== undefined && { safetySettings: parsed.safetySettings }),
      ...(parsed.systemInstruction !== undefined && { systemInstruction: parsed.systemInstruction }),
    },
    ignored: [...ignored, ...Object.keys(known).filter((name) => !UNDERSTOOD.has(name)), ...size.ignored],
  };
}

/**
 * The call of `generateContent`. The model is in the path, the images are base64 in the body.
 *
 * @throws GatewayError `invalid_request_error` for an image of a type that Gemini does not take, which a link can lead to
 */
export function toGemini(
  { prompt, images, upstreamFields }: ImageRequest,
  upstreamModel: string,
): UpstreamCall {
  const parts = images.map((image, index) => {
    const mimeType = readMediaType(toReferenceImage(image, `image[${index}]`, MEDIA_TYPES));
    return { inlineData: { mimeType, data: toBase64(image) } };
  });
  return {
    path: `/models/${encodeURIComponent(upstreamModel)}:generateContent`,
    body: { json: { contents: [{ role: "user", parts: [{ text: prompt }, ...parts] }], ...upstreamFields } },
  };
}

/** What the number of images and the size are set with is the gateway's, because the hold depends on it. */
function checkConfig(config: JsonObject | undefined): void {
  for (const [name, instead] of Object.entries(INSTEAD_OF_CONFIG)) {
    if (config?.[name] === undefined) continue;
    const param = `generationConfig.${name}`;
    throw invalidRequest(`${param} is not supported: send ${instead}.`, param);
  }
}

const INSTEAD_OF_CONFIG = {
  candidateCount: "n",
  imageConfig: "size, or aspect_ratio and resolution",
  responseModalities: "nothing, the response has images",
} as const;

function readImages(
  image: GeminiFields["image"],
  capabilities: Capabilities | undefined,
): ImageRequest["images"] {
  const list = image === undefined ? [] : [image].flat();
  const { min = 0, max = MAX_REFERENCES } = capabilities?.references ?? {};
  if (list.length < min || list.length > max)
    throw invalidRequest(`This model takes ${min} to ${max} reference images, not ${list.length}.`, "image");
  return list.map((value, index) =>
    toReferenceImage(value, Array.isArray(image) ? `image[${index}]` : "image", MEDIA_TYPES),
  );
}

interface PromptSource {
  readonly prompt: string;
  readonly systemInstruction: JsonObject | undefined;
  readonly references: number;
  readonly tier: string;
}

interface TokenBounds {
  readonly outputTokens: Readonly<Record<string, number>>;
  readonly textTokens: number;
  readonly referenceTokens: number;
}

/** The bounds for a model without a row: those of the dearest one. */
const UNKNOWN_TOKENS: TokenBounds = {
  outputTokens: { default: 2_520 },
  textTokens: TEXT_TOKENS,
  referenceTokens: 4_128,
};
/** The tokens around the prompt. */
const MORE_TOKENS = 64;

/** A token of text has at least one byte. */
function boundTokens(
  { prompt, systemInstruction, references, tier }: PromptSource,
  capabilities: Capabilities | undefined,
): Pick<ImageRequest, "maxTokensPerImage" | "maxTextTokensPerImage" | "maxInputTokens"> {
  const {
    outputTokens = UNKNOWN_TOKENS.outputTokens,
    textTokens = UNKNOWN_TOKENS.textTokens,
    referenceTokens = UNKNOWN_TOKENS.referenceTokens,
  } = capabilities ?? {};
  const ofImage =
    outputTokens[tier] ?? outputTokens["default"] ?? Math.max(0, ...Object.values(outputTokens));
  const text = prompt + (systemInstruction === undefined ? "" : JSON.stringify(systemInstruction));
  return {
    maxTokensPerImage: ofImage + textTokens,
    maxTextTokensPerImage: textTokens,
    maxInputTokens: new TextEncoder().encode(text).length + MORE_TOKENS + references * referenceTokens,
  };
}

const UNDERSTOOD: ReadonlySet<string> = new Set([
  "prompt",
  "image",
  "n",
  "size",
  "aspect_ratio",
  "resolution",
  "seed",
  "response_format",
  "stream",
  "generationConfig",
  "safetySettings",
  "systemInstruction",
]);

/** A number may be a raw JSON object, see `util/json.ts`. */
const wholeNumber = z.pipe(z.transform(toPlainNumber), z.int("must be a whole number"));
const object = (example: string) =>
  z.pipe(z.transform(toPlainNumber), z.looseObject({}, `must be an object such as ${example}`));

/** The interpreted fields. Everything in the objects is forwarded unchanged. */
export const geminiRequestSchema = z.object({
  prompt: z
    .string({ error: (issue) => (issue.input === undefined ? "is required" : "must be a string") })
    .check(z.minLength(1, "must not be empty")),
  image: z.optional(imageList),
  n: z.optional(wholeNumber),
  size: z.optional(z.string("must be a string")),
  aspect_ratio: z.optional(z.unknown()),
  resolution: z.optional(z.unknown()),
  seed: z.optional(wholeNumber),
  response_format: z.optional(z.enum(["url", "b64_json"], 'must be "url" or "b64_json"')),
  stream: z.optional(z.boolean("must be true or false")),
  generationConfig: z.optional(object('{"temperature": 0.5}')),
  safetySettings: z.optional(z.array(z.unknown(), "must be a list of settings")),
  systemInstruction: z.optional(object('{"parts": [{"text": "…"}]}')),
});

type GeminiFields = z.output<typeof geminiRequestSchema>;
