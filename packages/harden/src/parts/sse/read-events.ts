/** An event as the standard defines it. */
export interface ReferenceEvent {
  readonly event: string | undefined;
  readonly data: string;
  readonly id: string | undefined;
}

/**
 * Reads a whole stream, as simply as the standard can be written down. It serves as a reference.
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function readEvents(text: string): readonly ReferenceEvent[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  // The text after the last line end is not a line yet.
  lines.pop();
  const events: ReferenceEvent[] = [];
  let data: string[] = [];
  let event = "";
  let id: string | undefined;
  for (const line of lines) {
    if (line === "") {
      if (data.length > 0)
        events.push({ event: event === "" ? undefined : event, data: data.join("\n"), id });
      data = [];
      event = "";
      continue;
    }
    const { name, value } = readField(line);
    if (name === "data") data.push(value);
    if (name === "event") event = value;
    if (name === "id" && !value.includes("\0")) id = value;
  }
  return events;
}

/** A line that begins with a colon is a comment: a field without a name. */
function readField(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(":");
  if (colon === -1) return { name: line, value: "" };
  const value = line.slice(colon + 1);
  return { name: line.slice(0, colon), value: value.startsWith(" ") ? value.slice(1) : value };
}
