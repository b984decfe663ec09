import { writeRecipe } from "../drawing/recipe.js";
import { applyUsageFault } from "../faults/apply-usage-fault.js";
import type { Fault } from "../faults/fault.js";
import { eventStream, jsonResponse } from "../http/responses.js";
import { publishImage } from "../links/links.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { describeError, type Failure, statusOf } from "./errors.js";
import type { PlannedImage } from "./images.js";
import { type ArkRequest, readArkRequest } from "./request.js";

/** `POST /api/v3/images/generations`. */
export async function generate(call: ProviderCall, services: Services): Promise<Response> {
  const request = applyFault(await readArkRequest(call, services), call.fault);
  return request.stream
    ? eventStream(writeEvents(request, call, services), call.fault.stream)
    : respondWithJson(request, call, services);
}

function applyFault(request: ArkRequest, { respondAs, noImages }: Fault): ArkRequest {
  const stream = respondAs === undefined ? request.stream : respondAs === "stream";
  return { ...request, stream, images: noImages === true ? [] : request.images };
}

async function respondWithJson(
  request: ArkRequest,
  call: ProviderCall,
  services: Services,
): Promise<Response> {
  const outcomes: ImageOutcome[] = [];
  for await (const outcome of makeImages(request, call, services)) {
    // Only a batch has elements with errors. Without one, the request fails, also if one of its layers fails.
    if (!request.isBatch && "failure" in outcome) throw new Refusal(outcome.failure);
    outcomes.push(outcome);
  }
  return jsonResponse({
    ...describeResponse(request, services),
    data: outcomes.map((outcome) =>
      "failure" in outcome
        ? { error: describeError(outcome.failure, call.requestId) }
        : describeImage(outcome, request),
    ),
    ...describeTools(request),
    ...applyUsageFault(countUsage(outcomes, request), call.fault),
  });
}

/** An event for each image, `completed`, and `[DONE]`. */
async function* writeEvents(
  request: ArkRequest,
  call: ProviderCall,
  services: Services,
): AsyncGenerator<string> {
  const { fault, requestId } = call;
  const common = describeResponse(request, services);
  if (fault.streamErrorAfterImages === 0) return yield errorEvent(call);
  if (fault.unknownEvents === true) {
    yield event("image_generation.partial_image", { ...common, image_index: 0, partial_image_index: 0 });
  }
  const outcomes: ImageOutcome[] = [];
  for await (const outcome of makeImages(request, call, services)) {
    outcomes.push(outcome);
    const fields = { ...common, image_index: outcome.index };
    yield "failure" in outcome
      ? event("image_generation.partial_failed", {
          ...fields,
          error: describeError(outcome.failure, requestId),
        })
      : event("image_generation.partial_succeeded", { ...fields, ...describeImage(outcome, request) });
    if (outcome.index + 1 === fault.streamErrorAfterImages) return yield errorEvent(call);
  }
  const completed = {
    ...common,
    ...describeTools(request),
    ...applyUsageFault(countUsage(outcomes, request), fault),
  };
  for (let count = 0; count < (fault.stream?.completedEvents ?? 1); count += 1) {
    yield event("image_generation.completed", completed);
  }
  if (fault.omitDone !== true) yield "data: [DONE]\n\n";
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** It has no `type`, unlike the other events, and it is the last one. */
function errorEvent({ fault, requestId }: ProviderCall): string {
  const failure = { code: fault.code ?? "InternalServiceError", message: fault.message };
  return `event: error\ndata: ${JSON.stringify({ error: describeError(failure, requestId) })}\n\n`;
}

interface BatchImage {
  readonly index: number;
  readonly image: PlannedImage;
  readonly content: { readonly url: string } | { readonly b64_json: string };
}

interface RefusedImage {
  readonly index: number;
  readonly failure: Failure;
}

type ImageOutcome = BatchImage | RefusedImage;

/** Makes the images one after another. A batch goes on after a moderation failure, and ends at an internal error. */
async function* makeImages(
  request: ArkRequest,
  call: ProviderCall,
  services: Services,
): AsyncGenerator<ImageOutcome> {
  for (const [index, image] of request.images.entries()) {
    await sleep(services.settings.millisecondsPerImage, call.request.signal);
    const failure = failureOf(index, request, call);
    if (failure === undefined) {
      yield { index, image, content: await makeImage({ index, image }, request, { call, services }) };
    } else {
      yield { index, failure };
      if (statusOf(failure.code) >= 500) return;
    }
  }
}

const refusedOutput = "OutputImageSensitiveContentDetected";

/** A prompt that contains the code is refused at its last image, so that a prompt alone can cause a partial failure. */
function failureOf(index: number, request: ArkRequest, call: ProviderCall): Failure | undefined {
  const planned = call.fault.failImages?.find((failed) => failed.index === index);
  const isRefused = request.prompt.includes(refusedOutput) && index === request.images.length - 1;
  if (planned === undefined && !isRefused) return undefined;
  return { code: planned?.code ?? refusedOutput, message: planned?.message };
}

async function makeImage(
  { index, image }: Pick<BatchImage, "index" | "image">,
  request: ArkRequest,
  { call, services }: { call: ProviderCall; services: Services },
): Promise<BatchImage["content"]> {
  const isLayer = image.kind === "layer";
  const recipe = writeRecipe({
    ...image.size,
    format: image.format,
    kind: image.kind,
    model: request.model.name,
    prompt: image.layer?.name ?? request.prompt,
    seed: randomSeed(services.random),
    index,
    count: request.images.length,
    watermark: request.watermark && !isLayer ? "AI生成" : undefined,
    references: isLayer ? [] : request.references,
  });
  if (request.responseFormat === "url") return { url: publishImage(recipe, "ark", { call, services }) };
  return { b64_json: (await services.draw(recipe)).toString("base64") };
}

function describeResponse(request: ArkRequest, { settings }: Services) {
  return { model: request.model.name, created: Math.floor(settings.now() / 1000) };
}

function describeImage({ image, content }: BatchImage, { model }: ArkRequest) {
  const { size, format, layer } = image;
  return {
    ...content,
    size: `${size.width}x${size.height}`,
    ...(model.hasOutputFormat ? { output_format: format } : {}),
    ...layer,
  };
}

function describeTools({ searches }: ArkRequest) {
  return searches ? { tools: [{ type: "web_search" }] } : {};
}

const pixelsPerToken = 256;

/** Counts the images that were made. The pixels are rounded to tokens once, for all images together. */
function countUsage(outcomes: readonly ImageOutcome[], { model, references, searches }: ArkRequest) {
  const made = outcomes.flatMap((outcome) => ("failure" in outcome ? [] : outcome.image.size));
  const pixels = made.reduce((sum, { width, height }) => sum + width * height, 0);
  const tokens = Math.floor(pixels / pixelsPerToken);
  const charged = model.chargedReferences === "after-the-first" ? Math.max(0, references.length - 1) : 0;
  return {
    generated_images: made.length,
    ...(model.chargedReferences === undefined ? {} : { input_images: charged }),
    output_tokens: tokens,
    total_tokens: tokens,
    ...(searches ? { tool_usage: { web_search: 1 } } : {}),
  };
}
