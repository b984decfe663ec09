import { sha256 } from "#sha256";

const FINGERPRINT_DIGITS = 16;

/**
 * Names the health of a channel or of one of its keys, in this process and among the gateways of a
 * fleet. Another address or key gives another name, so that a corrected channel starts afresh. The key cannot be
 * read from it.
 */
export function createHealthId(channelId: string, ...account: readonly string[]): string {
  const hash = sha256(account.join("\n"));
  return `${channelId}@${hash.slice(0, FINGERPRINT_DIGITS)}`;
}

/** Returns the health id of one model with one key of a channel. */
export function createModelHealthId(keyHealthId: string, upstreamModel: string): string {
  return `${keyHealthId}/${upstreamModel}`;
}

/** Splits an id of {@link createModelHealthId} into key and model. Returns `undefined` for the id of a channel or key. */
export function readModelHealthId(
  id: string,
): { readonly keyHealthId: string; readonly upstreamModel: string } | undefined {
  const [, keyHealthId, upstreamModel] = /^(.*@[0-9a-f]{16})\/(.+)$/s.exec(id) ?? [];
  if (keyHealthId === undefined || upstreamModel === undefined) return undefined;
  return { keyHealthId, upstreamModel };
}
