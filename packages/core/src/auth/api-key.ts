import { bytesToHex } from "@noble/hashes/utils.js";
import { sha256 } from "#sha256";

/** A new key for a caller, and what the gateway is to know of it. */
export interface GeneratedApiKey {
  /** For the caller, who is the only one to keep it. */
  readonly key: string;
  /** For `callers[].hash`, or the operator's own table of keys. Not secret. */
  readonly hash: string;
}

/** Letters and digits: a double click selects the whole key, and no shell or address changes it. */
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_BYTES = 32;
/** As many digits as the largest number of so many bytes needs. */
const KEY_DIGITS = 43;

/**
 * Makes a new API key of 256 random bits: `cal-` and 43 letters and digits.
 *
 * @param options.prefix what the key begins with instead: letters, digits, `_`, `.`, `~` and `-`
 * @throws TypeError for a prefix with other signs
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
  const key = prefix + toDigits(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
  return { key, hash: hashApiKey(key) };
}

/**
 * SHA-256 of an API key in hexadecimal, as `callers[].hash` takes it.
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

function toDigits(bytes: Uint8Array): string {
  let rest = BigInt(`0x${bytesToHex(bytes)}`);
  let text = "";
  for (let place = 0; place < KEY_DIGITS; place++) {
    text = (DIGITS[Number(rest % 62n)] ?? "") + text;
    rest /= 62n;
  }
  return text;
}
