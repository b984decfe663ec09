import { Buffer } from "node:buffer";
import { sha256 } from "../util/sha256.js";

/** A new API key and its hash. */
export interface GeneratedApiKey {
  /** For the caller. Nobody else should keep it. */
  readonly key: string;
  /** For `callers[].hash`, or your own table of keys. Not secret. */
  readonly hash: string;
}

/** Letters and digits only, so that a double click selects the whole key and no shell or URL changes it. */
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_BYTES = 32;
/** The number of base-62 digits that 32 bytes need. */
const KEY_DIGITS = 43;

/**
 * Generates an API key of 256 random bits: `cal-` and 43 letters and digits.
 *
 * @param options.prefix replaces `cal-`: letters, digits, `_`, `.`, `~` and `-`
 * @throws TypeError for a prefix with other characters
 * @example
 * ```ts
 * import { createGateway, generateApiKey } from "@calotype/core";
 *
 * const { key, hash } = generateApiKey();
 * console.log(`For the caller, shown once: ${key}`);
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "web-shop", hash }],
 * });
 * ```
 */
export function generateApiKey({ prefix = "cal-" }: { readonly prefix?: string } = {}): GeneratedApiKey {
  if (!/^[\w.~-]*$/.test(prefix)) {
    throw new TypeError("The prefix of a key must be letters, digits, _, ., ~ and - only.");
  }
  const key = prefix + toBase62(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
  return { key, hash: hashApiKey(key) };
}

/**
 * Returns the SHA-256 of an API key in hexadecimal, for `callers[].hash`.
 *
 * @example
 * ```ts
 * import { hashApiKey } from "@calotype/core";
 *
 * const hash = hashApiKey("sk-a-long-random-key");
 * ```
 */
export function hashApiKey(apiKey: string): string {
  return sha256(apiKey);
}

function toBase62(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let digits = "";
  for (let count = 0; count < KEY_DIGITS; count++) {
    digits = (DIGITS[Number(rest % 62n)] ?? "") + digits;
    rest /= 62n;
  }
  return digits;
}
