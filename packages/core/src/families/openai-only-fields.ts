import { invalidRequest } from "../errors.js";
import type { JsonObject } from "../util/json.js";

/** Fields that OpenAI's clients send and no provider here knows. */
const OPENAI_ONLY: ReadonlySet<string> = new Set([
  "quality",
  "style",
  "user",
  "background",
  "moderation",
  "input_fidelity",
  "output_compression",
  "partial_images",
]);

/**
 * Splits the fields that only OpenAI knows from those to interpret or forward.
 *
 * @throws GatewayError for `mask`: no provider supports it, and without it the whole picture
 * would be edited.
 */
export function splitOpenAiOnly(fields: JsonObject): { known: JsonObject; ignored: string[] } {
  if ("mask" in fields) {
    throw invalidRequest("mask is not supported: describe the area to change in the prompt instead.", "mask");
  }
  const ignored = Object.keys(fields).filter(isOpenAiOnly);
  if (ignored.length === 0) return { known: fields, ignored };
  return {
    known: Object.fromEntries(Object.entries(fields).filter(([name]) => !isOpenAiOnly(name))),
    ignored,
  };
}

function isOpenAiOnly(name: string): boolean {
  return OPENAI_ONLY.has(name);
}
