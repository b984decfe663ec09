export type { ResponseShape } from "../answer-shape.js";
export { invalidRequest } from "../errors.js";
export { isJsonObject, type JsonObject } from "../json.js";
export { toJsonBody } from "../json-body.js";
export { toReferenceImage } from "../request/data-url.js";
export { checkSize, type SizeLimits, type SizeStyle } from "../request/image-size.js";
export {
  type ChunksOptions,
  createUploadedImage,
  isUploadedImage,
  type KeptBytes,
  type ReferenceImage,
  type UploadedImage,
} from "../uploaded-image.js";
export type { ProducedBody, UpstreamCall } from "../upstream-call.js";
export { failureKindOfStatus } from "./failure-kind.js";
export type { Family, NormalizeContext, StreamReader, StreamResult } from "./family.js";
export type { ModelLimits } from "./model-limits.js";
export { qwenImage } from "./qwen-image/qwen-image.js";
export { readCount, readText } from "./read-values.js";
export { seedream } from "./seedream/seedream.js";
export type { SequentialFields } from "./seedream/sequential-images.js";
export { applyImageCount } from "./seedream/sequential-images.js";
