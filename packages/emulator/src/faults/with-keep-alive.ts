import { setTimeout as sleepFor } from "node:timers/promises";

/** The items as they come, and an `undefined` whenever none came for so long. */
export async function* withKeepAlive<Item>(
  items: AsyncIterable<Item>,
  everyMs: number | undefined,
): AsyncGenerator<Item | undefined> {
  if (everyMs === undefined) return yield* items;
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      next.catch(() => {}); // it is awaited below, unless the reader leaves first
      while (!(await settlesWithin(next, everyMs))) yield undefined;
      const result = await next;
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function settlesWithin(task: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const settled = new AbortController();
  const done = task.then(
    () => true,
    () => true,
  );
  const idle = sleepFor(milliseconds, false, { signal: settled.signal }).catch(() => false);
  try {
    return await Promise.race([done, idle]);
  } finally {
    settled.abort();
  }
}
