import { ERROR_KINDS } from "../../errors.js";
import type { JsonSchema } from "./request-schemas.js";

export const string = (description: string): JsonSchema => ({ type: "string", description });
export const integer = (description: string): JsonSchema => ({ type: "integer", description });
const time = (description: string): JsonSchema => integer(`${description}, in seconds since 1970.`);
export const orNull = ({ type, ...schema }: JsonSchema): JsonSchema => ({ ...schema, type: [type, "null"] });
/** A member that always has the same string. */
export const always = (value: string): JsonSchema => ({
  type: "string",
  const: value,
  description: `Always \`${value}\`.`,
});
const eitherNull = (schema: JsonSchema, description: string): JsonSchema => ({
  anyOf: [schema, { type: "null" }],
  description,
});
export const list = (items: JsonSchema, description?: string): JsonSchema => ({
  type: "array",
  items,
  ...(description !== undefined && { description }),
});
export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/**
 * An object that may have further members.
 *
 * @param required the names of the required members, or of those that are not
 */
export function object(
  properties: JsonSchema,
  required: readonly string[] | { readonly allBut: readonly string[] },
  description?: string,
): JsonSchema {
  return {
    type: "object",
    ...(description !== undefined && { description }),
    properties,
    required:
      "allBut" in required
        ? Object.keys(properties).filter((name) => !required.allBut.includes(name))
        : required,
  };
}

/** Codes that no client gets: it has disconnected, or the operator's own code gets the error. */
const UNSENT: ReadonlySet<string> = new Set([
  "client_closed_request",
  "channel_not_found",
  "no_totals",
  "caller_not_found",
  "caller_exists",
  "caller_revoked",
]);

/** The codes that clients get, with the status and the type of each. */
export const SENT_ERRORS = Object.entries(ERROR_KINDS).filter(([code]) => !UNSENT.has(code));

const codes = SENT_ERRORS.map(([code]) => code);
const types = [...new Set(Object.values(ERROR_KINDS).map(({ type }) => type))];

const error = object(
  {
    message: string("What was wrong, and what to send instead."),
    type: { type: "string", enum: types, description: "The kind of the error, as OpenAI names kinds." },
    code: {
      anyOf: [{ type: "string", enum: codes }, { type: "string" }],
      description: "The gateway's code, or the provider's.",
    },
    param: orNull(string("The field that is wrong, as a path.")),
    upstream_request_id: string("The provider's id of the request."),
  },
  ["message", "type", "code", "param"],
  "What was wrong.",
);

const health: JsonSchema = { type: "string", enum: ["ok", "failing"] };

const itemError = object(
  {
    index: integer("The index of the image in the batch, from 0."),
    code: string("The provider's code, or the gateway's."),
    message: string("Why there is no image, or why it has another form than requested."),
  },
  ["index", "code", "message"],
);

const image = object(
  {
    url: string("A link to the image. It expires."),
    b64_json: string("The image in base64. Family B may have an empty string beside `url`."),
    size: string("The size, `<width>x<height>`."),
    revised_prompt: string("The prompt that the model used. Empty if there is none."),
    output_format: string("The format of the image."),
    stored_url: string("A link to the stored image, beside `b64_json`."),
    z_index: integer("The position of a layer."),
  },
  [],
  "An image: a link or base64, and what is known of it.",
);

const KIND = "If the kind of the input is not known, it is text.";
const usage = object(
  {
    generated_images: integer("The number of images that were made."),
    input_tokens: integer("The tokens of the request."),
    output_tokens: integer("The tokens of the images."),
    total_tokens: integer("All tokens."),
    input_tokens_details: object(
      { text_tokens: integer(KIND), image_tokens: integer(KIND) },
      [],
      "The tokens of the request by their kind.",
    ),
  },
  [],
  "What the provider reported, and 0 for tokens that it did not report. Events of the native format have only what it reported.",
);

const capabilities = object(
  {
    operations: list(
      { type: "string", enum: ["generate", "edit"] },
      "The endpoints of `/v1` that serve the model.",
    ),
    sizes: eitherNull(ref("ModelSizes"), "The accepted values of `size`. `null`: they are not known."),
    max_images: orNull(integer("The largest `n`.")),
    references: eitherNull(
      object({ min: integer("The fewest."), max: integer("The most.") }, ["min", "max"]),
      "How many reference images a request may have.",
    ),
    max_references_and_images: orNull(integer("The most reference images and images together.")),
    stream: { type: "boolean", description: "Whether a request may have `stream: true`." },
    background: orNull(list({ type: "string" }, "The values of `background`.")),
    output_formats: orNull(list({ type: "string" }, "The values of `output_format`. `null`: any.")),
    qualities: list({ type: "string" }, "The values of `quality` besides `auto`."),
    layers: eitherNull(
      object({ max: integer("The most layers."), sizes: orNull(list({ type: "string" }, "The sizes.")) }, [
        "max",
        "sizes",
      ]),
      "What `layer_decomposition` makes, beside the base image.",
    ),
  },
  { allBut: ["qualities"] },
  "What the model can do, and which values its fields take.",
);

