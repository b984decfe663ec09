export type { Family, NormalizeContext, StreamReader, StreamResult, UpstreamCall } from "./family.js";
export type { ModelLimits } from "./model-limits.js";
export { qwenImage } from "./qwen-image/qwen-image.js";
export { seedream } from "./seedream/seedream.js";
export type { SequentialFields } from "./seedream/sequential-images.js";
export { applyImageCount } from "./seedream/sequential-images.js";
