import { toJsonBody } from "../../images/json-body.js";
import type { ImageRequest } from "../../types.js";
import type { UpstreamCall } from "../family.js";

const HEADERS: UpstreamCall["headers"] = { "content-type": "application/json" };

/** The call of Ark's image operation. */
export function toSeedream(request: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/images/generations",
    headers: HEADERS,
    body: toJsonBody({ model: upstreamModel, ...request.upstreamFields }),
  };
}
