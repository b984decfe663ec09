/** The longest delay of a timer. A longer delay would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a promise settles, either way, in so many milliseconds; waits without a timer for what has longer than weeks. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  if (ms > MAX_TIMER_MS) return settled;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}
