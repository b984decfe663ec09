import crypto from "node:crypto";

// The default import: on a Node without `hash`, this file must load, so that the check of the version can say so.

/** SHA-256 of a text's UTF-8, in hexadecimal. Synchronous on every runtime, unlike Web Crypto. */
export function sha256(text: string): string {
  return crypto.hash("sha256", text);
}
