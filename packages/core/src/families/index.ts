export { invalidRequest } from "../errors.js";
export type { FormPart } from "../images/form-body.js";
export { toJsonBody } from "../images/json-body.js";
export { findNearestRatio, findNearestSize, type WantedSize } from "../images/nearest-size.js";
export type { ProducedBody } from "../images/produced-body.js";
export {
  type Base64Image,
  createUploadedImage,
  type ImageBytes,
  isUploadedImage,
  type ReferenceImage,
  toBase64,
  toReferenceImage,
  type UploadedImage,
} from "../images/reference-image.js";
export { checkSize, parsePixels, type SizeLimits, type SizeStyle } from "../images/size.js";
export type {
  FailureReason,
  FailureScope,
  ImageRequest,
  ImageResult,
  MadeImage,
  Operation,
  ReportedFailure,
  ResponseFormat,
  ResultError,
  ResultImage,
  SizeMode,
  StreamFormat,
  UpstreamFailureKind,
  Usage,
} from "../types.js";
export { isJsonObject, type JsonObject } from "../util/json.js";
export type { BackgroundRules, Capabilities, LayerRules } from "./capabilities.js";
export type { Dialect } from "./dialect.js";
export type { FailedResponse, UpstreamFailure } from "./failure.js";
export type { Family, FieldTypes, NativeEndpoint, NativePath, NormalizeContext } from "./family.js";
export type {
  JobProtocol,
  JobState,
  ProviderJob,
  ProviderTask,
  Submission,
  TaskProtocol,
  TaskState,
} from "./job.js";
export { qwenImage } from "./qwen-image/qwen-image.js";
export type { ResponseShape, StreamReader, StreamResult, StreamShape } from "./response-shape.js";
export { seedream } from "./seedream/seedream.js";
export type { SequentialFields } from "./seedream/sequential-images.js";
export { applyImageCount } from "./seedream/sequential-images.js";
export {
  failureKindOfStatus,
  isReferenceImage,
  readCost,
  readCount,
  readMadeImage,
  readText,
} from "./shared.js";
export type { CallToSign, UpstreamBody, UpstreamCall } from "./upstream-call.js";
export { countUpstreamCalls } from "./upstream-calls.js";
