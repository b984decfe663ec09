import { setTimeout as sleepFor } from "node:timers/promises";

/** Waits. Throws the signal's reason when the client disconnects. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (milliseconds > 0) await sleepFor(milliseconds, undefined, { signal });
}

/** Waits until the client disconnects, then rejects. */
export function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(new DOMException("The client disconnected.", "AbortError"));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
