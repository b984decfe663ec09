import type { ArkRequest } from "./read-request.js";

const pixelsPerToken = 256;

/** Only images that were made count; `total_tokens` equals `output_tokens`. */
export function usageOf(made: number, request: ArkRequest) {
  const tokens = Math.floor((made * request.size.width * request.size.height) / pixelsPerToken);
  return {
    generated_images: made,
    output_tokens: tokens,
    total_tokens: tokens,
    ...(request.searches ? { tool_usage: { web_search: 1 } } : {}),
  };
}
