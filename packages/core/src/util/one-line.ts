const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Replaces line ends in JSON by spaces, so that it fits into one line of an event. In JSON they are white space between
 * two tokens. The bytes may begin and end anywhere. Bytes without line ends are returned without a copy.
 */
export function toOneLine(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(LINE_FEED) && !bytes.includes(CARRIAGE_RETURN)) return bytes;
  // A copy, because the bytes may belong to a reader.
  return bytes.map((byte) => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte));
}
