import { partialDeepStrictEqual } from "node:assert/strict";
import type { Buffer } from "node:buffer";
import { createResponse } from "../payloads.ts";
import type { ResponseId } from "../works.ts";

/** Throws if a response lacks images or usage that the upstream sent. A gateway may add members of OpenAI's usage. */
export function compareResponse(id: ResponseId, body: Buffer): void {
  const { contentType, pieces } = createResponse(id);
  const sent = pieces.map(String).join("");
  const read = contentType === "application/json" ? readJson : readEvents;
  try {
    partialDeepStrictEqual(read(body.toString()), read(sent));
  } catch {
    throw new Error(
      `The response to ${id} differs from what the upstream sent: ${body.subarray(0, 300).toString()}`,
    );
  }
}

function readJson(text: string): unknown {
  const { data, usage }: { data: unknown; usage?: unknown } = JSON.parse(text);
  return { data, usage };
}

/** The data of each event; a gateway may leave out names and comments. */
function readEvents(text: string): unknown {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim())
    .map((data) => (data === "[DONE]" ? data : JSON.parse(data)));
}
