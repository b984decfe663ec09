import { toJsonBody } from "../../images/json-body.js";
import type { ImageRequest } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { Family, UpstreamCall } from "../family.js";
import { raiseSeed } from "../fan-out.js";
import { listModelNames } from "../shared.js";
import { findQwenImageCapabilities, toQwenImageRowName } from "./capabilities.js";
import { QWEN_IMAGE_MODELS } from "./models.js";
import { normalizeNative } from "./native.js";
import { normalizeQwenImage } from "./request.js";
import { fromQwenImage, toQwenImageFailure } from "./response.js";

/** Family B of the interface: Qwen-Image models on Alibaba Cloud Model Studio (DashScope). */
export const qwenImage: Family = {
  name: "qwen-image",
  defaultBaseUrl: "https://dashscope.aliyuncs.com/api/v1",
  operations: new Set(["generate", "edit", "native"]),
  editsNeedOption: true,
  nativePath: "/api/v1/services/aigc/multimodal-generation/generation",
  reportsTokens: false,
  takesImageBytes: true,
  modelNames: listModelNames(QWEN_IMAGE_MODELS),
  formFields: {
    n: "number",
    seed: "number",
    watermark: "boolean",
    prompt_extend: "boolean",
    enable_thinking: "boolean",
    stream: "boolean",
    parameters: "object",
  },
  findCapabilities: findQwenImageCapabilities,
  toRowName: toQwenImageRowName,
  normalize: (fields, context) =>
    context.operation === "native" ? normalizeNative(fields, context) : normalizeQwenImage(fields, context),
  toUpstream: toQwenImage,
  raiseSeed: raiseQwenImageSeed,
  fromUpstream: fromQwenImage,
  toFailure: toQwenImageFailure,
};

const HEADERS: UpstreamCall["headers"] = { "content-type": "application/json" };

function raiseQwenImageSeed(upstreamFields: JsonObject, amount: number): JsonObject {
  const { parameters } = upstreamFields;
  return isJsonObject(parameters)
    ? { ...upstreamFields, parameters: raiseSeed(parameters, amount) }
    : upstreamFields;
}

/** The call of DashScope's multimodal generation operation. */
function toQwenImage(request: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/services/aigc/multimodal-generation/generation",
    headers: HEADERS,
    body: toJsonBody({ model: upstreamModel, ...request.upstreamFields }),
  };
}
