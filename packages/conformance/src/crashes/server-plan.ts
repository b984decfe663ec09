import type { LostPolicy } from "@calotype/core/billing";

/** What the program of `server-process.ts` is told. */
export interface ServerPlan {
  readonly ledgerPath: string;
  /** The operator's own books: `onUsage` appends each record as a line. */
  readonly sinkPath: string;
  readonly arkBaseUrl: string;
  readonly onLost: LostPolicy;
  /** How far its clock is ahead: the leases of the processes before it have run out. */
  readonly aheadMs: number;
  /** How long it may take to close when it is told to. */
  readonly deadlineSeconds: number;
  /** How long `onUsage` takes with each record. Default: no longer than the disk. */
  readonly sinkMs?: number | undefined;
  /** At which write of the ledger it kills itself, counted from when it is armed. */
  readonly death?: Death | undefined;
}

/** One write of a ledger. */
export interface Death {
  readonly method: "hold" | "settle" | "release" | "markDelivered";
  /** `after`: when the ledger has it, and before anyone knows. */
  readonly moment: "before" | "after";
  /** From 1. */
  readonly call: number;
}

/** Every request has a model of its own of a series, by which its record is known. */
export const SEEDREAM_SERIES = "seedream-4-0-250828-";
/** A series whose provider nobody reaches. */
export const NOWHERE_SERIES = "nowhere-";

/** Of one image. */
export const PRICE = "0.03";

/** Who calls, and with which key. */
export const CALLERS = {
  shop: { key: "caller-canary-5b0e93d1" },
  /** Its budget is spent before the test ends. */
  trial: { key: "caller-canary-c7712f04", budget: "1.5" },
} as const;

export type CallerId = keyof typeof CALLERS;
