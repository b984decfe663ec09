import { writeRecipe } from "../drawing/recipe.js";
import { applyUsageFault } from "../faults/apply-usage-fault.js";
import { eventStream, jsonResponse } from "../http/responses.js";
import { publishImage } from "../links/links.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { type DashscopeRequest, readDashscopeRequest } from "./request.js";

/** `POST /api/v1/services/aigc/multimodal-generation/generation`. */
export async function generate(call: ProviderCall, services: Services): Promise<Response> {
  const { fault } = call;
  const request = await readDashscopeRequest(call, services);
  await sleep(services.settings.millisecondsPerImage * request.n, call.request.signal);
  const body = makeResponse(request, call, services);
  return fault.respondAs === "stream" ? streamResponse(body, call) : jsonResponse(body);
}

/** The body of a successful response. Throws the refusal if all images fail. */
export function makeResponse(request: DashscopeRequest, call: ProviderCall, services: Services) {
  const { fault } = call;
  const failures = fault.failImages?.filter(({ index }) => index < request.n) ?? [];
  const failed = new Set(failures.map(({ index }) => index));
  if (failed.size === request.n) {
    throw new Refusal({ code: failures[0]?.code ?? "DataInspectionFailed", message: failures[0]?.message });
  }
  const urls = fault.noImages === true ? [] : makeImages(request, failed, { call, services });
  return describeResponse(request, { urls, failed: failed.size }, call);
}

/** No image model streams. A fault that asks for a stream gets the format of DashScope's text models. */
function streamResponse(body: object, { fault }: ProviderCall): Response {
  const event = `id:1\nevent:result\n:HTTP_STATUS/200\ndata:${JSON.stringify(body)}\n\n`;
  return eventStream(ReadableStream.from([event]), fault.stream);
}

/** The links of the images that do not fail. All images have the same seed; without one the model chooses it. */
function makeImages(
  request: DashscopeRequest,
  failed: ReadonlySet<number>,
  { call, services }: { call: ProviderCall; services: Services },
): string[] {
  const seed = request.seed ?? randomSeed(services.random);
  const indexes = Array.from({ length: request.n }, (_, index) => index).filter(
    (index) => !failed.has(index),
  );
  return indexes.map((index) => {
    const recipe = writeRecipe({
      ...request.size,
      format: "png",
      kind: "scene",
      model: request.modelName,
      prompt: request.prompt,
      seed,
      index,
      count: request.n,
      watermark: request.watermark ? watermarkOf(request) : undefined,
      references: request.references,
    });
    return publishImage(recipe, "dashscope", { call, services });
  });
}

function watermarkOf({ model }: DashscopeRequest): string {
  return model.runsAsTask === true ? "AI生成" : "Qwen-Image";
}

type ContentItem = { readonly type?: string; readonly image: string } | { readonly text: string };

/** All images are in one choice. Faults make the other formats that were observed. */
function describeResponse(
  request: DashscopeRequest,
  { urls, failed }: { urls: readonly string[]; failed: number },
  { fault, requestId }: ProviderCall,
) {
  const images = urls.map((image) =>
    request.model.runsAsTask === true ? { type: "image", image } : { image },
  );
  const contents: ContentItem[][] = fault.severalChoices === true ? images.map((image) => [image]) : [images];
  if (fault.rewrittenPrompt !== undefined) contents[0]?.push({ text: fault.rewrittenPrompt });
  const usage = countUsage(request, urls.length, fault.outputImageCount === true);
  return {
    output: {
      choices: contents.map((content) => ({
        finish_reason: "stop",
        message: { role: "assistant", content },
      })),
      task_metric: { TOTAL: request.n, SUCCEEDED: urls.length, FAILED: failed },
    },
    ...applyUsageFault(usage, fault),
    request_id: requestId,
  };
}

function countUsage({ model, size, references }: DashscopeRequest, made: number, renamesCount: boolean) {
  const { width, height } = size;
  if (model.usage === "input_and_output") {
    return {
      input_image_count: references.length,
      output_image_count: made,
      output_width: width,
      output_height: height,
    };
  }
  if (model.usage === "image_count_and_size") return { image_count: made, size: `${width}*${height}` };
  return { width, height, [renamesCount ? "output_image_count" : "image_count"]: made };
}
