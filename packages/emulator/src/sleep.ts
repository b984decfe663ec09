import { setTimeout as sleepFor } from "node:timers/promises";

/** Waits, or throws the signal's reason as soon as the client has left. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (milliseconds > 0) await sleepFor(milliseconds, undefined, { signal });
}

/** Never answers; throws when the client has left. */
export function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const leave = () => reject(new DOMException("The client left.", "AbortError"));
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
}
