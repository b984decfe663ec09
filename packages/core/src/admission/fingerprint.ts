import { bytesToHex } from "@noble/hashes/utils.js";
import type { JsonObject } from "../json.js";

/** Texts longer than this, such as data URLs, are hashed apart: to write them as JSON takes longer than to hash them. */
const LONG = 65_536;

/**
 * The same for the same fields. They can be many megabytes: Web Crypto hashes them beside the event loop, and
 * of each long text there is one copy.
 */
export async function toFingerprint(fields: JsonObject): Promise<string> {
  const longTexts: string[] = [];
  // The letter before each text tells a long one's number from a short one that is a number.
  const outline = JSON.stringify(fields, (_, value: unknown) => {
    if (typeof value !== "string") return value;
    return isLong(value) ? `l${longTexts.push(value)}` : `s${value}`;
  });
  const hashes = [];
  for (const text of longTexts) hashes.push(await hash(text));
  return hash([outline, ...hashes].join("\n"));
}

/** UTF-8 cannot tell lone surrogates apart, JSON can. */
function isLong(text: string): boolean {
  return text.length > LONG && text.isWellFormed();
}

async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return bytesToHex(new Uint8Array(digest));
}
