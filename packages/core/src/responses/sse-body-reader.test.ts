import { describe, expect, it } from "vitest";
import { cutEvery } from "../testing/cut-bytes.js";
import { freeMemory } from "../testing/free-memory.js";
import { StreamBodyReader } from "./sse.js";

const encoder = new TextEncoder();

function read(text: string, size: number): { events: readonly string[]; json: string; isInside: boolean } {
  const events: string[] = [];
  let json = "";
  const reader = new StreamBodyReader({
    onEvent: ({ data }) => void events.push(data),
    onJson: (chunk) => void (json += new TextDecoder("utf-8", { ignoreBOM: true }).decode(chunk)),
  });
  for (const chunk of cutEvery(encoder.encode(text), size)) {
    // A Buffer with its own memory, as undici provides it, which is freed when it has been written.
    const own = Buffer.from(new Uint8Array(chunk).buffer);
    reader.push(own);
    freeMemory(own);
  }
  return { events, json, isInside: reader.isInsideEvent };
}

describe("a body that is labelled as events", () => {
  it.each([
    ["events", "data: a\n\ndata: b\n\n", { events: ["a", "b"], json: "", isInside: false }],
    ["events after a comment", ": hi\n\ndata: a\n\n", { events: ["a"], json: "", isInside: false }],
    ["half an event", "event: x\nda", { events: [], json: "", isInside: true }],
    ["JSON", ' {"data":[]}', { events: [], json: ' {"data":[]}', isInside: true }],
    [
      "JSON of several lines",
      '\n{\n"data": []\n}\n\n',
      { events: [], json: '\n{\n"data": []\n}\n\n', isInside: true },
    ],
    ["white space", "\n\n", { events: [], json: "", isInside: true }],
    ["nothing", "", { events: [], json: "", isInside: false }],
    ["something else", "hello\n\n", { events: [], json: "", isInside: false }],
  ])("is read as %s", (_what, text, expected) => {
    for (const size of [1, 2, 3, 100]) expect(read(text, size)).toEqual(expected);
  });
});
