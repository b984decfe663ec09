import type { RetryBudgetPolicy } from "./channels/retry-budget.js";
import type { Transport } from "./upstream/transport.js";

/** Time, chance and transport, for tests that need them fixed. */
export interface Dependencies {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly createId: () => string;
  readonly transport: Transport;
  /** Calls `work` every so many milliseconds, until what it returned is called. */
  readonly repeat: (work: () => void, everyMs: number) => () => void;
  /** How much is sent again, for a simulation of what it prevents. */
  readonly retryBudget: RetryBudgetPolicy;
}

/** `repeat` by the runtime's timers. They do not keep a process alive. */
export function repeatByTimer(work: () => void, everyMs: number): () => void {
  const timer = setInterval(work, everyMs);
  if (typeof timer === "object") timer.unref();
  return () => clearInterval(timer);
}
