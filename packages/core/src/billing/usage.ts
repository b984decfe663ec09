import type { MadeImage, Usage } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { isName } from "../util/name.js";
import type { Writable } from "../util/writable.js";
import { countMaxTokens, type RequestBounds, type TokenKind, toCount } from "./charge.js";

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
  const cost = keepCost(usage.cost_usd);
  for (const name of CHARGED_COUNTS) if (isCount(usage[name])) counts[name] = usage[name];
  if (cost === undefined && Object.keys(counts).length === 0) return undefined;
  for (const name of RECORDED_COUNTS) if (isCount(usage[name])) counts[name] = usage[name];
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
  return isJsonObject(image) && isOptionalString(image["size"]) && isOptionalString(image["quality"]);
}

function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** The tokens of each kind. `output_tokens` and `input_tokens` are those of unknown kind. */
export type TokenSplit = Record<TokenKind, number>;

/**
 * Divides reported tokens into kinds. What remains of the output tokens, and of the other tokens, is of unknown kind. A total
 * alone counts as output, except for the kinds of input that were reported with it.
 *
 * @throws RangeError if a count is not a whole number of at least 0
 */
export function splitTokens(usage: Usage): TokenSplit {
  for (const name of TOKEN_COUNTS) if (usage[name] !== undefined) toCount(usage[name], `usage.${name}`);
  const { output_tokens: reported, total_tokens: total } = usage;
  const { output_image_tokens = 0, output_text_tokens = 0 } = usage;
  const { input_text_tokens = 0, input_image_tokens = 0, cached_input_tokens = 0 } = usage;
  const knownOutput = output_image_tokens + output_text_tokens;
  const knownInput = input_text_tokens + input_image_tokens + cached_input_tokens;
  const output = Math.max(reported ?? (total ?? 0) - knownInput, knownOutput);
  return {
    output_image_tokens,
    output_text_tokens,
    output_tokens: output - knownOutput,
    input_text_tokens,
    input_image_tokens,
    cached_input_tokens,
    input_tokens: Math.max(0, (total ?? 0) - output - knownInput),
  };
}

/** Adds up the kinds of output, and those of input. */
export function sumTokens(tokens: TokenSplit): { readonly output: number; readonly input: number } {
  const sum = (kinds: readonly TokenKind[]): number => kinds.reduce((total, kind) => total + tokens[kind], 0);
  return { output: tokens.output_tokens + sum(OUTPUT_KINDS), input: tokens.input_tokens + sum(INPUT_KINDS) };
}

/**
 * Cuts each count to what the request could make. If the response has more images than that, the count is cut to what
 * those images account for. Returns the same object if nothing was cut.
 */
export function cutUsage(reported: Usage, bounds: RequestBounds, images: number): Usage {
  const maxImages = Math.max(bounds.maxImages, images);
  const max = countMaxTokens(maxImages === bounds.maxImages ? bounds : { ...bounds, maxImages });
  const { all, output: maxOutput = all, input: maxInput = all, text: maxText = maxOutput } = max;
  // Each kind is cut by itself. The sums follow from the kinds: a kind that is derived from a cut sum would be wrong.
  const tokens = splitTokens(reported);
  let room = maxOutput;
  const cutKind = (kind: TokenKind, most: number): void => {
    tokens[kind] = Math.min(tokens[kind], most, room);
    room -= tokens[kind];
  };
  cutKind("output_image_tokens", max.text === undefined ? maxOutput : maxOutput - max.text);
  cutKind("output_text_tokens", maxText);
  cutKind("output_tokens", maxOutput);
  const output = maxOutput - room;
  const inputRoom = Math.min(maxInput, all - output);
  room = inputRoom;
  for (const kind of INPUT_KINDS) cutKind(kind, maxInput);
  cutKind("input_tokens", maxInput);
  const most = {
    ...tokens,
    generated_images: maxImages,
    output_tokens: output,
    total_tokens: output + inputRoom - room,
  };
  let kept: Writable<Usage> | undefined;
  for (const name of CHARGED_COUNTS) {
    if ((reported[name] ?? 0) > most[name]) (kept ??= { ...reported })[name] = most[name];
  }
  return kept ?? reported;
}

/** Returns a copy that shares nothing with the usage. */
export function copyUsage(usage: Usage): Usage {
  return usage.tool_usage === undefined ? { ...usage } : { ...usage, tool_usage: { ...usage.tool_usage } };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
