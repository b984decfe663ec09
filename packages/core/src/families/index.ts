export type { ResponseShape } from "../answer-shape.js";
export { invalidRequest } from "../errors.js";
export { toJsonBody } from "../images/json-body.js";
export {
  type ChunksOptions,
  createUploadedImage,
  isUploadedImage,
  type KeptBytes,
  type ReferenceImage,
  toReferenceImage,
  type UploadedImage,
} from "../images/reference-image.js";
export { checkSize, type SizeLimits, type SizeStyle } from "../images/size.js";
export { isJsonObject, type JsonObject } from "../json.js";
export type { ProducedBody, UpstreamCall } from "../upstream-call.js";
export { failureKindOfStatus } from "./failure-kind.js";
export type { Family, NormalizeContext, StreamReader, StreamResult } from "./family.js";
export type { ModelLimits } from "./model-limits.js";
export { qwenImage } from "./qwen-image/qwen-image.js";
export { readCount, readText } from "./read-values.js";
export { seedream } from "./seedream/seedream.js";
export type { SequentialFields } from "./seedream/sequential-images.js";
export { applyImageCount } from "./seedream/sequential-images.js";
