import type { GatewayResponse } from "../exchange.js";
import type { ImageResult } from "../image-request.js";
import type { JsonObject } from "../json.js";
import { type AnswerContext, toAnswerHeaders } from "./answer-headers.js";

/** What the images' answer says beside the images. */
export interface ImagesResponseContext extends AnswerContext {
  /** Seconds since 1970, for providers that give no time. */
  readonly now: number;
}

/** The answer of `/v1`: `created` and `data`, and in `extra.errors` the images that failed. */
export function renderImages(result: ImageResult, context: ImagesResponseContext): GatewayResponse {
  const extra: JsonObject = { ...result.extra, ...(result.errors.length > 0 && { errors: result.errors }) };
  const body = {
    ...result.fields,
    created: result.created ?? context.now,
    data: result.images,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  return {
    status: 200,
    headers: toAnswerHeaders("application/json", context),
    body: JSON.stringify(body),
  };
}
