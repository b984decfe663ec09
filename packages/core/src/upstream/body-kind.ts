/** The kind of a body: a JSON object, server-sent events, or neither. */
export type BodyKind = "json" | "events" | "other";

const OPEN_BRACE = 0x7b;
const BYTE_ORDER_MARK = "\uFEFF";
/** More white space than this before the first character is neither. */
const MAX_LOOKED_AT = 1024;
/** The fields of an event stream, and the colon that begins a comment. */
const EVENT_FIELDS = ["data", "event", "id", "retry"];

/**
 * Detects the kind of a body by its first characters, because providers and the proxies in front of them label bodies
 * wrongly. Returns `undefined` if more bytes are needed.
 *
 * @param chunks the body's first chunks, split at any place
 */
export function detectBody(chunks: readonly Uint8Array[]): BodyKind | undefined {
  // Nearly all bodies begin with this character.
  if (chunks[0]?.[0] === OPEN_BRACE) return "json";
  const start = decodeStart(chunks);
  const text = (start.startsWith(BYTE_ORDER_MARK) ? start.slice(1) : start).replace(/^[ \t\r\n]+/, "");
  if (text === "") return start.length < MAX_LOOKED_AT ? undefined : "other";
  if (text.startsWith("{")) return "json";
  if (text.startsWith(":")) return "events";
  const [name = ""] = /^[a-z]*/.exec(text) ?? [];
  if (name === text && EVENT_FIELDS.some((field) => field.startsWith(name))) return undefined;
  return EVENT_FIELDS.includes(name) && /[:\r\n]/.test(text.charAt(name.length)) ? "events" : "other";
}

function decodeStart(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (const chunk of chunks) {
    if (text.length >= MAX_LOOKED_AT) break;
    text += decoder.decode(chunk.subarray(0, MAX_LOOKED_AT), { stream: true });
  }
  return text;
}
