import { countPixels } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import type { NormalizeContext } from "../family.js";
import { normalizeFields } from "../fields/normalize-fields.js";
import { listDropped } from "./dialects.js";
import { countMaxTokens } from "./tokens.js";

/**
 * Checks the body of a client of `/v1`. The fields keep their names; only `response_format` is not forwarded. A generation
 * with reference images is an edit for the provider.
 */
export function normalizeOpenai(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { request, parsed } = normalizeFields(fields, context);
  const { images, mask, markup, maxImages, upstreamFields } = request;
  const { prompt, quality, partial_images: partialImages = 0 } = parsed;
  const { size, stream } = upstreamFields;
  const streams = stream === true;
  return {
    ...request,
    ...countMaxTokens(
      {
        prompt,
        references: images.length + [mask, markup].filter((image) => image !== undefined).length,
        quality,
        pixels: typeof size === "string" ? countPixels(size) : undefined,
        partialImages: streams ? partialImages : 0,
        reports: streams ? maxImages : 1,
      },
      context.capabilities,
    ),
    ...(quality !== undefined && quality !== "auto" && { quality }),
    ignored: [...request.ignored, ...listDropped(upstreamFields, context.dialects)],
  };
}
