import * as z from "zod/mini";
import { openaiRequestSchema } from "../../families/fields/normalize-fields.js";
import { geminiRequestSchema } from "../../families/gemini/request.js";
import { nativeRequestSchema as dashScopeSchema } from "../../families/qwen-image/native.js";
import { messagesRequestSchema, shorthandRequestSchema } from "../../families/qwen-image/request-schema.js";
import {
  layersRequestSchema,
  nativeLayersSchema,
  nativeRequestSchema,
  seedreamRequestSchema,
} from "../../families/seedream/request.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/** A schema of JSON Schema, draft 2020-12. */
export type JsonSchema = JsonObject;

const IMAGE = {
  type: "string",
  description: "A public link (`https:`, `http:`), or a data URL with base64.",
  examples: ["https://example.com/cat.png"],
};

/** What the validators do not say about the fields: what they mean, and the types of images. */
const FIELDS: Readonly<Record<string, JsonSchema>> = {
  model: {
    type: "string",
    minLength: 1,
    description: "The service's name of the model; `GET /v1/models` lists those that the key may use.",
    examples: ["seedream-4-5-251128"],
  },
  prompt: {
    description: "What the image shows, or how it is changed.",
    examples: ["a paper boat on a lake"],
  },
  n: { description: "The number of images. Absent: one." },
  size: {
    description: "`<width>x<height>`, or a preset of the model such as `2K`.",
    examples: ["2048x2048"],
  },
  response_format: {
    description:
      "`url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.",
  },
  output_format: { description: "The format of the images, such as `png`, `jpeg` or `webp`." },
  background: { description: "`transparent`, `opaque` or `auto`, if the model knows the field." },
  quality: { description: "The quality, if the model knows the field." },
  watermark: { description: "Whether the provider adds its watermark." },
  image: {
    anyOf: [IMAGE, { type: "array", minItems: 1, items: IMAGE }],
    description: "The reference image or images. With them, the request is an edit.",
  },
  mask: { ...IMAGE, description: "The area to change: a link or a data URL." },
  markup: { ...IMAGE, description: "Marks that show the change: a link or a data URL." },
  seed: { description: "The seed, if the model knows the field." },
  guidance_scale: { description: "How closely the image follows the prompt, if the model knows the field." },
  sequential_image_generation: {
    description: "`auto`: several images that belong together. `n` above 1 sets it.",
  },
  sequential_image_generation_options: { description: "How many images at most, in `max_images`." },
  max_images: { description: "The largest number of images of the batch." },
  stream: { description: "Whether the images are sent as events when they are ready." },
  partial_images: { description: "The number of unfinished images that are sent before each image." },
  layer_decomposition: { description: "Whether the image is returned as layers." },
  optimize_prompt_options: {
    description: 'How the provider rewrites the prompt, such as `{"mode": "fast"}`.',
  },
  input: { description: "The content." },
  messages: { minItems: 1, maxItems: 1, description: "One message." },
  role: { description: "Always `user`." },
  content: { description: "One item with `text`, and up to three items with `image`." },
  text: { description: "The prompt or the instruction." },
  parameters: {
    description: "The size, the number of images and other parameters. All of them are forwarded.",
  },
  prompt_extend: { description: "Whether the provider rewrites the prompt." },
  negative_prompt: { description: "What the image must not show." },
  enable_sequential: { description: "Whether the images belong together (Wan)." },
  thinking_mode: { description: "Whether the model plans the image first (Wan)." },
  aspect_ratio: { description: "The aspect ratio, such as `16:9`, in place of `size`." },
  resolution: { description: "The size tier, such as `2K`, in place of `size`." },
  generationConfig: { description: "Gemini's own settings, without those that `n` and `size` set." },
  safetySettings: { description: "Gemini's own settings." },
  systemInstruction: { description: "Gemini's own instruction." },
};

/** Fields that another meaning has inside `parameters` or a content item. */
const NESTED: Readonly<Record<string, JsonSchema>> = {
  size: { description: "`<width>*<height>`, with an asterisk.", examples: ["1328*1328"] },
  image: IMAGE,
};

/**
 * Returns the schemas of request bodies, made from the validators of the families. What the validators do not interpret is
 * forwarded, so all other fields are allowed.
 */
