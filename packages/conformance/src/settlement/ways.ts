import type { Call } from "../support/http-client.ts";
import { CALLER_HEADERS, GENERATIONS } from "../support/image-calls.ts";

/** The endpoint and format of a request and its response. `native`: on `/api/v3`. `Qwen-Image`: JSON of family B. */
export type Way = "JSON" | "stream" | "native" | "native stream" | "Qwen-Image";

/** Ways whose response is one JSON object. */
export const WHOLE: readonly Way[] = ["JSON", "native", "Qwen-Image"];
/** Ways whose response is a stream of events. */
export const STREAMS: readonly Way[] = ["stream", "native stream"];
/** Ways of family A. */
export const SEEDREAM_WAYS: readonly Way[] = ["JSON", "stream", "native", "native stream"];
export const ALL: readonly Way[] = [...SEEDREAM_WAYS, "Qwen-Image"];

/** Service models for which the families have a row. */
export const SEEDREAM_MODEL = "seedream-4-5-251128";
export const QWEN_IMAGE_MODEL = "image-2.0";

export function isStream(way: Way): boolean {
  return STREAMS.includes(way);
}

/** So long that the bytes of two such requests exceed {@link MAX_BYTES_IN_FLIGHT}. */
const PROMPT = `A paper kite over the sea. ${"Wind. ".repeat(400)}`;
export const MAX_BYTES_IN_FLIGHT = 4_000;

/** A request for this number of images of 2048 × 2048, in the format of the way. */
export function toCall(way: Way, images: number, fields: Readonly<Record<string, unknown>> = {}): Call {
  const isNative = way === "native" || way === "native stream";
  const body = {
    model: way === "Qwen-Image" ? QWEN_IMAGE_MODEL : SEEDREAM_MODEL,
    prompt: PROMPT,
    size: "2048x2048",
    ...(isStream(way) && { stream: true }),
    ...(isNative ? toBatch(images) : { n: images }),
    ...fields,
  };
  return {
    path: isNative ? "/api/v3/images/generations" : GENERATIONS,
    headers: CALLER_HEADERS,
    body: JSON.stringify(body),
  };
}

function toBatch(images: number): object {
  if (images === 1) return {};
  return { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: images } };
}
