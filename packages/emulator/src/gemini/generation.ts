import { mediaTypeOf, writeRecipe } from "../drawing/recipe.js";
import { eventStream, jsonResponse } from "../http/responses.js";
import type { ProviderCall } from "../provider-call.js";
import { randomHex, randomSeed } from "../random.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { countTextTokens } from "../text-tokens.js";
import { describeGeminiError } from "./errors.js";
import { type GeminiRequest, readGeminiRequest } from "./request.js";

interface GeminiMaking {
  readonly request: GeminiRequest;
  readonly call: ProviderCall;
  readonly services: Services;
}

/** What becomes of a request. */
type Outcome =
  | { readonly kind: "made"; readonly images: number }
  | { readonly kind: "blocked"; readonly blockReason: string }
  | { readonly kind: "stopped"; readonly finishReason: string };

/** `POST models/{model}:generateContent`. */
export async function generateContent(call: ProviderCall, services: Services): Promise<Response> {
  const making = { request: await readGeminiRequest(call), call, services };
  if (call.fault.respondAs === "stream") return respondWithEvents(making);
  const outcome = decideOutcome(making);
  const chunks = await collect(writeParts(making, outcome));
  return jsonResponse(describeResponse(making, outcome, { parts: chunks.flat(), isLast: true }));
}

