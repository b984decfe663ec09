import { sha256 } from "#sha256";

const FINGERPRINT_DIGITS = 16;

/**
 * Names the health of a channel or of one of its keys, in this process and among the gateways of a
 * fleet. Another address or key gives another name, so that what was mended starts afresh; of the
 * key nothing can be read from it.
 */
export function createHealthId(channelId: string, ...account: readonly string[]): string {
  const hash = sha256(account.join("\n"));
  return `${channelId}@${hash.slice(0, FINGERPRINT_DIGITS)}`;
}
