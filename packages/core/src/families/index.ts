export { invalidRequest } from "../errors.js";
export { type ProducedBody, toJsonBody } from "../images/json-body.js";
export { findNearestSize, type WantedSize } from "../images/nearest-size.js";
export {
  createUploadedImage,
  type ImageBytes,
  isUploadedImage,
  type ReferenceImage,
  toReferenceImage,
  type UploadedImage,
} from "../images/reference-image.js";
export { checkSize, type SizeLimits, type SizeStyle } from "../images/size.js";
export type {
  FailureReason,
  ImageRequest,
  ImageResult,
  MadeImage,
  Operation,
  ResponseFormat,
  ResultError,
  ResultImage,
  SizeMode,
  StreamFormat,
  Usage,
} from "../types.js";
export { isJsonObject, type JsonObject } from "../util/json.js";
export type {
  BackgroundRules,
  Capabilities,
  FailureScope,
  Family,
  FormFieldTypes,
  LayerRules,
  NativePath,
  NormalizeContext,
  ResponseShape,
  StreamReader,
  StreamResult,
  StreamShape,
  UpstreamCall,
  UpstreamFailure,
  UpstreamFailureKind,
} from "./family.js";
export { countUpstreamCalls } from "./fan-out.js";
export { qwenImage } from "./qwen-image/qwen-image.js";
export { seedream } from "./seedream/seedream.js";
export type { SequentialFields } from "./seedream/sequential-images.js";
export { applyImageCount } from "./seedream/sequential-images.js";
export { failureKindOfStatus, readCount, readMadeImage, readText } from "./shared.js";