export function createRequestSchemas(): Readonly<Record<string, JsonSchema>> {
  return {
    SeedreamRequest: toV1(seedreamRequestSchema, "A request to a model of the family `seedream` (family A)."),
    SeedreamLayersRequest: withLayers(
      toV1(layersRequestSchema, "As `SeedreamRequest`, for an image in layers. The prompt may be absent."),
    ),
    QwenImageRequest: toV1(
      messagesRequestSchema,
      "A request to a model of the family `qwen-image` (family B), in the provider's structure. `prompt` is a placeholder.",
    ),
    QwenImageShorthandRequest: withoutInput(
      toV1(
        shorthandRequestSchema,
        "A request to a model of the family `qwen-image` (family B), as OpenAI's clients send it.",
      ),
    ),
    OpenAIRequest: toV1(openaiRequestSchema, "A request to a model of the family `openai`."),
    GeminiRequest: toV1(geminiRequestSchema, "A request to a model of the family `gemini`."),
    NativeSeedreamRequest: withModel(
      withAnyImage(convert(nativeRequestSchema)),
      "A request in Ark's structure. Ark checks what is not listed here.",
    ),
    NativeSeedreamLayersRequest: withLayers(
      withModel(convert(nativeLayersSchema), "As `NativeSeedreamRequest`, for an image in layers."),
    ),
    DashScopeRequest: withModel(
      convert(dashScopeSchema),
      "A request in DashScope's structure. DashScope checks what is not listed here.",
    ),
  };
}

/** Returns the schemas of edits: as requests, with the images as OpenAI's clients send them, and as forms. */
export function createEditSchemas(): Readonly<Record<string, JsonSchema>> {
  const { required: _prompt, ...ofSeedream } = toEdit(seedreamRequestSchema, "seedream");
  return {
    // With layers, the prompt may be absent.
    SeedreamEditRequest: { ...ofSeedream, required: ["model"] },
    QwenImageEditRequest: withoutInput(toEdit(shorthandRequestSchema, "qwen-image")),
    OpenAIEditRequest: toEdit(openaiRequestSchema, "openai"),
    GeminiEditRequest: toEdit(geminiRequestSchema, "gemini"),
    EditForm: {
      type: "object",
      description:
        "An edit as a form, with the fields of all models. All of them but the images are strings; a member of an object may have a field of its own, such as `parameters[size]`. Further fields of the model are allowed.",
      properties: {
        model: FIELDS["model"],
        image: {
          ...FILES,
          description: "The reference image. It may be repeated, and be a link or a data URL.",
        },
        "image[]": { ...FILES, description: "As `image`. `image[0]`, `image[1]` … set the order." },
        mask: { ...FILE, description: "The area to change, if the model takes one." },
        markup: { ...FILE, description: "Marks that show the change, if the model takes them." },
        ...Object.fromEntries(listFormFields()),
      },
      required: ["model"],
      additionalProperties: true,
    },
  };
}

const EDIT_SCHEMAS = [
  seedreamRequestSchema,
  shorthandRequestSchema,
  openaiRequestSchema,
  geminiRequestSchema,
];

const IMAGES: ReadonlySet<string> = new Set(["image", "mask", "markup"]);

/** The fields of a form that are not images: those of all families, as strings. */
function listFormFields(): readonly (readonly [string, JsonSchema])[] {
  const fields = EDIT_SCHEMAS.flatMap((schema) => Object.entries(toObject(convert(schema)["properties"])));
  return fields
    .filter(([name], at) => !IMAGES.has(name) && fields.findIndex(([other]) => other === name) === at)
    .map(([name, schema]) => [name, toFormField(toObject(schema))]);
}

/** How a value is written in a form: `convertFormFields` reads it. */
function toFormField({ type, enum: values, description, examples }: JsonSchema): JsonSchema {
  const shown = { description, ...(examples !== undefined && { examples }) };
  switch (type) {
    case "integer":
      return { type: "string", pattern: "^-?\\d+$", ...shown };
    case "number":
      return { type: "string", pattern: "^-?\\d+(?:\\.\\d+)?$", ...shown };
    case "boolean":
      return { type: "string", enum: ["true", "false"], ...shown };
    case "object":
    case "array":
      return { type: "string", contentMediaType: "application/json", ...shown };
    default:
      return { type: "string", ...(values !== undefined && { enum: values }), ...shown };
  }
}

