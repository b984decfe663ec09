import type { ImageResult, ResultImage, Usage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { readCount, readText } from "../shared.js";

/**
 * Reads a response of DashScope: every image of every choice, `image_count` as `generated_images`, and the request id
 * in `extra`. A `code` in an HTTP 200 is a failure, unless it says that the request succeeded.
 */
export function fromQwenImage(body: JsonObject): ImageResult {
  const output = isJsonObject(body["output"]) ? body["output"] : {};
  const choices = Array.isArray(output["choices"]) ? output["choices"] : [];
  const code = readFailureCode(body["code"]);
  const requestId = readText(body["request_id"]);
  return {
    images: choices.flatMap(readChoice),
    errors: [],
    fields: {},
    failure: code === undefined ? undefined : { code, message: readText(body["message"]) ?? code },
    usage: readUsage(body["usage"]),
    upstreamRequestId: requestId,
    extra: { request_id: requestId ?? "" },
  };
}

function readFailureCode(code: unknown): string | undefined {
  const text = readText(code);
  return text?.toLowerCase() === "success" ? undefined : text;
}

/** Images of one choice; a text beside them is the prompt as the model rewrote it. */
function readChoice(choice: unknown): ResultImage[] {
  const message = isJsonObject(choice) && isJsonObject(choice["message"]) ? choice["message"] : {};
  const items = Array.isArray(message["content"]) ? message["content"].filter(isJsonObject) : [];
  const revisedPrompt = items.map((item) => readText(item["text"])).find((text) => text !== undefined) ?? "";
  return items
    .map((item) => readText(item["image"]))
    .filter((url) => url !== undefined)
    .map((url) => ({ url, revised_prompt: revisedPrompt }));
}

function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const count = readCount(usage["image_count"]) ?? readCount(usage["output_image_count"]);
  return count === undefined ? undefined : { generated_images: count };
}