const sizes = object(
  {
    presets: list({ type: "string" }, "Names such as `2K`."),
    list: list({ type: "string" }, "If it is not empty: only these sizes, `<width>x<height>`."),
    min_pixels: orNull(integer("Width times height, at least.")),
    max_pixels: orNull(integer("Width times height, at most.")),
    min_side: orNull(integer("Each side, at least.")),
    max_side: orNull(integer("Each side, at most.")),
    max_aspect_ratio: orNull({
      type: "number",
      description: "The longer side divided by the shorter one, at most.",
    }),
    multiple_of: integer("Both sides are multiples of this."),
  },
  { allBut: ["multiple_of"] },
);

const estimate = object(
  {
    model: string("The service's name of the model."),
    max_images: integer("The most images that the request can make."),
    charge: orNull(
      string("The most that the request can be charged, a decimal. `null`: the server does not show prices."),
    ),
    size: string("The size that is requested in place of that of the request. Absent: the same."),
    ignored: list({ type: "string" }, "Known fields that would have no effect."),
  },
  ["model", "max_images", "charge", "ignored"],
  "What a request would make and cost at most.",
);

const model = object(
  {
    id: string("The name to send as `model`."),
    object: always("model"),
    created: time("When the provider released the model; 0 if that is not known"),
    owned_by: string("The family of the model."),
    capabilities: ref("ModelCapabilities"),
    price: {
      type: "object",
      description: "The prices for the caller, if the server shows them.",
      additionalProperties: true,
    },
  },
  ["id", "object", "created", "owned_by", "capabilities"],
  "A model that the key may use.",
);

const taskFields: JsonSchema = {
  id: { type: "string", pattern: "^task_[0-9a-f]{32}$", description: "The id of the task." },
  object: always("image.task"),
  status: {
    type: "string",
    enum: ["queued", "in_progress", "completed", "failed", "cancelled"],
    description: "Where the task is. The last three are its end.",
  },
  created_at: time("When the task was submitted"),
  expires_at: time("When the task fails if it still waits"),
  ended_at: time("When the task ended"),
  model: string("The service's name of the model."),
  operation: { type: "string", enum: ["generate", "edit"], description: "What the request makes." },
  request_id: string("The `x-request-id` of the submission."),
  images: list(ref("Image"), "The images that arrived so far."),
  result: { ...ref("ImagesResponse"), description: "The response, when the task is completed." },
  error: { ...ref("ErrorDetails"), description: "Why the task failed." },
};

const nativeObject = (description: string): JsonSchema => ({
  type: "object",
  description,
  additionalProperties: true,
});

/** Returns the schemas of response bodies and events. They list what the gateway promises; providers may add members. */
export function createResponseSchemas(): Readonly<Record<string, JsonSchema>> {
  return {
    ErrorDetails: error,
    Error: object({ error: ref("ErrorDetails") }, ["error"], "The body of every error of the gateway."),
    NativeError: nativeObject("The provider's own error, or `Error` for errors of the gateway."),
    DashScopeError: object(
      {
        request_id: string("The provider's id of the request, or the gateway's."),
        code: string("The code."),
        message: string("What was wrong."),
        error: ref("ErrorDetails"),
      },
      [],
      "DashScope's own error, or an error of the gateway, which also has `error`.",
    ),
    Image: image,
    ItemError: itemError,
    Usage: usage,
    ImagesResponse: object(
      {
        created: time("When the images were made"),
        model: string("The service's name of the model. Family B has none."),
        data: list(ref("Image"), "One element for each image that was made."),
        usage: ref("Usage"),
        extra: object(
          {
            request_id: string("The provider's id of the request (family B)."),
            errors: list(ref("ItemError"), "The images that could not be made or converted."),
          },
          [],
          "What else the provider reported.",
        ),
      },
      ["created", "data"],
      "The images of a request.",
    ),
    NativeImagesResponse: nativeObject("Ark's own response."),
    DashScopeResponse: nativeObject("DashScope's own response."),
    ModelSizes: sizes,
    ModelCapabilities: capabilities,
    Estimate: estimate,
    Model: model,
    ModelList: object(
      { object: always("list"), data: list(ref("Model"), "The models.") },
      ["object", "data"],
      "The models that the key may use.",
    ),
    Task: object(
      taskFields,
      { allBut: ["ended_at", "images", "result", "error"] },
      "A request whose response is fetched later.",
    ),
    TaskList: object(
      {
        object: always("list"),
        data: list(ref("Task"), "The newest first, without `images` and `result`."),
        first_id: orNull(string("The id of the first task.")),
        last_id: orNull(string("The id of the last task: `after` of the next page.")),
        has_more: { type: "boolean", description: "Whether there is a next page." },
      },
      ["object", "data", "first_id", "last_id", "has_more"],
      "A page of the caller's tasks.",
    ),
    Health: {
      type: "object",
      description: "The state of the parts of the server.",
      properties: {
        ledger: { ...health, description: "The store of money and records." },
        store: { ...health, description: "The store of limits, idempotency keys and cooldowns." },
        channels: { ...health, description: "The accounts at providers." },
      },
      required: ["ledger", "store", "channels"],
      additionalProperties: false,
    },
    ...EVENTS,
  };
}

