import { readCount } from "../families/shared.js";
import type { Usage } from "../types.js";
import { type JsonObject, omitMembers, toObject } from "../util/json.js";

/**
 * Adds what OpenAI's `usage` must have to a provider's report. A count that is not known is what the others leave of the total.
 * Input of an unknown kind is text. Members about costs are left out, because they are what the operator pays. This is for responses
 * only: it is neither priced nor recorded.
 *
 * @param read what the family reads in the report. Default: the report has these names itself
 */
export function completeUsage(report: unknown, read?: Usage): JsonObject {
  const reported = withoutCosts(toObject(report));
  const details = toObject(reported["input_tokens_details"]);
  const known: JsonObject = { ...read, ...reported, ...details };
  const count = (name: string): number | undefined => readCount(known[name]);
  const total = count("total_tokens") ?? 0;
  const output = count("output_tokens") ?? Math.max(0, total - (count("input_tokens") ?? 0));
  const input = count("input_tokens") ?? Math.max(0, total - output);
  const image = count("image_tokens") ?? count("input_image_tokens") ?? 0;
  const text = count("input_text_tokens") ?? Math.max(0, input - image);
  return {
    ...addMissing(reported, { input_tokens: input, output_tokens: output, total_tokens: input + output }),
    input_tokens_details: addMissing(details, { text_tokens: text, image_tokens: image }),
  };
}

/** Such as `cost`, `cost_details` and `cost_in_usd_ticks`. */
function withoutCosts(usage: JsonObject): JsonObject {
  const costs = Object.keys(usage).filter((name) => /cost/i.test(name));
  return costs.length === 0 ? usage : omitMembers(usage, costs);
}

/** The members of the object keep their order. */
function addMissing(object: JsonObject, members: JsonObject): JsonObject {
  return { ...object, ...members, ...object };
}
