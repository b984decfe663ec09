/** Runs tasks in the order they came, at most so many at once. */
export type Limiter = <Result>(task: () => Promise<Result>) => Promise<Result>;

export function limitConcurrency(maxRunning: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      // The place passes straight to the next in line, so that no newcomer can slip in before it.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
