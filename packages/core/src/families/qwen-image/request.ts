import { invalidRequest } from "../../errors.js";
import { type ReferenceImage, toReferenceImage } from "../../images/reference-image.js";
import { checkSize } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { Capabilities } from "../capabilities.js";
import { type ChosenSize, chooseNearestSize, isDefaultSize } from "../choose-size.js";
import type { NormalizeContext } from "../family.js";
import { splitOpenAiOnly } from "../shared.js";
import { countUpstreamCalls } from "../upstream-calls.js";
import {
  countDefaultImages,
  countMaxPixels,
  findMostImages,
  findSizeLimits,
  MAX_REFERENCES,
  REFERENCE_MEDIA_TYPES,
} from "./capabilities.js";
import {
  type MessagesFields,
  messagesRequestSchema,
  type QwenImageContent,
  shorthandRequestSchema,
} from "./request-schema.js";

/** The body of a client, in the standard structure or in the shorthand, checked. */
export function normalizeQwenImage(fields: JsonObject, context: NormalizeContext): ImageRequest {
  if ("input" in fields && context.operation === "edit") {
    throw invalidRequest(
      "input is not supported at this endpoint: send prompt and image, or input to /v1/images/generations.",
      "input",
    );
  }
  const content = "input" in fields ? readMessages(fields) : readShorthand(fields);
  // With the stream format `openai` the gateway makes the stream from the response.
  if (content.stream && context.streamFormat !== "openai")
    throw invalidRequest("stream is not offered for this model: leave it out.", "stream");
  checkReferences(content, context.capabilities);
  const upstreamCalls = countUpstreamCalls(content, context);
  const limits = findSizeLimits(context.capabilities, content.images.length);
  const size = chooseSize(content, limits, context.sizes);
  // Of several calls, each makes one image.
  const ofOneCall = upstreamCalls > 1 ? { ...content, n: 1 } : content;
  const parameters = { ...withImageCount(ofOneCall, context.capabilities) };
  if (size.size === undefined) delete parameters.size;
  else parameters.size = size.size;
  checkCount(parameters, content.paramOf, context.capabilities);
  checkParameterSize(parameters, content, limits);
  const images = content.images.map(({ value, param }) =>
    toReferenceImage(value, param, REFERENCE_MEDIA_TYPES),
  );
  return {
    operation: context.operation,
    model: context.model,
    prompt: content.text,
    images,
    maxImages:
      upstreamCalls * (parameters.n ?? countDefaultImages(context.capabilities, isSequence(parameters))),
    maxPixels: countMaxPixels(parameters.size, context.capabilities),
    ...(upstreamCalls > 1 && { upstreamCalls }),
    responseFormat: content.responseFormat ?? context.defaultResponseFormat ?? "url",
    stream: content.stream,
    ...(size.replacedSize !== undefined && { replacedSize: size.replacedSize }),
    ...(context.sizes === "nearest" && { statesSize: true }),
    upstreamFields: { input: toInput(content, images), parameters },
    ignored: [...content.ignored.filter((name) => !size.read.includes(name)), ...size.ignored],
  };
}

/** The size to send in the family's spelling, if any. `checkParameterSize` checks it. */
function chooseSize(
  { parameters, ratioFields, paramOf }: QwenImageContent,
  limits: Capabilities["size"],
  sizes: NormalizeContext["sizes"],
): ChosenSize {
  if (sizes !== "nearest") return { size: spellPreset(parameters.size, limits), read: [], ignored: [] };
  // Without a row, sizes have the family's spelling but no limits.
  const chosen = chooseNearestSize({ ...ratioFields, size: parameters.size }, limits ?? {});
  return {
    ...chosen,
    size: spellPreset(chosen.size?.replace("x", "*"), limits),
    ignored: chosen.ignored.map((name) => (name === "size" ? paramOf(name) : name)),
  };
}

