import { startCpuClock } from "./cpu-clock.js";

/**
 * Measures for how long the process served nothing else while the work ran: the most CPU time between two looks, one in each
 * turn of the event loop. Other work on the machine changes it little.
 *
 * @returns milliseconds
 */
export async function measureLongestTurn(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let isRunning = true;
  let readMs = startCpuClock();
  const look = (): void => {
    longestMs = Math.max(longestMs, readMs());
    readMs = startCpuClock();
    if (isRunning) setImmediate(look);
  };
  look();
  try {
    await work();
  } finally {
    isRunning = false;
    look();
  }
  return longestMs;
}
