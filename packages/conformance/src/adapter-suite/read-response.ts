import type { EventSourceMessage } from "eventsource-parser";
import type { ReadResponse } from "../support/http-client.js";
import { readEvents } from "../support/read-events.js";

/** The `error.code` of a response, or `undefined` if it has none. */
export function readErrorCode(response: ReadResponse): unknown {
  return isStream(response) ? undefined : readField(readField(parse(response), "error"), "code");
}

/** The number of images in a response or in the events of a stream. */
export function countImages(response: ReadResponse): number {
  if (isStream(response)) return readEvents(response.text).filter(isImageEvent).length;
  const images = readField(parse(response), "data");
  return Array.isArray(images) ? images.length : 0;
}

function isImageEvent({ event }: EventSourceMessage): boolean {
  return event === "image_generation.partial_succeeded";
}

function isStream({ headers }: ReadResponse): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}

function parse({ text }: ReadResponse): unknown {
  const value: unknown = JSON.parse(text);
  return value;
}

function readField(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
