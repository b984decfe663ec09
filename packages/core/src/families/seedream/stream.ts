import { countPixels } from "../../images/size.js";
import type { ImageRequest, MadeImage, ResultError, Usage } from "../../types.js";
import { isJsonObject, type JsonObject, toObject } from "../../util/json.js";
import type { StreamReader, StreamResult, StreamShape } from "../response-shape.js";
import { parseData, readCount, readMadeImage, readText } from "../shared.js";
import { countRequestedPixels } from "./capabilities.js";
import { readError, readSeedreamUsage, toSeedreamFailure } from "./response.js";

/** Ark's event of an image. Its member `model` has the provider's name of the model. */
export const SEEDREAM_EVENTS: StreamShape = {
  imageEvents: ["image_generation.partial_succeeded"],
  created: "created",
  leftOut: ["type", "model", "created", "image_index"],
};

/** Pixels that make one token, by Ark's own formula. */
const PIXELS_PER_TOKEN = 256;
/**
 * Far more than one request can make. Images and failures beyond this are not counted, so that a stream cannot fill the
 * memory.
 */
const MAX_IMAGES = 1_000;

/**
 * Reads Ark's events. `completed` carries the usage of the whole stream. If it never comes, the images that came are
 * counted, and their sizes give the tokens.
 */
export function readSeedreamStream({ upstreamFields }: Pick<ImageRequest, "upstreamFields">): StreamReader {
  // The reader lives until the end of the stream, so it keeps this number and not the request.
  const requestedPixels = countRequestedPixels(upstreamFields["size"]);
  /** The images by their `image_index`. An image that is reported twice counts once. */
  const images = new Map<number | string, MadeImage>();
  /** The failed images by their `image_index`. Of an image that is reported twice, the first reason stays. */
  const errors = new Map<number | string, ResultError>();
  let completed: Usage | undefined;
  let failure: StreamResult["failure"];

  const addImage = (body: JsonObject): void => {
    const key = readCount(body["image_index"]) ?? `image ${images.size}`;
    if (images.size >= MAX_IMAGES && !images.has(key)) return;
    images.set(key, readMadeImage(body));
  };
  const addError = (body: JsonObject): void => {
    const index = readCount(body["image_index"]);
    const key = index ?? `error ${errors.size}`;
    if (errors.size >= MAX_IMAGES || errors.has(key)) return;
    const reason = readError(toObject(body["error"]));
    errors.set(key, { index: index ?? images.size + errors.size, ...reason });
  };

  const reader = {
    // Not a getter: an object with its own getter takes ten times the memory, and thousands of streams may be open.
    isOver: false,
    read({ event, data }: Parameters<StreamReader["read"]>[0]): void {
      const body = parseData(data);
      // Only the event's name is known: its data is `[DONE]`, or is damaged.
      if (body === undefined) {
        if (event === "error") failure = toFailure({});
        return;
      }
      const type = readText(body["type"]) ?? event;
      if (type !== undefined && SEEDREAM_EVENTS.imageEvents.includes(type)) {
        addImage(body);
      } else if (type === "image_generation.completed") {
        // If `completed` comes several times, the last one is used. A `completed` without a count does not remove the
        // count of an earlier one.
        completed = { ...completed, ...(isJsonObject(body["usage"]) && readSeedreamUsage(body["usage"])) };
        reader.isOver = true;
      } else if (type === "image_generation.partial_failed") {
        addError(body);
      } else if (isFailure(type, body)) {
        failure = toFailure(body);
      }
    },
    result(): StreamResult {
      const made = [...images.values()];
      const result = { images: made.length, made, errors: [...errors.values()], failure };
      if (completed !== undefined) return { ...result, usage: completed };
      const sizes = made.map(({ size }) => (size && countPixels(size)) || requestedPixels);
      return { ...result, usage: countUsage(sizes), hasUnknownTokens: sizes.includes(undefined) };
    },
  };
  return reader;
}

/** Adds no tokens for an image of unknown size. */
function countUsage(sizes: readonly (number | undefined)[]): Usage | undefined {
  if (sizes.length === 0) return undefined;
  const pixels = sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  const tokens = Math.floor(pixels / PIXELS_PER_TOKEN);
  return {
    generated_images: sizes.length,
    ...(tokens > 0 && { output_tokens: tokens, total_tokens: tokens }),
  };
}

function isFailure(type: string | undefined, body: JsonObject): boolean {
  return type === "error" || Boolean(body["error"]);
}

/**
 * Reads `{"error":{"code","message"}}`, or any other data of an error event. The error is classified like the same
 * error with status 200.
 */
function toFailure(body: JsonObject): NonNullable<StreamResult["failure"]> {
  const error = isJsonObject(body["error"]) ? body["error"] : body;
  const { kind, scope } = toSeedreamFailure(200, body);
  return {
    kind,
    scope,
    code: readText(error["code"]) ?? "upstream_error",
    message: readText(error["message"]) ?? readText(body["error"]) ?? "The provider failed.",
  };
}
