import type { Usage } from "@calotype/core";

/** The content of a provider's successful response, independent of its format. */
export interface Making {
  readonly images: number;
  /** The number of failed images of the batch. Their entries come last. */
  readonly failed?: number | undefined;
  /** The `usage` of the response as JSON text with the fields of family A; absent: no usage. */
  readonly usage?: string | undefined;
  /** The code of an error in the response. */
  readonly error?: string | undefined;
}

/** The tokens of an image of 2048 × 2048. */
const TOKENS = 16_384;

/** The usage of this number of images, with the tokens of `tokensOf` images. */
export function usageOf(images: number, tokensOf = images): Usage {
  const tokens = tokensOf * TOKENS;
  return { generated_images: images, output_tokens: tokens, total_tokens: tokens };
}

/** The same as a provider reports it. */
export function report(images: number, tokensOf = images): string {
  return JSON.stringify(usageOf(images, tokensOf));
}

/** Invalid values of a count in a report, as JSON text. */
export const JUNK_COUNTS = ['"4"', '"NaN"', "-1", "2.5", "1e21", "1e999", "null", "true", "[4]", "{}"];

/** A report in which every count is this JSON text. */
export function reportOf(count: string): string {
  return `{"generated_images":${count},"output_tokens":${count},"total_tokens":${count}}`;
}

/** What a provider writes: JSON of either family, or events of family A. */
export type Format = "Seedream" | "events" | "Qwen-Image";

/** The text of the response. */
export function writeMaking(format: Format, making: Making): string {
  if (format === "Qwen-Image") return writeQwenImage(making);
  return format === "events" ? writeEvents(making) : writeSeedream(making);
}

const indexes = (count = 0): number[] => Array.from({ length: count }, (_, index) => index);
const urlOf = (index: number): string => `https://images.example/${index}.png`;

function writeSeedream({ images, failed, usage, error }: Making): string {
  const data = [
    ...indexes(images).map((index) => ({ url: urlOf(index), size: "2048x2048" })),
    ...indexes(failed).map(() => ({ error: FAILED_IMAGE })),
  ];
  const fields = { model: "ep-1", created: 1_763_683_200, data, ...(error && { error: errorOf(error) }) };
  return withUsage(JSON.stringify(fields), usage);
}

function writeQwenImage({ images, usage, error }: Making): string {
  const content = indexes(images).map((index) => ({ image: urlOf(index) }));
  const choices = [{ finish_reason: "stop", message: { role: "assistant", content } }];
  const fields = { request_id: "b1a2", output: { choices }, ...(error && errorOf(error)) };
  return withUsage(JSON.stringify(fields), usage?.replace("generated_images", "image_count"));
}

function withUsage(json: string, usage: string | undefined): string {
  return usage === undefined ? json : `${json.slice(0, -1)},"usage":${usage}}`;
}

/** Events of a whole stream. */
function writeEvents({ images, failed, usage, error }: Making): string {
  return [
    ...indexes(images).map((index) => imageEvent(index)),
    ...indexes(failed).map((index) => failedEvent(images + index)),
    error === undefined ? completedEvent(usage) : errorEvent(error),
    DONE,
  ].join("");
}

export const DONE = "data: [DONE]\n\n";
export const FAILED_IMAGE = { code: "OutputImageSensitiveContentDetected", message: "No." };

export function errorOf(code: string): { readonly code: string; readonly message: string } {
  return { code, message: "The provider says no." };
}

export function imageEvent(index: number, size: string | undefined = "2048x2048"): string {
  return writeEvent("image_generation.partial_succeeded", { image_index: index, url: urlOf(index), size });
}

/** An image in base64 of this length. */
export function base64Event(index: number, length: number): string {
  const b64_json = `/9j/${"A".repeat(length - 4)}`;
  return writeEvent("image_generation.partial_succeeded", {
    image_index: index,
    b64_json,
    size: "2048x2048",
  });
}

export function failedEvent(index: number): string {
  return writeEvent("image_generation.partial_failed", { image_index: index, error: FAILED_IMAGE });
}

export function completedEvent(usage: string | undefined): string {
  return writeEvent("image_generation.completed", {}, usage);
}

export function errorEvent(code: string): string {
  return `event: error\ndata: ${JSON.stringify({ error: errorOf(code) })}\n\n`;
}

function writeEvent(type: string, fields: object, usage?: string): string {
  const data = JSON.stringify({ type, model: "ep-1", created: 1_763_683_200, ...fields });
  return `event: ${type}\ndata: ${withUsage(data, usage)}\n\n`;
}
