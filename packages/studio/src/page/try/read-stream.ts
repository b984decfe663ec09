import type { ErrorBody } from "../../wire.js";
import { ApiError } from "../api.js";

/** One event of the gateway's stream in OpenAI's format. */
export interface StreamEvent {
  readonly type?: string;
  readonly b64_json?: string;
  readonly size?: string;
  readonly extra?: { readonly errors?: readonly ImageError[] };
}

/** Why one image of several could not be made. */
export interface ImageError {
  readonly code?: string;
  readonly message?: string;
}

/**
 * Reads the events of a stream as they arrive.
 *
 * @throws ApiError for an `error` event
 */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  try {
    for (;;) {
      const { done, value: bytes } = await reader.read();
      if (done) return;
      const value = decoder.decode(bytes, { stream: true });
      // An image has megabytes: its parts are joined once, when the event has ended.
      if (!value.includes("\n\n") && !(value.startsWith("\n") && parts.at(-1)?.endsWith("\n") === true)) {
        parts.push(value);
        continue;
      }
      const texts = `${parts.splice(0).join("")}${value}`.split("\n\n");
      parts.push(texts.pop() ?? "");
      for (const text of texts) {
        const event = parseEvent(text);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    await reader.cancel();
  }
}

/** Returns `undefined` for comments and for the mark of the end. */
function parseEvent(text: string): StreamEvent | undefined {
  const lines = text.split("\n");
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
  if (data.length === 0 || data[0] === "[DONE]") return undefined;
  const value: StreamEvent & Partial<ErrorBody> = JSON.parse(data.join("\n"));
  if (value.error !== undefined) throw new ApiError(200, value.error);
  return value;
}