/** `POST models/{model}:streamGenerateContent`. Without `alt=sse` the response is an array of the chunks. */
export async function streamGenerateContent(call: ProviderCall, services: Services): Promise<Response> {
  const making = { request: await readGeminiRequest(call), call, services };
  if (call.fault.respondAs === "json") return generateContent(call, services);
  const isSse = new URL(call.request.url).searchParams.get("alt") === "sse";
  if (isSse || call.fault.respondAs === "stream") return respondWithEvents(making);
  return jsonResponse(await collect(writeChunks(making)));
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Each event is a whole response on a `data:` line. There are no event names and no `[DONE]`. */
function respondWithEvents(making: GeminiMaking): Response {
  const events = async function* () {
    for await (const chunk of writeChunks(making)) yield `data: ${JSON.stringify(chunk)}\r\n\r\n`;
    if (making.call.fault.sendDone === true) yield "data: [DONE]\r\n\r\n";
  };
  return eventStream(events(), making.call.fault.stream);
}

/** A chunk for each part. The last one has no parts, but the finish reason and the usage. */
async function* writeChunks(making: GeminiMaking): AsyncGenerator<object> {
  const { fault } = making.call;
  const outcome = decideOutcome(making);
  let images = 0;
  const error = () => {
    const { code = "INTERNAL", message = "", retryAfterSeconds } = fault;
    return describeGeminiError({ code, message, status: undefined, retryAfterSeconds });
  };
  if (fault.streamErrorAfterImages === 0) return yield error();
  for await (const parts of writeParts(making, outcome)) {
    yield describeResponse(making, outcome, { parts, isLast: false });
    images += parts.some((part) => "inlineData" in part && !("thought" in part)) ? 1 : 0;
    if (images === fault.streamErrorAfterImages) return yield error();
  }
  yield describeResponse(making, outcome, { parts: [], isLast: true });
}

/** A prompt that contains one of these words has this outcome, so that tests need no offensive prompts. */
const wordsOfPrompt = [
  ["PROHIBITED_CONTENT", "blocked"],
  ["IMAGE_SAFETY", "stopped"],
  ["NO_IMAGE", "stopped"],
] as const;

function decideOutcome({ request, call }: GeminiMaking): Outcome {
  const { blockReason, finishReason, failImages, noImages, imagesPerResponse = 1 } = call.fault;
  if (blockReason !== undefined) return { kind: "blocked", blockReason };
  const [failed] = failImages ?? [];
  const reason = finishReason ?? (failed && (failed.code ?? "IMAGE_SAFETY"));
  if (reason !== undefined) return { kind: "stopped", finishReason: reason };
  const [word, kind] = wordsOfPrompt.find(([text]) => request.prompt.includes(text)) ?? [];
  if (kind === "blocked") return { kind, blockReason: word ?? "" };
  if (kind === "stopped") return { kind, finishReason: word ?? "" };
  return { kind: "made", images: request.hasImage && noImages !== true ? imagesPerResponse : 0 };
}

type Part = Readonly<Record<string, unknown>>;

/** The parts of the response, each in a list of its own: thoughts, a text, the images. */
async function* writeParts(making: GeminiMaking, outcome: Outcome): AsyncGenerator<readonly Part[]> {
  if (outcome.kind !== "made") return;
  const { request, call, services } = making;
  if (request.includesThoughts || call.fault.thoughts === true) {
    yield [{ text: "**Composing the image**", thought: true }];
    if (outcome.images > 0)
      yield [{ ...(await drawPart(making, { index: 0, isDraft: true })), thought: true }];
  }
  if (request.hasText || outcome.images === 0) yield [{ text: "Here is your image." }];
  for (let index = 0; index < outcome.images; index += 1) {
    await sleep(services.settings.millisecondsPerImage, call.request.signal);
    const image = await drawPart(making, { index, isDraft: false });
    yield [request.model.thinks ? { ...image, thoughtSignature: randomHex(services.random, 32) } : image];
  }
}

async function drawPart(
  { request, services, call }: GeminiMaking,
  { index, isDraft }: { index: number; isDraft: boolean },
): Promise<Part> {
  const { model, size, prompt, references } = request;
  const recipe = writeRecipe({
    ...size,
    format: model.format,
    kind: "scene",
    model: model.name,
    prompt,
    seed: request.seed ?? randomSeed(services.random),
    index,
    count: call.fault.imagesPerResponse ?? 1,
    watermark: isDraft ? "draft" : undefined,
    references,
  });
  const data = (await services.draw(recipe)).toString("base64");
  return { inlineData: { mimeType: mediaTypeOf(model.format), data } };
}

/** A `GenerateContentResponse`. Only the last one of a stream has a finish reason and usage. */
function describeResponse(
  { request, call }: GeminiMaking,
  outcome: Outcome,
  { parts, isLast }: { parts: readonly Part[]; isLast: boolean },
): object {
  const finishReason = outcome.kind === "stopped" ? outcome.finishReason : "STOP";
  const candidate = {
    ...(outcome.kind === "made" ? { content: { role: "model", parts } } : {}),
    ...(isLast ? { finishReason } : {}),
    index: 0,
  };
  return {
    ...(outcome.kind === "blocked"
      ? { promptFeedback: { blockReason: outcome.blockReason } }
      : { candidates: [candidate] }),
    ...(isLast ? describeUsage(request, outcome, call) : {}),
    modelVersion: request.model.name,
    responseId: call.requestId,
  };
}

/** The tokens of one input image and of the thoughts are the same for every request: the emulator's choice. */
const [tokensPerInput, tokensOfThoughts, tokensOfText] = [258, 150, 6] as const;

/** Input and thoughts count even if the request was stopped. */
function describeUsage(request: GeminiRequest, outcome: Outcome, { fault }: ProviderCall) {
  if (fault.omitUsage === true) return {};
  const text = countTextTokens(request.prompt);
  const images = request.references.length * tokensPerInput;
  const made = outcome.kind === "made" ? outcome.images : 0;
  const hasText = outcome.kind === "made" && (request.hasText || made === 0);
  const output = made * request.tokensPerImage;
  const candidates = output + (hasText ? tokensOfText : 0);
  const thoughts = request.model.thinks && outcome.kind !== "blocked" ? tokensOfThoughts : 0;
  return {
    usageMetadata: {
      promptTokenCount: text + images,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: text },
        ...(images === 0 ? [] : [{ modality: "IMAGE", tokenCount: images }]),
      ],
      ...(candidates === 0 ? {} : { candidatesTokenCount: candidates }),
      // The details lack the text, as those of the real API may.
      ...(output === 0 ? {} : { candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: output }] }),
      ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
      totalTokenCount: text + images + candidates + thoughts,
      ...fault.usage,
    },
  };
}
