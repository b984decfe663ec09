const encoder = new TextEncoder();

/** Returns the bytes of a text in UTF-8. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Returns the bytes of a text in UTF-8. Bytes stay as they are. */
export function toBytes(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? encodeText(piece) : piece;
}
