import type { ProviderEvents } from "../../grammar/provider-bodies.ts";
import { toRecord } from "../../to-record.ts";
import { readPixels } from "./expect-values.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Reason {
  readonly code: string;
  readonly message: string;
}

/** What a successful body of a provider says. */
export interface ExpectedResult {
  readonly images: readonly unknown[];
  readonly errors: readonly { readonly index: number; readonly code: string; readonly message: string }[];
  readonly failure: Reason | undefined;
  readonly usage: Fields | undefined;
}

const COUNTS = new Set(["generated_images", "output_tokens", "total_tokens"]);

/** A body of Ark: images have a link or base64, every other item is an error. */
export function expectSeedreamResult(body: Fields): ExpectedResult {
  const items: readonly unknown[] = Array.isArray(body["data"]) ? body["data"] : [];
  const isImage = (item: unknown): boolean => {
    return isObject(item) && ["url", "b64_json"].some((name) => isFilled(item[name]));
  };
  return {
    images: items.filter(isImage),
    errors: items.flatMap((item, index) =>
      isImage(item) ? [] : [{ index, ...readReason(toRecord(item)["error"]) }],
    ),
    failure:
      isObject(body["error"]) && !isSuccess(body["error"]["code"]) ? readReason(body["error"]) : undefined,
    usage: readCounts(body["usage"]),
  };
}

/** A body of DashScope: the images of all choices, each with the first text of its choice. */
export function expectQwenResult(body: Fields): ExpectedResult {
  const choices: unknown = toObject(body["output"])["choices"];
  const images = (Array.isArray(choices) ? choices : []).flatMap((choice: unknown) => {
    const content: unknown = toObject(toObject(choice)["message"])["content"];
    const items = (Array.isArray(content) ? content : []).filter(isObject);
    const revised_prompt = items.map((item) => item["text"]).find(isFilled) ?? "";
    return items
      .filter((item) => isFilled(item["image"]))
      .map((item) => ({ url: item["image"], revised_prompt }));
  });
  const { code, message } = body;
  const isFailure = isFilled(code) && !isSuccess(code);
  const usage = toObject(body["usage"]);
  const count = [usage["image_count"], usage["output_image_count"]].find(isCount);
  return {
    images,
    errors: [],
    failure: isFailure ? { code, message: isFilled(message) ? message : code } : undefined,
    usage: count === undefined ? undefined : { generated_images: count },
  };
}

/** What a stream of Ark made and used, by its last `completed`, or by its images. */
export function expectStreamResult({ size, events }: ProviderEvents): {
  readonly images: number;
  readonly usage: Fields | undefined;
  readonly isOver: boolean;
  readonly failure: Reason | undefined;
  readonly errors: readonly (Reason & { readonly index: number })[];
} {
  const pixels: { key: unknown; pixels: number | undefined }[] = [];
  let completed: Fields | undefined;
  let failure: Reason | undefined;
  const errors: { key: unknown; error: Reason & { readonly index: number } }[] = [];
  for (const { event, data } of events) {
    const body = parseObject(data);
    const type = isFilled(body?.["type"]) ? body["type"] : event;
    if (type === "image_generation.partial_succeeded" && body !== undefined) {
      const index = body["image_index"];
      const key = isCount(index) ? index : `image ${pixels.length}`;
      const image = { key, pixels: countPixels(body["size"]) ?? countAskedPixels(size) };
      const earlier = pixels.findIndex((other) => other.key === key);
      if (earlier === -1) pixels.push(image);
      else pixels[earlier] = image;
    } else if (type === "image_generation.completed" && body !== undefined) {
      completed = { ...completed, ...readCounts(body["usage"]) };
    } else if (type === "image_generation.partial_failed" && body !== undefined) {
      const index = isCount(body["image_index"]) ? body["image_index"] : undefined;
      const key = index ?? `error ${errors.length}`;
      if (errors.some((other) => other.key === key)) continue;
      const error = { index: index ?? pixels.length + errors.length, ...readReason(body["error"]) };
      errors.push({ key, error });
    } else if (type === "error" || (body !== undefined && Boolean(body["error"]))) {
      failure = readStreamError(body ?? {});
    }
  }
  const isOver = completed !== undefined;
  return {
    images: pixels.length,
    usage: completed ?? countUsage(pixels),
    isOver,
    failure,
    errors: errors.map(({ error }) => error),
  };
}

function countUsage(images: readonly { readonly pixels: number | undefined }[]): Fields | undefined {
  if (images.length === 0) return undefined;
  const tokens = Math.floor(images.reduce((sum, { pixels = 0 }) => sum + pixels, 0) / 256);
  return {
    generated_images: images.length,
    ...(tokens > 0 && { output_tokens: tokens, total_tokens: tokens }),
  };
}

function countPixels(size: unknown): number | undefined {
  const sides = typeof size === "string" ? (readPixels(size, "x") ?? readPixels(size, "*")) : undefined;
  return sides && sides[0] * sides[1];
}

/** The pixels of the size that a client asked for; of a preset, its largest image. */
function countAskedPixels(size: unknown): number | undefined {
  const presets: Readonly<Record<string, number>> = { "2K": 2848 * 1600, "4K": 4096 * 4096 };
  return typeof size === "string" ? (countPixels(size) ?? presets[size.toUpperCase()]) : undefined;
}

function parseObject(data: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The error of an error event: `{"error":{"code","message"}}`, or the same fields at the top level. */
function readStreamError(body: Fields): Reason {
  const { code, message } = isObject(body["error"]) ? body["error"] : body;
  const text = isFilled(body["error"]) ? body["error"] : "The provider failed.";
  return { code: isFilled(code) ? code : "upstream_error", message: isFilled(message) ? message : text };
}

function readReason(error: unknown): Reason {
  const { code, message } = toObject(error);
  return {
    code: isFilled(code) ? code : "upstream_no_image",
    message: isFilled(message) ? message : "The provider made no image and gave no reason.",
  };
}

function readCounts(usage: unknown): Fields | undefined {
  const counts = Object.entries(toObject(usage)).filter(
    ([name, value]) => COUNTS.has(name) && isCount(value),
  );
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

function toObject(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const SUCCESS_CODES = new Set(["", "0", "200", "ok", "success"]);

/** A code of a service that imitates a provider, which says that nothing failed. */
function isSuccess(code: unknown): boolean {
  return (typeof code === "string" || typeof code === "number") && SUCCESS_CODES.has(`${code}`.toLowerCase());
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
