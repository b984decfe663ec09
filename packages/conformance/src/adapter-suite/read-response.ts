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
  const body = parse(response);
  const images = readField(body, "data") ?? readChoices(body);
  return Array.isArray(images) ? images.length : 0;
}

/** The images of DashScope's own structure. */
function readChoices(body: unknown): unknown {
  const choices = readField(readField(body, "output"), "choices");
  return Array.isArray(choices) ? readField(readField(choices[0], "message"), "content") : undefined;
}

/** True for the events of an image in the provider's format, and in that of OpenAI. */
function isImageEvent({ event = "", data }: EventSourceMessage): boolean {
  return (
    event === "image_generation.partial_succeeded" || (event.endsWith(".completed") && data.includes('"url"'))
  );
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
