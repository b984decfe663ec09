import { isJsonObject, type JsonObject } from "../json.js";
import { ratioInPrompt, ratioOfOrientation } from "../prompt-hints.js";
import type { ProviderCall } from "../provider-call.js";
import type { LoadedReference } from "../references/decode-image.js";
import type { Services } from "../services.js";
import {
  arkRefusal,
  invalidParameter,
  missingParameter,
  unknownModel,
  unsupportedParameter,
} from "./errors.js";
import { type PlannedImage, planBatch, planLayers } from "./images.js";
import { findArkModel, type NamedArkModel } from "./models.js";
import { readReferences } from "./references.js";
import { chooseSize, readSize, readSizeOfLayers } from "./size.js";

/** A request that was checked, with the defaults of all fields. */
export interface ArkRequest {
  readonly model: NamedArkModel;
  readonly prompt: string;
  /** The images to make: one, those of a batch, or a base image and its layers. */
  readonly images: readonly PlannedImage[];
  /** Whether a batch was requested, perhaps of one image. In a batch single images may fail. */
  readonly isBatch: boolean;
  readonly responseFormat: "url" | "b64_json";
  readonly stream: boolean;
  readonly watermark: boolean;
  readonly searches: boolean;
  readonly references: readonly LoadedReference[];
}

/** References and outputs of one request together. */
const maxImages = 15;

/**
 * Checks a request and downloads its references. Like Ark it ignores unknown fields, `n`, `quality`, the fields that
 * the model does not have, and `seed` and `guidance_scale`, which have no effect on any current model.
 */
export async function readArkRequest(call: ProviderCall, services: Services): Promise<ArkRequest> {
  const { body } = call;
  const model = readModel(body.model, services);
  refuseFieldsOfBatches(body, model);
  const hasLayers = model.maxLayers > 0 && readBoolean(body, "layer_decomposition", false);
  const prompt = readPrompt(body.prompt, hasLayers);
  checkPromptMode(body.optimize_prompt_options, model);
  const settings = {
    responseFormat: readChoice(body, "response_format", ["url", "b64_json"]) ?? "url",
    stream: readBoolean(body, "stream", false),
    watermark: readBoolean(body, "watermark", true),
    searches: model.searchesTheWeb && asksForSearch(body.tools),
  } as const;
  const appearance = readAppearance(body, model, hasLayers);
  const requestedSize = (hasLayers ? readSizeOfLayers : readSize)(body.size, model);
  moderateInput(prompt);

  const references = await readReferences(body.image, { model, call, services });
  if (hasLayers) checkDecomposedImage(references);
  if (appearance.kind === "cutout" && model.transparency === "needs-alpha-reference") {
    checkAlphaReference(references);
  }
  const size = chooseSize(requestedSize, chooseRatio(prompt, references));
  const image: PlannedImage = { size, ...appearance };
  const maxOutputs = readBatch(body, references.length);
  const images = hasLayers
    ? planLayers(image, { prompt, maxLayers: model.maxLayers, random: services.random })
    : planBatch(image, prompt, maxOutputs);
  return { model, prompt, images, isBatch: maxOutputs !== undefined, references, ...settings };
}

function readModel(name: unknown, services: Services): NamedArkModel {
  if (name === undefined || name === null || name === "") throw missingParameter("model");
  if (typeof name !== "string") throw invalidParameter("model", "expected a string");
  const model = findArkModel(name, services.settings.arkEndpoints);
  if (model === undefined) throw unknownModel(name);
  return model;
}

/** Some models refuse these fields with any value, also with `disabled` and `false`. */
function refuseFieldsOfBatches(body: JsonObject, model: NamedArkModel): void {
  if (model.makesBatches) return;
  for (const name of ["sequential_image_generation", "stream"]) {
    if (isGiven(body[name])) throw unsupportedParameter(name, model.name);
  }
}

/** The layers of an image can be found without a prompt. */
function readPrompt(prompt: unknown, isOptional: boolean): string {
  const isEmpty = !isGiven(prompt) || prompt === "";
  if (isEmpty && isOptional) return "";
  if (isEmpty) throw missingParameter("prompt");
  if (typeof prompt !== "string") throw invalidParameter("prompt", "expected a string");
  return prompt;
}

