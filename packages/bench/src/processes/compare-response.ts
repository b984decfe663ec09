import { deepStrictEqual } from "node:assert/strict";
import type { Buffer } from "node:buffer";
import { createResponse } from "../payloads.ts";
import type { ResponseId } from "../works.ts";

/** Throws if the images or the usage of a response differ from those that the upstream sent. */
export function compareResponse(id: ResponseId, body: Buffer): void {
  const { contentType, pieces } = createResponse(id);
  const sent = pieces.map(String).join("");
  const read = contentType === "application/json" ? readJson : readEvents;
  try {
    deepStrictEqual(read(body.toString()), read(sent));
  } catch {
    throw new Error(
      `The response to ${id} differs from what the upstream sent: ${body.subarray(0, 300).toString()}`,
    );
  }
}

/** A gateway may add OpenAI's name for input tokens to the usage. */
function readJson(text: string): unknown {
  const { data, usage = {} }: { data: unknown; usage?: Record<string, unknown> } = JSON.parse(text);
  const { input_tokens: _added, ...reported } = usage;
  return { data, usage: reported };
}

/** The data of each event; a gateway may leave out names and comments. */
function readEvents(text: string): unknown {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim());
}
