import { type ImageFormat, type ReferenceImage, writeRecipe } from "../drawing/recipe.js";
import { publishImage } from "../links/links.js";
import type { PixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import type { ProviderName } from "../provider-name.js";
import { randomSeed } from "../random.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { sleep } from "../sleep.js";

/** The images that a request makes. */
export interface ImagePlan {
  readonly provider: ProviderName;
  readonly model: string;
  readonly prompt: string;
  readonly n: number;
  readonly size: PixelSize;
  readonly format: ImageFormat;
  /** Whether the background is transparent. */
  readonly isCutout?: boolean;
  readonly watermark?: string | undefined;
  /** Absent: the service chooses one. */
  readonly seed?: number | undefined;
  readonly references?: readonly ReferenceImage[];
  readonly deliver: "url" | "b64_json";
  /** The code of the refusal if a fault makes one of the images fail. */
  readonly failureCode: string;
}

export interface MakingContext {
  readonly call: ProviderCall;
  readonly services: Services;
}

/** One image, as a link or as base64. */
export type MadeImage = { readonly url: string } | { readonly b64_json: string };

/** Makes the images one after another, and takes the configured time for each. */
export async function makeImages(plan: ImagePlan, { call, services }: MakingContext): Promise<MadeImage[]> {
  const failed = call.fault.failImages?.find(({ index }) => index < plan.n);
  if (failed !== undefined) {
    throw new Refusal({ code: failed.code ?? plan.failureCode, message: failed.message });
  }
  const made: MadeImage[] = [];
  const count = call.fault.noImages === true ? 0 : plan.n;
  const seed = plan.seed ?? randomSeed(services.random);
  for (let index = 0; index < count; index += 1) {
    await sleep(services.settings.millisecondsPerImage, call.request.signal);
    const recipe = writeRecipe({
      ...plan.size,
      format: plan.format,
      kind: plan.isCutout === true ? "cutout" : "scene",
      model: plan.model,
      prompt: plan.prompt,
      seed,
      index,
      count: plan.n,
      watermark: plan.watermark,
      references: plan.references ?? [],
    });
    made.push(
      plan.deliver === "url"
        ? { url: publishImage(recipe, plan.provider, { call, services }) }
        : { b64_json: (await services.draw(recipe)).toString("base64") },
    );
  }
  return made;
}