/** A preset as the provider spells it. Any other size is returned as it is. */
function spellPreset(size: string | undefined, limits: Capabilities["size"]): string | undefined {
  const presets = limits === undefined || limits === "none" ? [] : (limits.presets ?? []);
  return presets.find((preset) => preset.toLowerCase() === size?.toLowerCase()) ?? size;
}

/** The client's own messages with checked images, or one message made from the shorthand. */
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

function checkReferences(content: QwenImageContent, capabilities: Capabilities | undefined): void {
  const { min = 0, max = MAX_REFERENCES } = capabilities?.references ?? {};
  const count = content.images.length;
  if (count < min || count > max) {
    const param = content.input === undefined ? "image" : "input.messages[0].content";
    throw invalidRequest(`This model takes ${min} to ${max} reference images, not ${count}.`, param);
  }
}

/**
 * The parameters with `n` of the top level, for a model that makes several images per call. One image is requested by
 * leaving `n` out, unless the model then makes several.
 */
function withImageCount(
  { n = 1, parameters, isShorthand }: QwenImageContent,
  capabilities: Capabilities | undefined,
): QwenImageContent["parameters"] {
  if (n > 1) return { n, ...parameters };
  const needsCount = isShorthand && !isSequence(parameters) && countDefaultImages(capabilities, false) > 1;
  return needsCount ? { n: 1, ...parameters } : parameters;
}

/** True if the client asks for a sequence of images, whose number the model chooses, up to `n`. */
function isSequence({ enable_sequential: isEnabled }: QwenImageContent["parameters"]): boolean {
  return isEnabled === true;
}

function checkCount(
  { n, ...parameters }: QwenImageContent["parameters"],
  paramOf: QwenImageContent["paramOf"],
  capabilities: Capabilities | undefined,
): void {
  const most = findMostImages(capabilities, isSequence(parameters));
  if (n !== undefined && most !== undefined && n > most) {
    const param = paramOf("n");
    throw invalidRequest(`${param} asks for ${n} images; this model makes at most ${most}.`, param);
  }
}

function checkParameterSize(
  { size }: QwenImageContent["parameters"],
  { paramOf, sizeSeparator: separator }: QwenImageContent,
  limits: Capabilities["size"],
): void {
  if (size === undefined) return;
  const param = paramOf("size");
  if (limits === "none") throw invalidRequest(`${param} is not supported by this model.`, param);
  // Without a row of capabilities any size is accepted, but only in this format.
  checkSize(separator === "x" ? size.replace("*", "x") : size, limits ?? {}, { separator, param });
}

/** The place in the standard structure for fields that clients put elsewhere. */
const MISPLACED: Readonly<Record<string, string>> = {
  n: "parameters.n",
  size: "parameters.size, as <width>*<height>",
  image: "an image item of input.messages[0].content",
  images: "image items of input.messages[0].content",
  negative_prompt: "parameters.negative_prompt",
};

const FORWARDED: ReadonlySet<string> = new Set([
  "prompt",
  "input",
  "parameters",
  "response_format",
  "stream",
]);

/** The structure `input.messages`, checked strictly as the specification says. */
function readMessages(fields: JsonObject): QwenImageContent {
  refuseLegacyInput(fields["input"]);
  for (const [name, place] of Object.entries(MISPLACED)) {
    if (name in fields) throw invalidRequest(`With input, ${name} has another place: send ${place}.`, name);
  }
  const parsed = parseFields(messagesRequestSchema, fields);
  return {
    ...readContent(parsed),
    input: parsed.input,
    isShorthand: false,
    parameters: parsed.parameters ?? {},
    sizeSeparator: "*",
    paramOf: (name) => `parameters.${name}`,
    responseFormat: parsed.response_format,
    stream: parsed.stream ?? false,
    ignored: Object.keys(fields).filter((name) => !FORWARDED.has(name)),
  };
}

