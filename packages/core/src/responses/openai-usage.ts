import { readCount } from "../families/shared.js";
import type { Usage } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";

/**
 * Adds what OpenAI's `usage` must have to a provider's report. A count that is not known is what the others leave of the total.
 * Input of an unknown kind is text. This is for responses only: it is neither priced nor recorded.
 *
 * @param read what the family reads in the report. Default: the report has these names itself
 */
export function completeUsage(report: unknown, read?: Usage): JsonObject {
  const reported = isJsonObject(report) ? report : {};
  const { input_tokens_details: stated } = reported;
  const details = isJsonObject(stated) ? stated : {};
  const known: JsonObject = { ...read, ...reported };
  const count = (name: string): number | undefined => readCount(known[name]);
  const total = count("total_tokens");
  const output = count("output_tokens") ?? subtract(total, count("input_tokens"));
  const input = count("input_tokens") ?? subtract(total, output);
  const image = readCount(details["image_tokens"]) ?? count("input_image_tokens") ?? 0;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    ...reported,
    input_tokens_details: {
      text_tokens: count("input_text_tokens") ?? subtract(input, image),
      image_tokens: image,
      ...details,
    },
  };
}

const subtract = (from = 0, count = 0): number => Math.max(0, from - count);
