import type { ImageRequest } from "../../image-request.js";
import type { UpstreamCall } from "../../upstream-call.js";

/** The call of DashScope's multimodal generation operation. */
export function toQwenImage(request: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/services/aigc/multimodal-generation/generation",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: upstreamModel, ...request.upstreamFields }),
  };
}
