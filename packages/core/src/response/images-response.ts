import type { GatewayResponse } from "../exchange.js";
import type { ImageResult } from "../image-request.js";
import type { JsonObject } from "../json.js";

/** What the images' answer says beside the images. */
export interface ImagesResponseContext {
  readonly requestId: string;
  /** Seconds since 1970, for providers that give no time. */
  readonly now: number;
  /** Fields of the client that had no effect. */
  readonly ignored: readonly string[];
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
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": context.requestId,
      ...(context.ignored.length > 0 && { "x-calotype-ignored": listNames(context.ignored) }),
    },
    body: JSON.stringify(body),
  };
}

const MAX_NAMES = 20;

/** Names that a client chose, fit for a header. */
function listNames(names: readonly string[]): string {
  return names
    .slice(0, MAX_NAMES)
    .map((name) => encodeURIComponent(name.slice(0, 64).toWellFormed()))
    .join(", ");
}
