import { toJsonBody } from "../../images/json-body.js";
import type { ImageRequest } from "../../types.js";
import type { UpstreamCall } from "../family.js";

const HEADERS: UpstreamCall["headers"] = { "content-type": "application/json" };

/** The call of DashScope's multimodal generation operation. */
export function toQwenImage(request: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/services/aigc/multimodal-generation/generation",
    headers: HEADERS,
    body: toJsonBody({ model: upstreamModel, ...request.upstreamFields }),
  };
}