function checkPromptMode(options: unknown, model: NamedArkModel): void {
  if (!isGiven(options)) return;
  if (!isJsonObject(options)) throw invalidParameter("optimize_prompt_options", "expected an object");
  const name = "optimize_prompt_options.mode";
  const mode = readChoice({ [name]: options.mode }, name, ["standard", "fast"]);
  if (mode === "fast" && !model.hasFastMode) {
    throw unsupportedParameter(name, model.name, ": use standard");
  }
}

/** The format of the image, and whether its background is transparent. */
function readAppearance(
  body: JsonObject,
  model: NamedArkModel,
  hasLayers: boolean,
): Pick<PlannedImage, "format" | "kind"> {
  const format = model.hasOutputFormat ? readChoice(body, "output_format", ["png", "jpeg"]) : "jpeg";
  const background =
    model.transparency === "none"
      ? "opaque"
      : readChoice(body, "background", ["auto", "transparent", "opaque"]);
  if (background !== "transparent") return { format: format ?? "jpeg", kind: "scene" };
  if (hasLayers) {
    throw invalidParameter("background", "transparent is not supported with layer_decomposition");
  }
  if (format === "jpeg") throw invalidParameter("background", "transparent requires output_format png");
  return { format: "png", kind: "cutout" };
}

function checkDecomposedImage(references: readonly LoadedReference[]): void {
  const [image] = references;
  if (image === undefined || references.length > 1) {
    throw invalidParameter("image", "layer_decomposition requires exactly one image");
  }
  if (image.type === "heif") {
    throw invalidParameter("image", "layer_decomposition does not support the formats heic and heif");
  }
}

function checkAlphaReference(references: readonly LoadedReference[]): void {
  if (!references.some(mayHaveAlpha)) {
    throw invalidParameter("background", "transparent requires a PNG image with an alpha channel");
  }
}

/** Nothing is known of an image that the emulator did not download. */
function mayHaveAlpha({ type, hasAlpha }: LoadedReference): boolean {
  return type === undefined || (type === "png" && hasAlpha);
}

/** The prompt's ratio in numbers, else the last reference's ratio, else the prompt's orientation. */
function chooseRatio(prompt: string, references: readonly LoadedReference[]): number {
  const last = references.at(-1);
  const ratioOfReference = last === undefined ? undefined : last.width / last.height;
  return ratioInPrompt(prompt) ?? ratioOfReference ?? ratioOfOrientation(prompt);
}

/** The most images of the batch that is requested; `undefined` if none is. `auto` means up to `max_images`. */
function readBatch(body: JsonObject, referenceCount: number): number | undefined {
  const mode = readChoice(body, "sequential_image_generation", ["auto", "disabled"]);
  if (mode !== "auto") return undefined;
  const most = maxImages - referenceCount;
  const requested = readMaxImages(body.sequential_image_generation_options);
  if (requested !== undefined && requested > most) {
    throw invalidParameter(
      "sequential_image_generation_options.max_images",
      `the number of reference images and output images must not exceed ${maxImages} in total`,
    );
  }
  return requested ?? most;
}

function readMaxImages(options: unknown): number | undefined {
  if (!isGiven(options)) return undefined;
  const name = "sequential_image_generation_options";
  if (!isJsonObject(options)) throw invalidParameter(name, "expected an object");
  const { max_images: value } = options;
  if (!isGiven(value)) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= maxImages) return value;
  throw invalidParameter(`${name}.max_images`, `expected an integer from 1 to ${maxImages}`);
}

function asksForSearch(tools: unknown): boolean {
  return (
    Array.isArray(tools) && tools.some((tool: unknown) => isJsonObject(tool) && tool.type === "web_search")
  );
}

const inputCodes = ["InputTextSensitiveContentDetected", "InputImageSensitiveContentDetected"] as const;
const outputCode = "OutputImageSensitiveContentDetected";

/** A prompt that contains a moderation code is refused with it, so that tests need no offensive prompts. */
function moderateInput(prompt: string): void {
  const code = inputCodes.find((name) => prompt.includes(name));
  if (code !== undefined) throw arkRefusal(code);
  if (prompt.includes("SensitiveContentDetected") && !prompt.includes(outputCode)) {
    throw arkRefusal("SensitiveContentDetected");
  }
}

/** `null` counts as absent in all fields. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readBoolean(body: JsonObject, name: string, fallback: boolean): boolean {
  const value = body[name] ?? fallback;
  if (typeof value !== "boolean") throw invalidParameter(name, "expected a boolean");
  return value;
}

function readChoice<const Choice extends string>(
  body: JsonObject,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) throw invalidParameter(name, `expected one of ${choices.join(", ")}`);
  return choice;
}