const FILE = { type: "string", contentMediaType: "application/octet-stream" };
const FILES = { anyOf: [FILE, { type: "array", items: FILE }] };

const IMAGE_OR_OBJECT = {
  anyOf: [
    IMAGE,
    { type: "object", properties: { image_url: IMAGE }, required: ["image_url"], additionalProperties: true },
  ],
};

/** An edit in JSON with a model of this family. */
function toEdit(schema: z.ZodMiniType, family: string): JsonSchema {
  const request = toV1(
    schema,
    `An edit with a model of the family \`${family}\`. It needs \`images\` or \`image\`.`,
  );
  const properties = toObject(request["properties"]);
  const ofMasks = ["mask", "markup"].filter((name) => name in properties);
  return {
    ...request,
    properties: {
      ...properties,
      ...Object.fromEntries(
        ofMasks.map((name) => [
          name,
          {
            ...nullable(IMAGE_OR_OBJECT),
            description: "An image, with the meaning of its name in OpenAI's interface.",
          },
        ]),
      ),
      images: {
        ...nullable({ type: "array", items: IMAGE_OR_OBJECT }),
        description: "The reference images. Send either `images` or `image`.",
      },
    },
  };
}

/** On `/v1` a field that is `null` counts as absent. */
function toV1(schema: z.ZodMiniType, description: string): JsonSchema {
  const converted = convert(schema);
  const required: readonly unknown[] = Array.isArray(converted["required"]) ? converted["required"] : [];
  const properties = Object.entries(toObject(converted["properties"])).map(([name, property]) => [
    name,
    required.includes(name) || !isJsonObject(property) ? property : nullable(property),
  ]);
  return withModel({ ...converted, properties: Object.fromEntries(properties) }, description);
}

function withModel({ properties, required, ...schema }: JsonSchema, description: string): JsonSchema {
  const others: readonly unknown[] = Array.isArray(required) ? required : [];
  return {
    ...schema,
    description,
    properties: { model: FIELDS["model"], ...toObject(properties) },
    required: ["model", ...others],
  };
}

/** A request with `input` is not a shorthand. */
function withoutInput(schema: JsonSchema): JsonSchema {
  const input = { type: "null", description: "The shorthand has no `input`." };
  return { ...schema, properties: { ...toObject(schema["properties"]), input } };
}

/** On the native endpoint Ark checks the images. */
function withAnyImage(schema: JsonSchema): JsonSchema {
  const image = { description: "A reference image, or a list of them, in any form that Ark takes." };
  return { ...schema, properties: { ...toObject(schema["properties"]), image } };
}

function withLayers(schema: JsonSchema): JsonSchema {
  const properties = {
    ...toObject(schema["properties"]),
    layer_decomposition: { const: true, ...FIELDS["layer_decomposition"] },
  };
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  return { ...schema, properties, required: [...required, "layer_decomposition"] };
}

function nullable(schema: JsonSchema): JsonSchema {
  const { type, enum: values, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  if (typeof type !== "string") return schema;
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) };
}

/** Converts a validator. Its output has the types that a client sends: transformations only read numbers. */
function convert(schema: z.ZodMiniType): JsonSchema {
  const converted: unknown = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" });
  const { $schema: _version, ...json } = toObject(describe(converted, 0));
  return json;
}

/** Adds the descriptions, allows further members, and leaves out the bounds of whole numbers that JavaScript can count. */
function describe(schema: unknown, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((item) => describe(item, depth));
  if (!isJsonObject(schema)) return schema;
  const { additionalProperties: _closed, minimum, maximum, properties, ...rest } = schema;
  const described = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, describe(value, depth)]),
  );
  return {
    ...described,
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    ...(properties !== undefined && { properties: describeProperties(toObject(properties), depth) }),
    ...(schema["type"] === "object" && { additionalProperties: true }),
  };
}

function describeProperties(properties: JsonObject, depth: number): JsonObject {
  const described = Object.entries(properties).map(([name, property]) => {
    const details = (depth > 0 ? NESTED[name] : undefined) ?? FIELDS[name];
    if (details === undefined) throw new TypeError(`The field ${name} has no description.`);
    return [name, { ...toObject(describe(property, depth + 1)), ...details }];
  });
  return Object.fromEntries(described);
}

function toObject(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw new TypeError("A schema must be an object.");
}
