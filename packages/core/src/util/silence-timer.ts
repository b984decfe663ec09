import { MAX_TIMER_MS } from "./async.js";

/**
 * Tells when something that is waited for has not come for some time. The runtime's timer runs on while chunks arrive, so
 * that a chunk needs no timer of its own.
 */
export class SilenceTimer {
  readonly #ms: number;
  readonly #onSilence: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** By `performance.now()`. `undefined` while nothing is waited for. */
  #waitsSince: number | undefined;

  /** @param onSilence called after each time of `ms` without a call of `wait` */
  constructor(ms: number, onSilence: () => void) {
    this.#ms = ms;
    this.#onSilence = onSilence;
  }

  /** The time begins again. */
  wait(): void {
    this.#waitsSince = performance.now();
    if (this.#timer === undefined) this.#start(this.#ms);
  }

  /** Nothing is waited for until the next call of `wait`. */
  pause(): void {
    this.#waitsSince = undefined;
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.pause();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #start(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), Math.min(Math.ceil(ms), MAX_TIMER_MS));
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#waitsSince === undefined) return;
    const leftMs = this.#waitsSince + this.#ms - performance.now();
    if (leftMs > 0) return this.#start(leftMs);
    this.wait();
    this.#onSilence();
  }
}
