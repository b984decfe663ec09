import { isJsonObject } from "../json.js";
import type { PictureFormat, ReferencePicture } from "../pictures/recipe.js";
import type { ProviderCall } from "../provider.js";
import type { Services } from "../services.js";
import { booleanOr, oneOf } from "./fields.js";
import { countImages, type ImageCount } from "./image-count.js";
import { type ArkModel, findArkModel } from "./models.js";
import { moderateInput } from "./moderation.js";
import { readReferences } from "./references.js";
import { arkRefusal, invalidParameter, missingParameter, unknownModel } from "./refusals.js";
import { chooseSize, type PixelSize } from "./size.js";
import { wishedRatio } from "./wished-ratio.js";

/** A request with every default applied and every rule kept. */
export interface ArkRequest extends ImageCount {
  readonly model: ArkModel;
  readonly prompt: string;
  readonly size: PixelSize;
  readonly format: PictureFormat;
  readonly responseFormat: "url" | "b64_json";
  readonly stream: boolean;
  readonly watermark: boolean;
  readonly searches: boolean;
  readonly references: readonly ReferencePicture[];
}

/**
 * Unknown fields, `n` and `quality` are ignored, as Ark does; so are `seed` and `guidance_scale`, which no
 * current model heeds.
 */
export async function readArkRequest(call: ProviderCall, services: Services): Promise<ArkRequest> {
  const { body } = call;
  const model = readModel(body.model, services);
  const prompt = readPrompt(body.prompt);
  checkPromptMode(body.optimize_prompt_options, model);
  const outputFormat = oneOf(body, "output_format", ["png", "jpeg"]) ?? "jpeg";
  const settings = {
    responseFormat: oneOf(body, "response_format", ["url", "b64_json"]) ?? "url",
    stream: booleanOr(body, "stream", false),
    watermark: booleanOr(body, "watermark", true),
    format: model.honoursOutputFormat ? outputFormat : "jpeg",
    searches: model.searchesTheWeb && asksForSearch(body.tools),
  } as const;
  chooseSize(body.size ?? undefined, model, 1); // before any reference is downloaded
  moderateInput(prompt);
  const references = await readReferences(call, services);
  const size = chooseSize(body.size ?? undefined, model, wishedRatio(prompt, references));
  return { model, prompt, ...settings, size, ...countImages(body, prompt, references.length), references };
}

function readModel(name: unknown, services: Services): ArkModel {
  if (name === undefined || name === null || name === "") throw missingParameter("model");
  if (typeof name !== "string") throw invalidParameter("model", "expected a string");
  const model = findArkModel(name, services.settings.arkEndpoints);
  if (model === undefined) throw unknownModel(name);
  return model;
}

function readPrompt(prompt: unknown): string {
  if (prompt === undefined || prompt === null || prompt === "") throw missingParameter("prompt");
  if (typeof prompt !== "string") throw invalidParameter("prompt", "expected a string");
  return prompt;
}

function checkPromptMode(options: unknown, model: ArkModel): void {
  if (options === undefined || options === null) return;
  if (!isJsonObject(options)) throw invalidParameter("optimize_prompt_options", "expected an object");
  const name = "optimize_prompt_options.mode";
  const mode = oneOf({ [name]: options.mode }, name, ["standard", "fast"]);
  if (mode === "fast" && !model.takesFastMode) {
    throw arkRefusal(
      "InvalidParameter.UnsupportedParameter",
      `The parameter \`${name}\` specified in the request is not supported by model ${model.id}: use standard.`,
      name,
    );
  }
}

function asksForSearch(tools: unknown): boolean {
  return (
    Array.isArray(tools) && tools.some((tool: unknown) => isJsonObject(tool) && tool.type === "web_search")
  );
}
