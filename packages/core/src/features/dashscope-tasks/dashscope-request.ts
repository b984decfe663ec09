import { invalidRequest } from "../../errors.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/** The fields of `/v1` of a request in DashScope's structure: `input`, `parameters`, and what `/v1` needs beside them. */
export interface TaskFields extends JsonObject {
  readonly input: unknown;
  readonly parameters: unknown;
}

/** @throws GatewayError `invalid_request_error` for an `input` of the older structure that names what Qwen-Image does not have */
export function readTaskFields({ input, parameters }: JsonObject): TaskFields {
  // Without it, `/v1` would read the other fields in another way.
  if (!isJsonObject(input)) throw invalidRequest("input is required: an object with messages.", "input");
  const { negative, ...rest } = "messages" in input ? { input } : fromPrompt(input);
  return {
    ...rest,
    parameters: negative === undefined ? (parameters ?? {}) : { ...toObject(parameters), ...negative },
    // The prompt of `/v1` is not read if there are messages, and must not be empty.
    prompt: "input.messages",
    response_format: "url",
  };
}

interface ReadInput {
  readonly input: unknown;
  readonly negative?: JsonObject;
}

/** Converts `input.prompt` of DashScope's image synthesis to a message. */
function fromPrompt({ prompt, images = [], negative_prompt: negative, ...others }: JsonObject): ReadInput {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalidRequest(`input.${unknown.slice(0, 64)} is not supported: send prompt and images.`, "input");
  }
  if (!Array.isArray(images)) throw invalidRequest("input.images must be a list of links.", "input.images");
  const content = [...images.map((image: unknown) => ({ image })), { text: prompt }];
  return {
    input: { messages: [{ role: "user", content }] },
    ...(negative !== undefined && negative !== null && { negative: { negative_prompt: negative } }),
  };
}

function toObject(parameters: unknown): JsonObject {
  if (parameters === undefined || parameters === null) return {};
  if (isJsonObject(parameters)) return parameters;
  throw invalidRequest("parameters must be an object.", "parameters");
}
