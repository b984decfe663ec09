import type { Usage } from "../../image-request.js";
import { isJsonObject, type JsonObject } from "../../json.js";
import type { StreamReader, StreamResult } from "../family.js";
import { readText } from "../read-values.js";
import { readSeedreamUsage } from "./usage.js";

/** Pixels that make one token, by Ark's own formula. */
const PIXELS_PER_TOKEN = 256;

/**
 * Reads Ark's events. `completed` carries the usage of the whole stream; where it never comes, the
 * images that came are counted, and their tokens follow from their sizes.
 */
export function readSeedreamStream(): StreamReader {
  let images = 0;
  let pixels = 0;
  let completed: Usage | undefined;
  let failure: StreamResult["failure"];
  const reader = {
    // No getter: with one of its own an object takes ten times the memory, and thousands of streams may be open.
    isOver: false,
    read({ event, data }: Parameters<StreamReader["read"]>[0]): void {
      const body = parseData(data);
      const type = readText(body["type"]) ?? event;
      if (type === "image_generation.partial_succeeded") {
        images++;
        pixels += countPixels(body["size"]);
      } else if (type === "image_generation.completed") {
        // Of several the last counts; one without a count takes nothing back.
        completed = { ...completed, ...(isJsonObject(body["usage"]) && readSeedreamUsage(body["usage"])) };
        reader.isOver = true;
      } else if (type !== "image_generation.partial_failed" && isFailure(type, body)) {
        failure = toFailure(body);
      }
    },
    result: (): StreamResult => ({ images, usage: completed ?? countUsage(images, pixels), failure }),
  };
  return reader;
}

/** Not every `data` is JSON: `[DONE]` is not, and an event's picture may be left out of it. */
function parseData(data: string): JsonObject {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function countPixels(size: unknown): number {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(readText(size) ?? "") ?? [];
  return Number(width ?? 0) * Number(height ?? 0);
}

function countUsage(images: number, pixels: number): Usage | undefined {
  if (images === 0) return undefined;
  const tokens = Math.floor(pixels / PIXELS_PER_TOKEN);
  return { generated_images: images, ...(tokens > 0 && { output_tokens: tokens, total_tokens: tokens }) };
}

function isFailure(type: string | undefined, body: JsonObject): boolean {
  return type === "error" || Boolean(body["error"]);
}

/** `{"error":{"code","message"}}`, or whatever else an error event holds. */
function toFailure(body: JsonObject): NonNullable<StreamResult["failure"]> {
  const error = isJsonObject(body["error"]) ? body["error"] : body;
  return {
    code: readText(error["code"]) ?? "upstream_error",
    message: readText(error["message"]) ?? readText(body["error"]) ?? "The provider failed.",
  };
}
