import type { MadeImage, Usage } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { isName } from "../util/name.js";
import { countMaxTokens, type RequestBounds } from "./charge.js";

/** The kinds of output tokens, and those of input tokens. */
export const OUTPUT_KINDS = ["output_image_tokens", "output_text_tokens"] as const;
export const INPUT_KINDS = ["input_text_tokens", "input_image_tokens", "cached_input_tokens"] as const;

/** The counts of tokens. */
export const TOKEN_COUNTS = ["output_tokens", "total_tokens", ...OUTPUT_KINDS, ...INPUT_KINDS] as const;

/** The counts from which a charge is computed. */
const CHARGED_COUNTS = ["generated_images", ...TOKEN_COUNTS] as const satisfies readonly (keyof Usage)[];

/** The counts that are only recorded. */
export const RECORDED_COUNTS = [
  "input_images",
  "input_image_count",
] as const satisfies readonly (keyof Usage)[];

/**
 * Whatever a family reports, a record has whole numbers of at least 0 and nothing else. A report without a count that
 * can be charged, and without a cost, does not count as a report.
 */
export function keepCounts(usage: Usage | undefined): Usage | undefined {
  if (!usage) return undefined;
  const counts: Writable<Usage> = {};
  const keep = (name: (typeof CHARGED_COUNTS | typeof RECORDED_COUNTS)[number]): boolean => {
    const count = usage[name];
    if (!isCount(count)) return false;
    counts[name] = count;
    return true;
  };
  const cost = keepCost(usage.cost_usd);
  if (CHARGED_COUNTS.filter(keep).length === 0 && cost === undefined) return undefined;
  RECORDED_COUNTS.forEach(keep);
  if (cost !== undefined) counts.cost_usd = cost;
  const tools = isJsonObject(usage.tool_usage) ? keepTools(usage.tool_usage) : undefined;
  if (tools !== undefined) counts.tool_usage = tools;
  return counts;
}

/** A plain decimal of a length that no real cost has. */
function keepCost(cost: unknown): string | undefined {
  return typeof cost === "string" && /^\d{1,20}(?:\.\d{1,20})?$/.test(cost) ? cost : undefined;
}

/** A record has a bounded size, whatever the provider sends. */
const MAX_TOOLS = 16;
const MAX_TOOL_NAME = 64;

function keepTools(tools: JsonObject): Usage["tool_usage"] {
  const kept: [string, number][] = [];
  for (const [name, count] of Object.entries(tools)) {
    if (kept.length === MAX_TOOLS) break;
    if (name.length <= MAX_TOOL_NAME && isName(name) && isCount(count)) kept.push([name, count]);
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Keeps the descriptions of images that are objects, because a family may return anything. */
export function keepMade(made: unknown): readonly MadeImage[] {
  return Array.isArray(made) ? made.filter(isMadeImage) : [];
}

function isMadeImage(image: unknown): image is MadeImage {
  return isJsonObject(image) && (image["size"] === undefined || typeof image["size"] === "string");
}

/**
 * Cuts each count to what the request could make. If the response has more images than that, the count is cut to what
 * those images account for. Returns the same object if nothing was cut.
 */
export function cutUsage(reported: Usage, bounds: RequestBounds, images: number): Usage {
  const maxImages = Math.max(bounds.maxImages, images);
  const max = countMaxTokens({ ...bounds, maxImages });
  let cut: Writable<Usage> | undefined;
  const bound = (name: (typeof CHARGED_COUNTS)[number], most: number): number => {
    const count = reported[name] ?? 0;
    if (count <= most) return count;
    cut ??= { ...reported };
    cut[name] = most;
    return most;
  };
  bound("generated_images", maxImages);
  const { all, output: maxOutput = all, input: maxInput = all } = max;
  const output = bound("output_tokens", maxOutput);
  // The kinds are parts of the total, so all of them together are bounded like it.
  const maxText = max.text ?? maxOutput;
  let outputRoom = maxOutput;
  outputRoom -= bound("output_image_tokens", max.text === undefined ? maxOutput : maxOutput - max.text);
  outputRoom -= bound("output_text_tokens", Math.min(outputRoom, maxText));
  const known = Math.max(output, maxOutput - outputRoom);
  const maxKinds = Math.min(maxInput, all - known);
  let inputRoom = maxKinds;
  for (const name of INPUT_KINDS) inputRoom -= bound(name, inputRoom);
  // Without a count of output, what is not a kind of input counts as output, so it is bounded like output.
  const isOutputKnown = reported.output_tokens !== undefined;
  bound("total_tokens", Math.min(all, isOutputKnown ? known + maxInput : maxOutput + maxKinds - inputRoom));
  return cut ?? reported;
}

/** Returns a copy that shares nothing with the usage. */
export function copyUsage(usage: Usage): Usage {
  return usage.tool_usage === undefined ? { ...usage } : { ...usage, tool_usage: { ...usage.tool_usage } };
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
