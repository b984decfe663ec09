/** A server-sent event. */
export interface SseEvent {
  /** Its name. `""` if it has none. */
  readonly event: string;
  readonly data: string;
}

/**
 * Reads the events of a body (HTML, section 9.2.6), without `id` and `retry`. Long lines arrive in many chunks, which are joined
 * once. Leaving the iteration closes the connection.
 *
 * @param maxSilenceMs ends the iteration if no byte comes for this time: the other end may be gone without having said so
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  maxSilenceMs?: number,
): AsyncGenerator<SseEvent, void, undefined> {
  const reader = body.getReader();
  // A pending read then ends as at the end of the body. Of a broken connection, `cancel` rejects with the error of the read.
  const leave = (): Promise<void> => reader.cancel().catch(() => undefined);
  const lines = new Lines();
  let event = "";
  let data: string[] = [];
  try {
    for (;;) {
      const timer = maxSilenceMs === undefined ? undefined : setTimeout(() => void leave(), maxSilenceMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      for (const line of lines.push(value)) {
        if (line === "") {
          if (data.length > 0) yield { event, data: data.join("\n") };
          event = "";
          data = [];
          continue;
        }
        const [, name, text = ""] = /^([^:]*):? ?([^]*)$/.exec(line) ?? [];
        if (name === "event") event = text;
        if (name === "data") data.push(text);
      }
    }
  } finally {
    await leave();
  }
}

/** Cuts bytes into lines, which end with CR, LF or both. */
class Lines {
  readonly #decoder = new TextDecoder();
  /** The pieces of the line that has not ended. */
  #pieces: string[] = [];
  /** Whether the last chunk ended with CR, so that an LF that follows belongs to it. */
  #isAfterReturn = false;

  push(bytes: Uint8Array): string[] {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return [];
    if (this.#isAfterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#isAfterReturn = text.endsWith("\r");
    const [first = "", ...rest] = text.split(/\r\n|\r|\n/);
    this.#pieces.push(first);
    if (rest.length === 0) return [];
    const lines = [this.#pieces.join(""), ...rest];
    this.#pieces = [lines.pop() ?? ""];
    return lines;
  }
}
