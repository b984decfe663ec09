import type { ImageResult, MadeImage, ResultError, ResultImage } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import type { Dialect } from "./dialect.js";
import type { ResponseShape } from "./response-shape.js";
import { countItems, pickMembers, readMadeImage } from "./shared.js";

/**
 * Creates the reader of whole responses from the shape of the responses, so that a family states it once. Failed items are
 * removed, and the provider's name of the model is replaced.
 */
export function createResponseReader(shape: ResponseShape): Dialect["fromUpstream"] {
  const { countsItems = false, addsModel = true } = shape;
  return (body, request): ImageResult => {
    const {
      [shape.model]: upstreamModel,
      [shape.created]: created,
      [shape.items]: items,
      [shape.failure]: failure,
      ...fields
    } = body;
    const images: ResultImage[] = [];
    const errors: ResultError[] = [];
    for (const [index, item] of (Array.isArray(items) ? items : []).entries()) {
      const read = shape.readItem(item, index);
      if (read !== "image") errors.push(read);
      else if (isJsonObject(item)) images.push(pickMembers(item, shape.leftOut));
    }
    const usage = shape.readUsage(body[shape.usage]);
    return {
      images,
      errors,
      made: findMade(images, body, shape),
      failure: shape.readFailure(failure),
      usage: countsItems ? countItems(usage, images.length) : usage,
      fields: { ...((addsModel || upstreamModel !== undefined) && { model: request.model }), ...fields },
      created: shape.readCreated(created),
    };
  };
}

/** `undefined`: each image says itself what it is. */
function findMade(
  images: readonly ResultImage[],
  body: JsonObject,
  { ofAllImages }: ResponseShape,
): readonly MadeImage[] | undefined {
  if (ofAllImages === undefined) return undefined;
  const ofAll = readMadeImage(Object.fromEntries(ofAllImages.map((name) => [name, body[name]] as const)));
  return images.map((image) => ({ ...ofAll, ...readMadeImage(image) }));
}
