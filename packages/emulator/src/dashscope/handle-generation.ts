import { eventStream } from "../http/event-stream.js";
import { jsonResponse } from "../http/json-response.js";
import { publishPicture } from "../links/publish.js";
import { writeRecipe } from "../pictures/recipe.js";
import type { ProviderCall } from "../provider.js";
import { randomSeed } from "../random.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { type DashscopeRequest, readDashscopeRequest } from "./read-request.js";
import { renderResponse } from "./render-answer.js";

/** `POST /api/v1/services/aigc/multimodal-generation/generation`. */
export async function handleGeneration(call: ProviderCall, services: Services): Promise<Response> {
  const request = await readDashscopeRequest(call, services);
  await sleep(services.settings.millisecondsPerImage * request.n, call.request.signal);
  const failed = call.fault.failImages?.filter(({ index }) => index < request.n) ?? [];
  const failedIndexes = new Set(failed.map(({ index }) => index));
  if (failedIndexes.size === request.n) {
    throw new Refusal({ code: failed[0]?.code ?? "DataInspectionFailed", message: failed[0]?.message });
  }
  const urls = call.fault.noImages === true ? [] : makeImages(request, failedIndexes, { call, services });
  const answer = renderResponse({ request, urls, failed: failedIndexes.size }, call);
  return call.fault.answerAs === "stream" ? streamResponse(answer, call) : jsonResponse(answer);
}

/** No image model answers so unless a fault says it: the form is that of DashScope's text models. */
function streamResponse(answer: object, { fault }: ProviderCall): Response {
  const event = `id:1\nevent:result\n:HTTP_STATUS/200\ndata:${JSON.stringify(answer)}\n\n`;
  return eventStream(ReadableStream.from([event]), fault.stream);
}

interface Context {
  readonly call: ProviderCall;
  readonly services: Services;
}

/** The links of the images that do not fail. Without a seed the model chooses one; further images follow it. */
function makeImages(
  request: DashscopeRequest,
  failed: ReadonlySet<number>,
  { call, services }: Context,
): string[] {
  const seed = request.seed ?? randomSeed(services.random);
  const indexes = Array.from({ length: request.n }, (_, index) => index).filter(
    (index) => !failed.has(index),
  );
  return indexes.map((index) => {
    const { width, height } = request.size;
    const recipe = writeRecipe({
      width,
      height,
      format: "png",
      model: request.model,
      prompt: request.prompt,
      seed,
      index,
      count: request.n,
      watermark: request.watermark ? "Qwen-Image" : undefined,
      references: request.references,
    });
    return publishPicture(recipe, "dashscope", call, services);
  });
}
