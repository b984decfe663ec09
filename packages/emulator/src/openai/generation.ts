import { writeRecipe } from "../drawing/recipe.js";
import { applyUsageFault } from "../faults/apply-usage-fault.js";
import type { Fault } from "../faults/fault.js";
import { eventStream, jsonResponse } from "../http/responses.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { describeOpenaiError, type OpenaiService } from "./errors.js";
import { type OpenaiRequest, readOpenaiRequest } from "./request.js";
import { countUsage } from "./usage.js";

interface OpenaiMaking {
  readonly request: OpenaiRequest;
  readonly call: ProviderCall;
  readonly services: Services;
  readonly service: OpenaiService;
}

/** `POST images/generations` and `POST images/edits`. */
export function respondWith(operation: "generation" | "edit", service: OpenaiService) {
  return async (call: ProviderCall, services: Services): Promise<Response> => {
    const request = await readOpenaiRequest(operation, call, { service, services });
    const making = { request, call, services, service };
    const isStream = call.fault.respondAs === undefined ? request.stream : call.fault.respondAs === "stream";
    return isStream ? eventStream(writeEvents(making), call.fault.stream) : respondWithJson(making);
  };
}

async function respondWithJson(making: OpenaiMaking): Promise<Response> {
  const { request, call, services, service } = making;
  const failure = failureOf(making);
  if (failure !== undefined) throw new Refusal(failure);
  const data: object[] = [];
  for (const index of indexesOf(making)) {
    await sleep(services.settings.millisecondsPerImage, call.request.signal);
    data.push({ b64_json: await drawImage(making, { index }), ...describeFilters(service) });
  }
  const { safetyIdentifier } = request;
  return jsonResponse({
    created: seconds(services),
    ...describeImages(request),
    ...(service === "azure"
      ? { prompt_filter_results: [{ prompt_index: 0, ...describeFilters(service) }] }
      : {}),
    data,
    ...applyUsageFault(countUsage(request, { images: data.length, partials: 0 }), call.fault),
    ...(safetyIdentifier === undefined ? {} : { safety_identifier: safetyIdentifier }),
  });
}

/** The partial images of each image, then `completed` with the image and its usage. There is no `[DONE]`. */
async function* writeEvents(making: OpenaiMaking): AsyncGenerator<string> {
  const { fault } = making.call;
  let [images, events] = [0, 0];
  const isBroken = () => images === fault.streamErrorAfterImages || events === fault.streamErrorAfterEvents;
  if (isBroken()) return yield errorEvent(making);
  if (fault.unknownEvents === true) yield event(`${prefixOf(making.request)}.in_progress`, {});
  for (const index of indexesOf(making)) {
    const failed = fault.failImages?.find((image) => image.index === index);
    if (failed !== undefined) return yield errorEvent(making, failed);
    for await (const { text, isLast } of writeImage(making, index)) {
      yield text;
      events += 1;
      if (isLast) images += 1;
      if (isBroken()) return yield errorEvent(making);
    }
  }
  if (fault.sendDone === true) yield "data: [DONE]\n\n";
}

/** The events of one image. */
async function* writeImage(
  making: OpenaiMaking,
  index: number,
): AsyncGenerator<{ readonly text: string; readonly isLast: boolean }> {
  const { request, call, services } = making;
  const { partialImages } = request;
  const prefix = prefixOf(request);
  const common = () => ({ created_at: seconds(services), ...describeImages(request) });
  const pause = services.settings.millisecondsPerImage / (partialImages + 1);
  for (let partial = 0; partial < partialImages; partial += 1) {
    await sleep(pause, call.request.signal);
    const b64_json = await drawImage(making, { index, partial });
    const fields = { b64_json, partial_image_index: partial, ...common() };
    yield { text: event(`${prefix}.partial_image`, fields), isLast: false };
  }
  await sleep(pause, call.request.signal);
  const fields = {
    b64_json: await drawImage(making, { index }),
    ...common(),
    ...applyUsageFault(countUsage(request, { images: 1, partials: partialImages }), call.fault),
  };
  const times = call.fault.stream?.completedEvents ?? 1;
  for (let count = 0; count < times; count += 1) {
    yield { text: event(`${prefix}.completed`, fields), isLast: count === times - 1 };
  }
}

function prefixOf({ operation }: OpenaiRequest): string {
  return operation === "edit" ? "image_edit" : "image_generation";
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The last event of a stream that fails. The official clients throw at it. */
function errorEvent(
  { call, service }: OpenaiMaking,
  failed: Pick<Fault, "code" | "message"> = call.fault,
): string {
  const { code = "server_error", message = "" } = failed;
  const error = describeOpenaiError(
    { code, message, type: call.fault.type },
    { service, requestId: call.requestId },
  );
  return `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
}

/** One image that fails makes the whole request fail. */
function failureOf({
  request,
  call,
}: OpenaiMaking): { code: string; message?: string | undefined } | undefined {
  const failed = call.fault.failImages?.find(({ index }) => index < request.n);
  return failed && { code: failed.code ?? "moderation_blocked", message: failed.message };
}

function indexesOf({ request, call }: OpenaiMaking): number[] {
  return Array.from({ length: call.fault.noImages === true ? 0 : request.n }, (_, index) => index);
}

/** The image as base64. A partial image has its number as a watermark. */
async function drawImage(
  { request, services }: OpenaiMaking,
  { index, partial }: { index: number; partial?: number },
): Promise<string> {
  const recipe = writeRecipe({
    ...request.size,
    format: request.format,
    kind: request.background === "transparent" ? "cutout" : "scene",
    model: request.modelName,
    prompt: request.prompt,
    seed: randomSeed(services.random),
    index,
    count: request.n,
    watermark: partial === undefined ? undefined : `partial ${partial + 1} / ${request.partialImages}`,
    references: request.references,
    ...(request.compression === undefined ? {} : { compression: request.compression }),
  });
  return (await services.draw(recipe)).toString("base64");
}

function describeImages({ background, format, size, quality }: OpenaiRequest) {
  return { background, output_format: format, size: `${size.width}x${size.height}`, quality };
}

const safe = { filtered: false, severity: "safe" };

function describeFilters(service: OpenaiService) {
  if (service !== "azure") return {};
  return { content_filter_results: { hate: safe, self_harm: safe, sexual: safe, violence: safe } };
}

function seconds({ settings }: Services): number {
  return Math.floor(settings.now() / 1000);
}
