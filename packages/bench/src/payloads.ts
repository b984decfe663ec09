import { createHash } from "node:crypto";
import type { ResponseId } from "./works.ts";

const MIB = 1024 * 1024;
const SMALL_EVENTS = 100;
const PACED_EVENTS = 50;
const LARGE_EVENTS = 10;
const HELD_EVENTS = 10;

/** The prefix of the upstream's model names. The rest of a name is the id of the response. */
export const UPSTREAM_PREFIX = "ep-";
/** The beginning of the names that clients send. */
export const SERVICE_PREFIX = "seedream-4-5-bench-";

/** The images of a request. */
export interface Images {
  readonly count: number;
  /** The size of each image. As base64 it is a third larger. */
  readonly bytes: number;
}

/** The images of the works that upload some. */
export const IMAGES: { readonly [Id in "edits" | "json-images"]: Images } = {
  edits: { count: 3, bytes: 10 * MIB },
  "json-images": { count: 3, bytes: 3 * MIB },
};

/** The properties of a complete response. */
export interface Expectation {
  readonly minBytes: number;
  /** A string in the first or the last 512 bytes. */
  readonly mark: string;
}

/** A complete response of the upstream, in the pieces in which it is written. */
export interface PreparedResponse {
  readonly contentType: string;
  readonly pieces: readonly Buffer[];
  /** The time between two pieces, in milliseconds. Default: none. */
  readonly pauseMs?: number | undefined;
}

const USAGE = { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 };
const created = 1_795_235_078;

/**
 * Base64 that cannot be compressed or deduplicated, the same in every process. It is standard base64, as providers
 * send it, which the gateway skips faster than other text when it searches for keys.
 */
export function createBase64(length: number): string {
  const block = Array.from({ length: 64 }, (_, index) =>
    createHash("sha512").update(String(index)).digest("base64").replace(/=+$/, ""),
  ).join("");
  return block.repeat(Math.ceil(length / block.length)).slice(0, length);
}

/** Creates the upstream response for a model name. */
export function createResponse(id: ResponseId): PreparedResponse {
  switch (id) {
    case "b64-4mb":
      return createJson({ b64_json: createBase64(4 * MIB), size: "2048x2048" });
    case "b64-32mb":
      return createJson({ b64_json: createBase64(32 * MIB), size: "4096x4096" });
    case "sse-small":
      return createStream(SMALL_EVENTS, { url: createUrl(300) });
    case "sse-paced":
      return { ...createStream(PACED_EVENTS, { url: createUrl(300) }), pauseMs: 2 };
    case "sse-large":
      return createStream(LARGE_EVENTS, { b64_json: createBase64(MIB) });
    case "sse-held":
      return createStream(HELD_EVENTS, { url: createUrl(300) });
    case "small":
    case "edits":
    case "json-images":
      return createJson({ url: createUrl(400), size: "2048x2048" });
  }
}

/** Returns what a client must receive of this response through any gateway. */
export function expectationOf(id: ResponseId): Expectation {
  const { contentType, pieces } = createResponse(id);
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  // A gateway may change the model name in JSON. Streams are relayed unchanged.
  if (contentType === "application/json") return { minBytes: bytes - 200, mark: '"generated_images"' };
  return { minBytes: bytes, mark: "data: [DONE]" };
}

function createUrl(length: number): string {
  return `https://images.example.com/${createBase64(length)}`;
}

function createJson(image: object): PreparedResponse {
  const body = { model: "upstream-model", created, data: [image], usage: USAGE };
  return { contentType: "application/json", pieces: [Buffer.from(JSON.stringify(body))] };
}

function createStream(count: number, image: object): PreparedResponse {
  const images = Array.from({ length: count }, (_, index) =>
    toEvent("image_generation.partial_succeeded", { image_index: index, ...image, size: "2048x2048" }),
  );
  const end = [toEvent("image_generation.completed", { usage: USAGE }), Buffer.from("data: [DONE]\n\n")];
  return { contentType: "text/event-stream", pieces: [...images, ...end] };
}

function toEvent(type: string, fields: object): Buffer {
  const data = { type, model: "upstream-model", created, ...fields };
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}
