import { createParser, type EventSourceMessage } from "eventsource-parser";

/** Reads the complete server-sent events of a text. */
export function readEvents(text: string): readonly EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(text);
  return events;
}
