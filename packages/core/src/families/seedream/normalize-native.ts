import { invalidRequest } from "../../errors.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { NormalizeContext } from "../family.js";
import { isReferenceImage } from "../image-list.js";
import { countMaxPixels } from "./count-max-pixels.js";
import { MAX_IMAGES } from "./limits.js";
import { nativeRequestSchema } from "./request-schema.js";
import { countImagesOfEach, countMaxImages } from "./sequential-images.js";

/** A body of the native endpoint: what is charged by is checked, all else is the provider's to judge. */
export function normalizeNative(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const parsed = parseFields(nativeRequestSchema, fields);
  const images = [parsed.image].flat().filter(isReferenceImage);
  const most = context.limits?.maxImages ?? MAX_IMAGES;
  const batch = countMaxImages(
    {
      sequential_image_generation: parsed.sequential_image_generation ?? undefined,
      sequential_image_generation_options: {
        max_images: parsed.sequential_image_generation_options?.max_images ?? undefined,
      },
    },
    images.length,
    context.limits?.maxReferencesAndImages ?? MAX_IMAGES,
  );
  if (batch > most) {
    const param = "sequential_image_generation_options.max_images";
    throw invalidRequest(`${param} asks for ${batch} images; at most ${most} are allowed.`, param);
  }
  const { n, ...upstreamFields } = fields;
  return {
    operation: "native",
    model: context.model,
    prompt: parsed.prompt,
    images,
    maxImages: batch * countImagesOfEach(parsed.layer_decomposition === true, context),
    maxPixels: countMaxPixels(fields["size"], context.limits),
    responseFormat: parsed.response_format === "b64_json" ? "b64_json" : "url",
    stream: parsed.stream ?? false,
    upstreamFields,
    ignored: n === undefined ? [] : ["n"],
  };
}
