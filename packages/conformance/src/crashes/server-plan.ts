import type { LostPolicy } from "@calotype/core/billing";

/** The input of the program `server-process.ts`. */
export interface ServerPlan {
  readonly ledgerPath: string;
  /** The file to which `onUsage` appends each record as a line. */
  readonly sinkPath: string;
  readonly arkBaseUrl: string;
  readonly onLost: LostPolicy;
  /** How far the clock of the server is ahead, so that the leases of earlier processes have expired. */
  readonly aheadMs: number;
  /** The deadline of the shutdown. */
  readonly deadlineSeconds: number;
  /** How long `onUsage` takes for each record. Default: only the time of the disk. */
  readonly sinkMs?: number | undefined;
  /** The write of the ledger at which the process kills itself, counted from `/arm`. */
  readonly death?: Death | undefined;
}

/** One write of a ledger. */
export interface Death {
  readonly method: "hold" | "settle" | "release" | "markDelivered";
  /** `after`: when the ledger has stored the write, but has not returned. */
  readonly moment: "before" | "after";
  /** From 1. */
  readonly call: number;
}

/** Each request uses a different model name of this series, so that its record can be found. */
export const SEEDREAM_SERIES = "seedream-4-0-250828-";
/** A series of models that make one image per call. */
export const SINGLE_SERIES = "single-";
/** A series whose provider cannot be reached. */
export const NOWHERE_SERIES = "nowhere-";

/** The price of one image. */
export const PRICE = "0.03";

/** The callers and their keys. */
export const CALLERS = {
  shop: { key: "caller-canary-5b0e93d1" },
  /** A caller whose budget is used up before the test ends. */
  trial: { key: "caller-canary-c7712f04", budget: "1.5" },
} as const;

export type CallerId = keyof typeof CALLERS;
