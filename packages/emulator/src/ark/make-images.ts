import { publishPicture } from "../links/publish.js";
import { writeRecipe } from "../pictures/recipe.js";
import type { ProviderCall } from "../provider.js";
import { randomSeed } from "../random.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";
import { type Failure, statusOf } from "./errors.js";
import { isOutputRefused } from "./moderation.js";
import type { ArkRequest } from "./read-request.js";

/** An image of a batch, or why there is none. */
export type ImageOutcome =
  | { readonly index: number; readonly image: { url: string } | { b64_json: string } }
  | { readonly index: number; readonly failure: Failure };

/** Makes the images one after another. Moderation of one lets the batch go on; an internal error ends it. */
export async function* makeImages(
  request: ArkRequest,
  call: ProviderCall,
  services: Services,
): AsyncGenerator<ImageOutcome> {
  for (let index = 0; index < request.count; index += 1) {
    await sleep(services.settings.millisecondsPerImage, call.request.signal);
    const failure = failureOf(index, request, call);
    if (failure === undefined) {
      yield { index, image: await makeImage(index, request, call, services) };
    } else {
      yield { index, failure };
      if (statusOf(failure.code) >= 500) return;
    }
  }
}

function failureOf(index: number, request: ArkRequest, call: ProviderCall): Failure | undefined {
  const planned = call.fault.failImages?.find((failed) => failed.index === index);
  const isRefused = isOutputRefused(request.prompt, index, request.count);
  if (planned === undefined && !isRefused) return undefined;
  const code = planned?.code ?? "OutputImageSensitiveContentDetected";
  return { code, message: planned?.message };
}

async function makeImage(index: number, request: ArkRequest, call: ProviderCall, services: Services) {
  const recipe = writeRecipe({
    ...request.size,
    format: request.format,
    model: request.model.id,
    prompt: request.prompt,
    seed: randomSeed(services.random),
    index,
    count: request.count,
    watermark: request.watermark ? "AI生成" : undefined,
    references: request.references,
  });
  if (request.responseFormat === "url") return { url: publishPicture(recipe, "ark", call, services) };
  return { b64_json: (await services.draw(recipe)).toString("base64") };
}
