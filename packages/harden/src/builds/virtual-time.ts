import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";

/** When every scenario begins, in milliseconds since 1970. */
const START_MS = Date.UTC(2027, 0, 1);
/** A scenario that takes longer hangs. */
const MAX_MS = 3 * 3_600_000;

interface Event {
  readonly at: number;
  readonly begin: () => void;
}

/** A clock that jumps to the next event when no promise can continue. So the order of all work depends on the scenario only. */
export class VirtualTime {
  /** In the order in which they begin. */
  readonly #events: Event[] = [];
  #now = START_MS;

  readonly now = (): number => this.#now;

  /** Begins this work later. The returned function takes it back. */
  after(ms: number, begin: () => void): () => void {
    const event = { at: this.#now + Math.max(0, ms), begin };
    const later = this.#events.findIndex(({ at }) => at > event.at);
    this.#events.splice(later === -1 ? this.#events.length : later, 0, event);
    return () => {
      const place = this.#events.indexOf(event);
      if (place !== -1) this.#events.splice(place, 1);
    };
  }

  /** Resolves after this time, or once the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const cancel = this.after(ms, resolve);
      signal?.addEventListener("abort", () => {
        cancel();
        resolve();
      });
    });
  }

  /** Repeats work until the returned function is called. */
  repeat(work: () => void, everyMs: number): () => void {
    const repeated = (): void => {
      cancel = this.after(everyMs, repeated);
      work();
    };
    let cancel = this.after(everyMs, repeated);
    return () => cancel();
  }

  /** Lets time pass until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const end = (): void => {
      isDone = true;
    };
    work.then(end, end);
    for (;;) {
      // All promises that can continue do so before the time moves on.
      await setImmediate();
      if (isDone) return work;
      const next = this.#events.shift();
      if (next === undefined || next.at > START_MS + MAX_MS) throw new Error("The work does not end.");
      this.#now = next.at;
      next.begin();
    }
  }
}

/**
 * Runs work while the timers, the monotonic clock and the hashes of this process follow the virtual time. A hash is otherwise
 * computed in another thread, and is ready at any moment.
 */
export async function inVirtualTime<T>(work: (time: VirtualTime) => Promise<T>): Promise<T> {
  const time = new VirtualTime();
  const cancels = new Map<object, () => void>();
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const toTimer = (cancel: () => void): object => {
    const timer = { ref: () => timer, unref: () => timer };
    cancels.set(timer, cancel);
    return timer;
  };
  const clear = (timer: object): void => cancels.get(timer)?.();
  Object.assign(globalThis, {
    setTimeout: (begin: () => void, ms = 0) => toTimer(time.after(ms, begin)),
    clearTimeout: clear,
    setInterval: (begin: () => void, ms: number) => toTimer(time.repeat(begin, ms)),
    clearInterval: clear,
  });
  Object.defineProperty(performance, "now", { value: time.now, configurable: true });
  Object.defineProperty(crypto.subtle, "digest", { value: hashNow, configurable: true });
  try {
    return await work(time);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Reflect.deleteProperty(performance, "now");
    Reflect.deleteProperty(crypto.subtle, "digest");
  }
}

async function hashNow(_algorithm: string, bytes: Uint8Array): Promise<ArrayBuffer> {
  return new Uint8Array(createHash("sha256").update(bytes).digest()).buffer;
}
