import type { GatewayResponse } from "../exchange.js";
import type { ImageResult } from "../image-request.js";
import type { JsonObject } from "../json.js";
import { type ResponseContext, toResponseHeaders } from "./answer-headers.js";

/** What the images' answer says beside the images. */
export interface ImagesResponseContext extends ResponseContext {
  /** Milliseconds since 1970, for providers that give no time. */
  readonly now: () => number;
}

/** The answer of `/v1`: `created` and `data`, and in `extra.errors` the images that failed. */
export function renderImages(result: ImageResult, context: ImagesResponseContext): GatewayResponse {
  const body: JsonObject = {
    ...result.fields,
    created: result.created ?? Math.floor(context.now() / 1000),
    data: result.images,
  };
  const extra = toExtra(result);
  if (extra !== undefined) body["extra"] = extra;
  return {
    status: 200,
    headers: toResponseHeaders("application/json", context),
    body: JSON.stringify(body),
  };
}

function toExtra({ extra, errors }: ImageResult): JsonObject | undefined {
  if (errors.length > 0) return { ...extra, errors };
  return extra !== undefined && Object.keys(extra).length > 0 ? extra : undefined;
}
