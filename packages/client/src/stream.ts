import { CalotypeError, toError } from "./errors.js";
import {
  createIdempotencyKey,
  type ImageRequest,
  parseJson,
  requestIdOf,
  toHttpRequest,
} from "./image-request.js";
import type { components } from "./openapi-types.js";
import { type Connection, type ImageCallOptions, type Limit, send, startLimit } from "./send.js";
import { readSse, type SseEvent } from "./sse.js";
import type { Image, ImageEvent, ImageFailure, Usage } from "./types.js";

type ErrorDetails = components["schemas"]["ErrorDetails"];

/** What the data of the events of both formats, and the body of a response without a stream, can have. */
interface EventData extends Image {
  readonly type?: string;
  readonly data?: readonly Image[];
  readonly image_index?: number;
  readonly error?: Partial<ErrorDetails>;
  readonly code?: string;
  readonly message?: string;
  readonly usage?: Usage;
  readonly extra?: { readonly errors?: readonly ImageFailure[] };
}

/** The images of a request as they arrive. See `Client.stream`. */
export async function* streamImages(
  connection: Connection,
  request: ImageRequest,
  options: ImageCallOptions,
): AsyncGenerator<ImageEvent, void, undefined> {
  const limit = startLimit(connection, options);
  try {
    const response = await open(connection, request, { options, limit });
    yield { type: "started", ...requestIdOf(response) };
    const reader = new ImageReader(requestIdOf(response).requestId);
    for await (const event of readEvents(response, limit)) yield* reader.read(event);
    yield reader.end();
  } finally {
    limit.end();
  }
}

/** A model that does not stream refuses the field. Then the images come together. */
async function open(
  connection: Connection,
  request: ImageRequest,
  { options: given, limit }: { readonly options: ImageCallOptions; readonly limit: Limit },
): Promise<Response> {
  const options = { ...given, idempotencyKey: given.idempotencyKey ?? createIdempotencyKey() };
  const reading = { limit, read: async (response: Response) => response };
  try {
    return await send(connection, toHttpRequest(request, options, { stream: true }), reading);
  } catch (error) {
    if (!(error instanceof CalotypeError && error.status === 400 && error.param === "stream")) throw error;
    return send(connection, toHttpRequest(request, options), reading);
  }
}

/** The events of a response. One that is JSON is one event. */
async function* readEvents(response: Response, limit: Limit): AsyncGenerator<SseEvent, void, undefined> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  try {
    if (!isStream || response.body === null) yield { event: "", data: await response.text() };
    else yield* readSse(response.body);
  } catch (cause) {
    throw limit.toError(cause);
  }
}

/** Reads the events of one stream, in the native format or in OpenAI's. */
class ImageReader {
  readonly #requestId: string | undefined;
  #images = 0;
  #usage: Usage | undefined;
  #lastFailure: ImageFailure | undefined;

  constructor(requestId: string | undefined) {
    this.#requestId = requestId;
  }

  *read({ event, data }: SseEvent): Generator<ImageEvent, void, undefined> {
    if (data === "[DONE]") return;
    const body = parseJson<EventData>(data);
    const type = body.type ?? event;
    const { data: list, image_index, error, code, message, usage, extra, ...image } = body;
    // A native stream has the provider's own event, whose fields may be beside `type`.
    if (event === "error" || type === "error")
      throw toError(error ?? { code, message }, { requestId: this.#requestId });
    if (usage !== undefined) this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage);
    if (type.endsWith(".partial_image")) return yield { type: "preview", image: toImage(image) };
    if (type.endsWith(".partial_failed")) {
      const { code: why = "upstream_error", message: text = "The image failed." } = error ?? {};
      yield this.#fail({ index: image_index ?? this.#images, code: why, message: text });
    }
    for (const one of list ?? [image]) if (isImage(one)) yield this.#add(one);
    for (const failure of extra?.errors ?? []) yield this.#fail(failure);
  }

  /** @throws CalotypeError if no image came */
  end(): ImageEvent {
    if (this.#images === 0) {
      const { code = "upstream_no_image", message = "The stream ended without an image." } =
        this.#lastFailure ?? {};
      throw new CalotypeError(message, { code, type: "upstream_error", requestId: this.#requestId });
    }
    return { type: "done", images: this.#images, ...(this.#usage && { usage: this.#usage }) };
  }

  #add(image: Image): ImageEvent {
    return { type: "image", index: this.#images++, image: toImage(image) };
  }

  #fail(failure: ImageFailure): ImageEvent {
    this.#lastFailure = failure;
    return { type: "failed", failure };
  }
}

/** Native streams of OpenAI's models report the usage of each image by itself. */
function addUsage(sum: Usage, usage: Usage): Usage {
  const before = new Map(Object.entries(sum));
  return Object.fromEntries(
    Object.entries(usage).map(([name, value]) => {
      const earlier = before.get(name);
      return [name, typeof value === "number" && typeof earlier === "number" ? earlier + value : value];
    }),
  );
}

/** DashScope's links may have an empty `b64_json` beside them. */
function isImage({ url, b64_json }: Image): boolean {
  return Boolean(url) || Boolean(b64_json);
}

/** The fields of an image, without those of its event. */
function toImage(image: Image): Image {
  const { url, b64_json, size, revised_prompt, output_format, stored_url, z_index } = image;
  const fields = { url, b64_json, size, revised_prompt, output_format, stored_url, z_index };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
