import type { Call } from "../support/http-client.ts";
import { CALLER_HEADERS, GENERATIONS } from "../support/image-calls.ts";

/**
 * The endpoint and format of a request and its response. `native`: on `/api/v3`. `OpenAI stream`: a stream of `/v1` in
 * OpenAI's format. `Qwen-Image`: JSON of family B. `Qwen-Image stream`: a stream in OpenAI's format that the gateway makes
 * from that JSON. `job`: JSON of `/v1`, from a provider that works with jobs.
 */
export type Way =
  | "JSON"
  | "stream"
  | "OpenAI stream"
  | "native"
  | "native stream"
  | "Qwen-Image"
  | "Qwen-Image stream"
  | "job";

/** Ways whose response is one JSON object. */
export const WHOLE: readonly Way[] = ["JSON", "native", "Qwen-Image"];
/** Ways whose upstream response is a stream of events. */
export const STREAMS: readonly Way[] = ["stream", "OpenAI stream", "native stream"];
/** Streams whose bytes are the provider's own. */
export const RELAYED: readonly Way[] = ["stream", "native stream"];
/** Streams in OpenAI's format that are made from the provider's events. */
export const TRANSLATED: readonly Way[] = ["OpenAI stream"];
/** Ways of family B. */
export const QWEN_IMAGE_WAYS: readonly Way[] = ["Qwen-Image", "Qwen-Image stream"];
/** Ways of `/v1` whose upstream response is JSON. */
export const V1_JSON: readonly Way[] = ["JSON", "Qwen-Image", "Qwen-Image stream"];
/** Ways of family A. */
export const SEEDREAM_WAYS: readonly Way[] = ["JSON", "stream", "OpenAI stream", "native", "native stream"];
export const ALL: readonly Way[] = [...SEEDREAM_WAYS, ...QWEN_IMAGE_WAYS];

/** Service models for which the families have a row. */
export const SEEDREAM_MODEL = "seedream-4-5-251128";
export const QWEN_IMAGE_MODEL = "image-2.0";

export function isQwenImage(way: Way): boolean {
  return QWEN_IMAGE_WAYS.includes(way);
}

/** Whether the request is sent to `/api/v3`. */
export function isNative(way: Way): boolean {
  return way === "native" || way === "native stream";
}

/** Whether the way uses OpenAI's stream format. */
export function isOpenAi(way: Way): boolean {
  return way === "OpenAI stream" || way === "Qwen-Image stream";
}

/** So long that the bytes of two such requests exceed {@link MAX_BYTES_IN_FLIGHT}. */
const PROMPT = `A paper kite over the sea. ${"Wind. ".repeat(400)}`;
export const MAX_BYTES_IN_FLIGHT = 4_000;

/** A request for this number of images of 2048 × 2048, in the format of the way. */
export function toCall(way: Way, images: number, fields: Readonly<Record<string, unknown>> = {}): Call {
  const body = {
    model: isQwenImage(way) ? QWEN_IMAGE_MODEL : SEEDREAM_MODEL,
    prompt: PROMPT,
    size: "2048x2048",
    ...((STREAMS.includes(way) || isOpenAi(way)) && { stream: true }),
    ...(isNative(way) ? toBatch(images) : { n: images }),
    ...fields,
  };
  return {
    path: isNative(way) ? "/api/v3/images/generations" : GENERATIONS,
    headers: CALLER_HEADERS,
    body: JSON.stringify(body),
  };
}

function toBatch(images: number): object {
  if (images === 1) return {};
  return { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: images } };
}
