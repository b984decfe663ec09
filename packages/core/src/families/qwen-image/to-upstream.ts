import type { ImageRequest } from "../../image-request.js";
import { toJsonBody } from "../../images/json-body.js";
import type { UpstreamCall } from "../../upstream-call.js";

const HEADERS: UpstreamCall["headers"] = { "content-type": "application/json" };

/** The call of DashScope's multimodal generation operation. */
export function toQwenImage(request: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/services/aigc/multimodal-generation/generation",
    headers: HEADERS,
    body: toJsonBody({ model: upstreamModel, ...request.upstreamFields }),
  };
}
