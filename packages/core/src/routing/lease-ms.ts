import type { Channel } from "./channel.js";

const HOUR_MS = 3_600_000;

/** For how long what a request holds is kept for it: longer than any request to these channels takes. */
export function findLeaseMs(channels: readonly Channel[]): number {
  let longestMs = 0;
  let othersMs = 0;
  for (const { timeouts, retryUnsafe } of channels) {
    const { connectMs, firstByteMs, idleMs } = timeouts;
    longestMs = Math.max(longestMs, firstByteMs + idleMs);
    // Elsewhere no other attempt follows one that waited in vain for an answer.
    othersMs += connectMs + (retryUnsafe ? firstByteMs : 0);
  }
  return HOUR_MS + longestMs + othersMs;
}