/** The older structure without messages fails at the provider, so the error says what to send instead. */
function refuseLegacyInput(input: unknown): void {
  if (!isJsonObject(input)) return;
  const instead: Record<string, string> = {
    prompt: 'send input.messages: [{"role": "user", "content": [{"text": "…"}]}]',
    images: "send image items in input.messages[0].content",
    negative_prompt: "send parameters.negative_prompt",
  };
  for (const [name, advice] of Object.entries(instead)) {
    if (name in input) throw invalidRequest(`input.${name} must not be used: ${advice}.`, `input.${name}`);
  }
}

function readContent({ input }: MessagesFields): { text: string; images: readonly QwenImageReference[] } {
  const path = "input.messages[0].content";
  const items = input.messages[0]?.content ?? [];
  const texts = items.flatMap((item) => item.text ?? []);
  items.forEach((item, index) => {
    const kinds = ["text", "image"].filter((kind) => kind in item);
    if ("images" in item || kinds.length !== 1) {
      throw invalidRequest(`${path}[${index}] must hold either text or image.`, `${path}[${index}]`);
    }
  });
  const [text] = texts;
  if (text === undefined || texts.length !== 1) {
    throw invalidRequest(`${path} must hold exactly one text item, not ${texts.length}.`, path);
  }
  const images = items.flatMap((item, index) =>
    item.image === undefined ? [] : [{ value: item.image, param: `${path}[${index}].image` }],
  );
  return { text, images };
}

interface QwenImageReference {
  readonly value: ReferenceImage;
  readonly param: string;
}

/** Top-level fields of the shorthand that have their place in `parameters`. */
const PARAMETERS = [
  "watermark",
  "prompt_extend",
  "prompt_extend_mode",
  "enable_thinking",
  "negative_prompt",
  "seed",
  "enable_sequential",
  "thinking_mode",
  "bbox_list",
  "color_palette",
] as const;

const UNDERSTOOD: ReadonlySet<string> = new Set([
  "prompt",
  "image",
  "n",
  "size",
  "parameters",
  "response_format",
  "stream",
  ...PARAMETERS,
]);

/**
 * Converts a request in the format of OpenAI's clients: `prompt` and `image` become the message; `n`, `size` and the
 * known parameters are added to `parameters`. A parameter that the client already set there takes precedence.
 *
 * @throws GatewayError that names the first wrong field
 */
function readShorthand(fields: JsonObject): QwenImageContent {
  // If it were ignored, the provider would make and charge an image of the text alone.
  if ("images" in fields) {
    throw invalidRequest(
      "images is not supported: send image, one reference image or a list of them.",
      "images",
    );
  }
  const { known, ignored } = splitOpenAiOnly(fields);
  const parsed = parseFields(shorthandRequestSchema, known);
  const moved = Object.fromEntries(
    PARAMETERS.filter((name) => name in known).map((name) => [name, known[name]]),
  );
  const images = parsed.image === undefined ? [] : [parsed.image].flat();
  return {
    text: parsed.prompt,
    isShorthand: true,
    images: images.map((value, index) => ({
      value,
      param: Array.isArray(parsed.image) ? `image[${index}]` : "image",
    })),
    n: parsed.parameters?.n === undefined ? parsed.n : undefined,
    parameters: {
      ...readSize(parsed.size),
      ...moved,
      ...parsed.parameters,
    },
    // `parameters` takes the provider's spelling only.
    sizeSeparator: parsed.parameters?.size !== undefined || parsed.size?.includes("*") ? "*" : "x",
    paramOf: (name) => (parsed.parameters?.[name] === undefined ? name : `parameters.${name}`),
    ratioFields: { aspect_ratio: known["aspect_ratio"], resolution: known["resolution"] },
    responseFormat: parsed.response_format,
    stream: parsed.stream ?? false,
    ignored: [...ignored, ...Object.keys(known).filter((name) => !UNDERSTOOD.has(name))],
  };
}

function readSize(size: string | undefined): { size?: string } {
  if (size === undefined || isDefaultSize(size)) return {};
  return { size: size.replace(/^(\d+)x(\d+)$/, "$1*$2") };
}