const imageEvent = (type: string, description: string): JsonSchema =>
  object({ type: always(type) }, ["type"], description);

const completedImage = (type: string): JsonSchema =>
  object(
    {
      type: always(type),
      created_at: time("When the image was made"),
      b64_json: string("The image in base64."),
      url: string("A link to the image."),
      size: string("The size, or `auto` if it is not known."),
      quality: string("The quality, or `auto`."),
      background: string("The background, or `auto`."),
      output_format: string("The format of the image."),
      usage: ref("Usage"),
      extra: { type: "object", additionalProperties: true, description: "`errors`: the images that failed." },
    },
    ["type"],
    "Stream format `openai`: an image is finished. `usage` is in the last one, and 0 in those before it, unless the provider reports each image. In the native format: the generation ended, with `usage`.",
  );

/** The data of events, by the names of their schemas. */
const EVENTS: Readonly<Record<string, JsonSchema>> = {
  ImagePartialSucceededEvent: object(
    {
      type: always("image_generation.partial_succeeded"),
      model: string("The provider's name of the model."),
      created: time("When the image was made"),
      image_index: integer("The index of the image, from 0."),
      url: string("A link to the image."),
      b64_json: string("The image in base64."),
      size: string("The size."),
    },
    ["type"],
    "Native format: an image of the batch is finished.",
  ),
  ImagePartialFailedEvent: imageEvent(
    "image_generation.partial_failed",
    "Native format: an image of the batch failed.",
  ),
  ImageGenerationCompletedEvent: completedImage("image_generation.completed"),
  ImageEditCompletedEvent: completedImage("image_edit.completed"),
  ImageGenerationUsageEvent: imageEvent(
    "image_generation.usage",
    "Stream format `openai`: the usage, if fewer images came than were requested.",
  ),
  ImageEditUsageEvent: imageEvent("image_edit.usage", "As `image_generation.usage`, for an edit."),
  ErrorEvent: object(
    {
      error: object(
        { code: string("The provider's code, or the gateway's."), message: string("What was wrong.") },
        [],
        "What was wrong.",
      ),
    },
    ["error"],
    "The stream failed. The data is the body of an error, or what the provider sent.",
  ),
  TaskImageEvent: object(
    {
      task_id: string("The id of the task."),
      index: integer("The index of the image, from 0."),
      image: ref("Image"),
    },
    ["task_id", "index", "image"],
    "An image of a task is finished.",
  ),
};

/** The events of a stream by their names, with the names of the schemas of their data. */
export const IMAGE_EVENTS: Readonly<Record<string, string>> = {
  "image_generation.partial_succeeded": "ImagePartialSucceededEvent",
  "image_generation.partial_failed": "ImagePartialFailedEvent",
  "image_generation.completed": "ImageGenerationCompletedEvent",
  "image_edit.completed": "ImageEditCompletedEvent",
  "image_generation.usage": "ImageGenerationUsageEvent",
  "image_edit.usage": "ImageEditUsageEvent",
  error: "ErrorEvent",
};

/** The events of a task. */
export const TASK_EVENTS: Readonly<Record<string, string>> = {
  status: "Task",
  reconnect: "Task",
  image: "TaskImageEvent",
  error: "Error",
};
