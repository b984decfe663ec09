import type { ImageFormat } from "../drawing/recipe.js";
import type { JsonObject } from "../json.js";
import type { PixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import type { LoadedReference } from "../references/decode-image.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { invalidValue, type OpenaiService, openaiRefusal, refuseField } from "./errors.js";
import {
  findOpenaiModel,
  formatsOf,
  modelOfOtherDeployments,
  type OpenaiModel,
  type Quality,
  qualitiesOf,
} from "./models.js";
import { nestImageFields, readInputImages } from "./references.js";
import { chooseSize, readSize } from "./size.js";

/** A request that was checked, with the defaults of all fields. */
export interface OpenaiRequest {
  readonly operation: "generation" | "edit";
  readonly model: OpenaiModel;
  /** The model's name as it was sent. */
  readonly modelName: string;
  readonly prompt: string;
  readonly n: number;
  readonly size: PixelSize;
  readonly quality: Quality;
  readonly background: "opaque" | "transparent";
  readonly format: ImageFormat;
  readonly compression: number | undefined;
  readonly stream: boolean;
  readonly partialImages: number;
  readonly inputFidelity: "low" | "high";
  /** For `safety_identifier` in the response. */
  readonly safetyIdentifier: string | undefined;
  /** The images of an edit. The first one shows the mask or the markup. */
  readonly references: readonly LoadedReference[];
}

const commonFields = [
  "prompt",
  "model",
  "n",
  "size",
  "quality",
  "background",
  "output_format",
  "output_compression",
  "moderation",
  "stream",
  "partial_images",
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "svg",
  "safety_identifier",
  "user",
] as const;
const fieldsOf = {
  generation: commonFields,
  edit: [...commonFields, "input_fidelity", "images", "mask", "markup"],
  "edit-form": [
    ...commonFields,
    "input_fidelity",
    "image",
    "image[]",
    "mask",
    "markup",
    "svg[model]",
    "svg[reasoning][effort]",
  ],
} as const;
const maxPromptLength = 32_000;

/** Checks a request and reads its images, as strictly as OpenAI: unknown fields are refused. */
export async function readOpenaiRequest(
  operation: "generation" | "edit",
  call: ProviderCall,
  { service, services }: { service: OpenaiService; services: Services },
): Promise<OpenaiRequest> {
  const isForm = call.files !== undefined;
  const body = isForm ? nestImageFields(call) : call.body;
  const fields = readFields(body, { isForm, refuse: refuseField });
  fields.refuseUnknown(fieldsOf[isForm ? "edit-form" : operation]);
  const prompt = fields.requiredText("prompt", maxPromptLength);
  const modelName = call.params.model ?? fields.requiredText("model");
  const model = findModel(modelName, service);
  const settings = readSettings(fields, model);
  checkExtras(fields, body, model);
  const size = readSize(fields.text("size"), model);
  moderate(prompt);

  const references =
    operation === "edit" ? await readInputImages(fields, body, { model, call, services }) : [];
  return {
    operation,
    model,
    modelName,
    prompt,
    ...settings,
    size: size ?? chooseSize(prompt, references.at(-1)),
    references,
  };
}

function findModel(name: string, service: OpenaiService): OpenaiModel {
  const model = findOpenaiModel(name);
  if (model !== undefined) return model;
  const usual = service === "azure" ? findOpenaiModel(modelOfOtherDeployments) : undefined;
  if (usual === undefined) {
    throw openaiRefusal(
      "model_not_found",
      `The model '${name}' does not exist or you do not have access to it.`,
      "model",
    );
  }
  return usual;
}

function readSettings(fields: Fields, model: OpenaiModel) {
  const format = fields.choice("output_format", formatsOf(model)) ?? "png";
  const background = fields.choice("background", ["transparent", "opaque", "auto"]) ?? "auto";
  if (background === "transparent" && format !== "png" && format !== "webp") {
    throw invalidValue(
      "background",
      "Transparent background is only supported for 'png' and 'webp' output formats.",
    );
  }
  const compression = fields.integer("output_compression", 0, 100);
  if (compression !== undefined && compression < 100 && format !== "jpeg" && format !== "webp") {
    throw invalidValue(
      "output_compression",
      "Compression less than 100 is only supported for 'jpeg' and 'webp'.",
    );
  }
  const quality = fields.choice("quality", [...qualitiesOf(model), "auto"]) ?? "auto";
  fields.choice("moderation", ["low", "auto"]);
  fields.text("user");
  return {
    n: fields.integer("n", 1, 10) ?? 1,
    quality: quality === "auto" ? "high" : quality,
    background: background === "transparent" ? "transparent" : "opaque",
    format,
    compression,
    inputFidelity: readInputFidelity(fields, model),
    safetyIdentifier: fields.text("safety_identifier", 128),
    ...readStream(fields, format),
  } as const;
}

function readStream(fields: Fields, format: ImageFormat) {
  const stream = fields.boolean("stream") ?? false;
  const partialImages = fields.integer("partial_images", 0, 3) ?? 0;
  if (partialImages > 0 && !stream) {
    throw invalidValue("partial_images", "'partial_images' is only supported when 'stream' is true.");
  }
  if (stream && (format === "gif" || format === "svg")) {
    throw invalidValue("stream", `Streaming is not supported for '${format}' output.`);
  }
  return { stream, partialImages };
}

function readInputFidelity(fields: Fields, model: OpenaiModel): "low" | "high" {
  if (!fields.has("input_fidelity")) return "low";
  if (model.inputFidelity.length === 0) {
    throw invalidValue("input_fidelity", "This model does not support the 'input_fidelity' parameter.");
  }
  return fields.choice("input_fidelity", model.inputFidelity) ?? "low";
}

/** The fields of the newest models. */
function checkExtras(fields: Fields, body: JsonObject, model: OpenaiModel): void {
  for (const name of ["complexity", "frame_count", "frame_duration_ms", "svg"]) {
    const isGiven = Object.keys(body).some((given) => given === name || given.startsWith(`${name}[`));
    if (isGiven && !model.isNewest) {
      throw openaiRefusal("unknown_parameter", `Unknown parameter: '${name}'.`, name);
    }
  }
  fields.choice("complexity", ["low", "medium", "high"]);
  const format = fields.text("output_format");
  fields.integer("frame_count", 2, 16);
  fields.integer("frame_duration_ms", 1, 60_000);
  for (const name of ["frame_count", "frame_duration_ms"]) {
    if (fields.has(name) && format !== "gif")
      throw invalidValue(name, `'${name}' is only supported for 'gif' output.`);
  }
  if (format === "svg" && (fields.integer("n", 1, 10) ?? 1) > 1) {
    throw invalidValue("n", "Only one image is supported for 'svg' output.");
  }
}

/** A prompt that contains the code is refused with it, so that tests need no offensive prompts. */
function moderate(prompt: string): void {
  if (prompt.includes("moderation_blocked")) throw new Refusal({ code: "moderation_blocked" });
}
