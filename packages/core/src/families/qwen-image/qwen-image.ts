import type { ImageRequest } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { Family } from "../family.js";
import { listModelNames } from "../shared.js";
import type { UpstreamCall } from "../upstream-call.js";
import { raiseSeed } from "../upstream-calls.js";
import { findQwenImageCapabilities, toQwenImageRowName } from "./capabilities.js";
import { qwenImageEndpoint } from "./endpoint.js";
import { QWEN_IMAGE_MODELS } from "./models.js";
import { normalizeNative } from "./native.js";
import { normalizeQwenImage } from "./request.js";
import { fromQwenImage, toQwenImageFailure } from "./response.js";

/** Family B of the interface: the models Qwen-Image and Wan 2.7 on Alibaba Cloud Model Studio (DashScope). */
export const qwenImage: Family = {
  name: "qwen-image",
  defaultBaseUrl: "https://dashscope.aliyuncs.com/api/v1",
  operations: new Set(["generate", "edit", "native"]),
  editsNeedOption: true,
  nativeEndpoint: qwenImageEndpoint,
  delivers: ["url"],
  reportsTokens: false,
  takesImageBytes: true,
  modelNames: listModelNames(QWEN_IMAGE_MODELS),
  fields: {
    n: "number",
    seed: "number",
    watermark: "boolean",
    prompt_extend: "boolean",
    enable_thinking: "boolean",
    enable_sequential: "boolean",
    thinking_mode: "boolean",
    bbox_list: "list",
    color_palette: "list",
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
  toFailure: ({ status, body }) => toQwenImageFailure(status, body),
};

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
    body: { json: { model: upstreamModel, ...request.upstreamFields } },
  };
}
