import { setTimeout as sleep } from "node:timers/promises";
import { expect, vi } from "vitest";
import type { DelayingProxy } from "./delaying-proxy.js";

/** The timeout of a ledger whose calls expire by {@link expireCall}. */
export const TIMEOUT_SECONDS = 10;

/**
 * Withholds the statement of a call until its ledger gives up. The deadline of the call passes in virtual time: with a short
 * one in real time, the other calls of the ledger would exceed it too on a busy machine.
 *
 * @param word a string that only the statement contains
 */
export async function expireCall(
  proxy: DelayingProxy,
  word: string,
  call: () => Promise<unknown>,
): Promise<void> {
  proxy.delay(word);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldClearNativeTimers: true });
  try {
    const outcome = call().then(() => "in time", String);
    while (proxy.delayed() === 0) await sleep(1);
    await vi.advanceTimersByTimeAsync(TIMEOUT_SECONDS * 1_000);
    expect(await outcome).toContain("did not respond in time");
  } finally {
    vi.useRealTimers();
  }
}
