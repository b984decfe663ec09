import { invalidRequest } from "../../errors.js";
import type { ReferenceImage } from "../../images/reference-image.js";
import { toReferenceImage } from "../../images/reference-image.js";
import { checkSize } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import type { NormalizeContext } from "../family.js";
import type { ModelLimits } from "../model-limits.js";
import type { QwenImageContent } from "./content.js";
import { MAX_REFERENCES, REFERENCE_MEDIA_TYPES } from "./limits.js";
import { readMessages } from "./read-messages.js";
import { readShorthand } from "./read-shorthand.js";

/** The body of a client, in the standard structure or in the shorthand, checked. */
export function normalizeQwenImage(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const content = "input" in fields ? readMessages(fields) : readShorthand(fields);
  if (content.stream) throw invalidRequest("stream is not offered for this model: leave it out.", "stream");
  checkReferences(content, context.limits);
  checkParameters(content, context.limits);
  const images = content.images.map(({ value, param }) =>
    toReferenceImage(value, param, REFERENCE_MEDIA_TYPES),
  );
  return {
    operation: context.operation,
    model: context.model,
    prompt: content.text,
    images,
    maxImages: content.parameters.n ?? 1,
    responseFormat: content.responseFormat ?? context.defaultResponseFormat ?? "url",
    stream: false,
    upstreamFields: { input: toInput(content, images), parameters: content.parameters },
    ignored: content.ignored,
  };
}

/** The client's own messages with the images checked, or one message made of the shorthand. */
function toInput(content: QwenImageContent, images: readonly ReferenceImage[]): JsonObject {
  if (content.input === undefined) {
    return {
      messages: [{ role: "user", content: [...images.map((image) => ({ image })), { text: content.text }] }],
    };
  }
  const inOrder = images.values();
  const messages = content.input.messages.map((message) => ({
    ...message,
    content: message.content.map((item) =>
      item.image === undefined ? item : { ...item, image: inOrder.next().value },
    ),
  }));
  return { ...content.input, messages };
}

function checkReferences(content: QwenImageContent, limits: ModelLimits | undefined): void {
  const { min = 0, max = MAX_REFERENCES } = limits?.references ?? {};
  const count = content.images.length;
  if (count < min || count > max) {
    const param = content.input === undefined ? "image" : "input.messages[0].content";
    throw invalidRequest(`This model takes ${min} to ${max} reference images, not ${count}.`, param);
  }
}

function checkParameters(
  { parameters: { n, size }, paramOf }: QwenImageContent,
  limits: ModelLimits | undefined,
): void {
  const most = limits?.maxImages;
  if (n !== undefined && most !== undefined && n > most) {
    const param = paramOf("n");
    throw invalidRequest(`${param} asks for ${n} images; this model makes at most ${most}.`, param);
  }
  if (size === undefined) return;
  const param = paramOf("size");
  if (limits?.size === "none") throw invalidRequest(`${param} is not supported by this model.`, param);
  // Without a row of limits any size goes, but in this form only.
  checkSize(size, limits?.size ?? {}, { separator: "*", param });
}
