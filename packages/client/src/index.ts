export { type Client, type ClientOptions, createClient } from "./create-client.js";
export {
  CalotypeError,
  type CalotypeErrorCode,
  type CalotypeErrorDetails,
  type CalotypeErrorType,
} from "./errors.js";
export { createIdempotencyKey, type ImageRequest } from "./image-request.js";
export type { CallOptions, ImageCallOptions } from "./send.js";
export type { ListOptions, Tasks } from "./tasks.js";
export type {
  EditRequest,
  Estimate,
  GenerateRequest,
  Image,
  ImageEvent,
  ImageFailure,
  ImageInput,
  ImagesResult,
  Model,
  Task,
  TaskEvent,
  TaskPage,
  Usage,
} from "./types.js";
