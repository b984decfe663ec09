import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

const FINGERPRINT_DIGITS = 16;

/**
 * Names the health of a channel or of one of its keys, in this process and among the gateways of a
 * fleet. Another address or key gives another name, so that what was mended starts afresh; of the
 * key nothing can be read from it.
 */
export function createHealthId(channelId: string, ...account: readonly string[]): string {
  const hash = bytesToHex(sha256(utf8ToBytes(account.join("\n"))));
  return `${channelId}@${hash.slice(0, FINGERPRINT_DIGITS)}`;
}
