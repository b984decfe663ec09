import type { Answer } from "../support/http-client.js";

/** The `error.code` of an answer, or `undefined` when it has none. */
export function readErrorCode(answer: Answer): unknown {
  return readField(readField(parse(answer), "error"), "code");
}

/** How many images an answer holds. */
export function countImages(answer: Answer): number {
  const images = readField(parse(answer), "data");
  return Array.isArray(images) ? images.length : 0;
}

function parse({ text }: Answer): unknown {
  const value: unknown = JSON.parse(text);
  return value;
}

function readField(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
