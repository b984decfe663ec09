import { setTimeout as sleepFor } from "node:timers/promises";
import { ConnectionCut } from "./connection-cut.js";
import type { StreamFault } from "./fault.js";

const comment = ": keep-alive\n\n";
const lineEnds = { crlf: "\r\n", cr: "\r" } as const;

/** Encodes events as the fault says. Each event is one string, with the blank line that ends it. */
export async function* applyStreamFault(
  events: AsyncIterable<string>,
  fault: StreamFault = {},
): AsyncGenerator<Uint8Array> {
  const encode = encoderFor(fault);
  let left = fault.cutAfterEvents ?? Number.POSITIVE_INFINITY;
  if (left === 0) throw new ConnectionCut("terminated");
  for await (const event of withKeepAlive(events, fault.keepAliveMs)) {
    if (event === undefined || fault.comments === true) yield encode(comment);
    if (event === undefined) continue;
    yield left >= 1 ? encode(event) : firstPart(encode(event), left);
    left -= 1;
    if (left <= 0) throw new ConnectionCut("terminated");
  }
}

function encoderFor({ lineEnd }: StreamFault): (text: string) => Uint8Array {
  const encoder = new TextEncoder();
  if (lineEnd === undefined) return (text) => encoder.encode(text);
  return (text) => encoder.encode(text.replaceAll("\n", lineEnds[lineEnd]));
}

function firstPart(bytes: Uint8Array, share: number): Uint8Array {
  return bytes.subarray(0, Math.max(1, Math.floor(bytes.byteLength * share)));
}

/** The items, and `undefined` each time `everyMs` milliseconds have passed without an item. */
async function* withKeepAlive<Item>(
  items: AsyncIterable<Item>,
  everyMs: number | undefined,
): AsyncGenerator<Item | undefined> {
  if (everyMs === undefined) return yield* items;
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      next.catch(() => {}); // It is awaited below, unless the reader stops first.
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
