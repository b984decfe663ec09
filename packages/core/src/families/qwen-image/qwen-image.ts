import type { Family } from "../family.js";
import { toQwenImageFailure } from "./from-error.js";
import { fromQwenImage } from "./from-upstream.js";
import { findQwenImageLimits } from "./limits.js";
import { normalizeQwenImage } from "./normalize.js";
import { toQwenImage } from "./to-upstream.js";

/** Family B of the interface: Qwen-Image models on Alibaba Cloud Model Studio (DashScope). */
export const qwenImage: Family = {
  name: "qwen-image",
  defaultBaseUrl: "https://dashscope.aliyuncs.com/api/v1",
  operations: new Set(["generate"]),
  reportsTokens: false,
  takesImageBytes: true,
  findLimits: findQwenImageLimits,
  normalize: normalizeQwenImage,
  toUpstream: toQwenImage,
  fromUpstream: fromQwenImage,
  toFailure: toQwenImageFailure,
};
