import { createHook } from "node:async_hooks";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Work } from "./work.ts";

type Counts = { -readonly [Name in keyof Work]: Work[Name] };

const createCounts = (): Counts => ({
  moreWritesThanReads: 0,
  decodedBytes: 0,
  copiedBytes: 0,
  promises: 0,
  timers: 0,
  handles: 0,
});

/** Counts the work of this process from the start of the counter. */
export interface WorkCounter {
  start(): void;
  stop(): Work;
}

/**
 * Replaces functions of the runtime by counting functions while it counts. Calls inside the runtime are not
 * counted.
 *
 * @param isClient whether a socket belongs to a client
 */
export function createWorkCounter(isClient: (socket: Socket) => boolean): WorkCounter {
  let counts = createCounts();
  const hook = createHook({ init: (_id, type) => countResource(counts, type) });
  let restore: (() => void)[] = [];

  return {
    start() {
      counts = createCounts();
      restore = replaceAll(counts, isClient);
      hook.enable();
    },
    stop() {
      hook.disable();
      for (const putBack of restore) putBack();
      return counts;
    },
  };
}

function countResource(counts: Counts, type: string): void {
  if (type === "PROMISE") counts.promises++;
  else if (type === "Timeout") counts.timers++;
  else if (/^(?:TCP|FS|CRYPTO|HASH|PIPE|GETADDR|ZLIB|WORKER)/i.test(type)) counts.handles++;
}

/** Each function calls the replaced function and counts its input or output. */
function replaceAll(counts: Counts, isClient: (socket: Socket) => boolean): (() => void)[] {
  const decoded = (bytes: unknown): void => void (counts.decodedBytes += sizeOf(bytes));
  const copied = (bytes: unknown): void => void (counts.copiedBytes += sizeOf(bytes));
  const sentBy = (socket: unknown): void => {
    if (socket instanceof Socket && isClient(socket)) counts.moreWritesThanReads++;
  };
  return [
    replace(Buffer, "concat", (_self, _values, whole) => copied(whole)),
    replace(Buffer, "from", (_self, [source], made) => {
      if (ArrayBuffer.isView(source)) copied(made);
    }),
    replace(Buffer.prototype, "toString", (self, [, from = 0, to = sizeOf(self)]) => {
      counts.decodedBytes += Number(to) - Number(from);
    }),
    replace(Buffer.prototype, "copy", (_self, _values, written) => {
      counts.copiedBytes += Number(written);
    }),
    replace(TextDecoder.prototype, "decode", (_self, [bytes]) => decoded(bytes)),
    replace(Object.getPrototypeOf(Uint8Array.prototype), "set", (_self, [bytes]) => copied(bytes)),
    replace(Object.getPrototypeOf(Uint8Array.prototype), "slice", (_self, _values, made) => copied(made)),
    // Node parses requests without these functions.
    replace(Readable.prototype, "push", (self, [bytes]) => {
      if (self instanceof Socket && ArrayBuffer.isView(bytes)) counts.moreWritesThanReads--;
    }),
    replace(Socket.prototype, "_write", sentBy),
    replace(Socket.prototype, "_writev", sentBy),
  ];
}

function sizeOf(bytes: unknown): number {
  return ArrayBuffer.isView(bytes) ? bytes.byteLength : 0;
}

/** Replaces a method by a counting function. The returned function restores the method. */
function replace(
  owner: object,
  name: string,
  count: (self: unknown, values: readonly unknown[], result: unknown) => void,
): () => void {
  const property = Object.getOwnPropertyDescriptor(owner, name);
  const original: unknown = property?.value;
  if (property === undefined || typeof original !== "function") throw new Error(`There is no ${name}.`);
  Object.defineProperty(owner, name, {
    ...property,
    value(this: unknown, ...values: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, values);
      count(this, values, result);
      return result;
    },
  });
  return () => void Object.defineProperty(owner, name, property);
}
