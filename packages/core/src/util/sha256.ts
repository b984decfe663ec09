import crypto from "node:crypto";
import { encodeText } from "./utf8.js";

// The default import: on a Node without `hash`, this file must load, so that the check of the version can say so.

/** SHA-256 of a text's UTF-8, in hexadecimal. Synchronous on every runtime, unlike Web Crypto. */
export function sha256(text: string): string {
  return crypto.hash("sha256", text);
}

/** SHA-256 of bytes, in hexadecimal. */
export async function sha256OfChunks(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<string> {
  const hash = crypto.createHash("sha256");
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}

/** HMAC-SHA256 of a string's UTF-8, in base64url: 43 characters. */
export function hmacSha256(secret: string, value: string): string {
  return crypto.createHmac("sha256", secret).update(value).digest("base64url");
}

/** Compares two strings in a time that depends only on their length. */
export function equalsInConstantTime(a: string, b: string): boolean {
  const [left, right] = [encodeText(a), encodeText(b)];
  return left.length === right.length && crypto.timingSafeEqual(left, right);
}
