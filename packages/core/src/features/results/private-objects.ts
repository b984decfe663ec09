import { finishWithin } from "../../util/async.js";
import type { ByteRange, ResultStore, StoredImage } from "./store.js";
import { stopReading } from "./stored-body.js";

/**
 * Objects in the store of results that only the gateway reads, such as the long inputs and results of tasks. Their ids
 * cannot be guessed, and no client gets a link to them.
 */
export interface PrivateObjects {
  /**
   * Stores an object and returns its id. Rejects if the store fails, or takes too long for one chunk or after the last one;
   * then nothing is kept. The time in which the store waits for the body does not count.
   */
  put(body: AsyncIterable<Uint8Array>, options: PrivateObjectOptions): Promise<string>;
  /**
   * Opens an object. `undefined`: there is none, for example because it has expired. Rejects if the store fails or takes too
   * long.
   */
  open(id: string, range?: ByteRange): Promise<StoredImage | undefined>;
  /** Deletes an object. A store that cannot delete keeps it until it expires. Rejects like `open`. */
  remove(id: string): Promise<void>;
}

interface PrivateObjectOptions {
  /** The number of bytes, if it is known. */
  readonly byteLength?: number | undefined;
  /** When the object may be deleted. */
  readonly expiresAt: Date;
}

/**
 * Returns `undefined` if the store cannot read what it stores.
 *
 * @param timeoutMs how long the store may take, in milliseconds
 */
export function createPrivateObjects(
  store: Pick<ResultStore, "put" | "open" | "remove">,
  timeoutMs: number,
): PrivateObjects | undefined {
  const open = store.open?.bind(store);
  if (open === undefined) return undefined;
  return {
    async put(body, { byteLength, expiresAt }) {
      const id = crypto.randomUUID().replaceAll("-", "");
      const limit = createStoreLimit(timeoutMs);
      const { signal } = limit;
      const object = { id, contentType: "application/json", byteLength, expiresAt, signal };
      try {
        await untilAborted(store.put({ ...object, body: limit.readTimed(body) }), signal);
        return id;
      } finally {
        limit.stop();
      }
    },
    open: (id, range) =>
      finishWithin(open(id, range), {
        ms: timeoutMs,
        createError: tookTooLong,
        onLate: (late) => late && stopReading(late.body[Symbol.asyncIterator]()),
      }),
    async remove(id) {
      await finishWithin(Promise.resolve(store.remove?.(id)), { ms: timeoutMs, createError: tookTooLong });
    },
  };
}

/** Limits the time that a store takes, without the time in which it waits for the body. */
function createStoreLimit(ms: number): {
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /** Returns the same chunks. The time begins anew with each chunk. */
  readTimed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void>;
  stop(): void;
} {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const pause = (): void => clearTimeout(timer);
  const begin = (): void => {
    pause();
    if (!isStopped) timer = setTimeout(() => controller.abort(tookTooLong()), ms);
  };
  begin();
  return {
    signal,
    async *readTimed(body) {
      pause();
      try {
        for await (const chunk of body) {
          begin();
          yield chunk;
          // A store that goes on although it was told to stop must not store a part of the object as the whole.
          signal.throwIfAborted();
          pause();
        }
      } finally {
        begin();
      }
    },
    stop() {
      isStopped = true;
      pause();
    },
  };
}

function tookTooLong(): Error {
  return new Error("The store of results took too long.");
}

/** Rejects when the signal is aborted, even if the work goes on. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
