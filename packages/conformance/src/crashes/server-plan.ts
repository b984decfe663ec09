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
  /** The write of the ledger at which the process kills itself. It is counted from `/arm`; that of `sweep` from the start. */
  readonly death?: Death | undefined;
  /** Where the caller `shop` is told the end of its tasks. Default: nowhere. */
  readonly webhookUrl?: string | undefined;
  /** The folder of the store of results. Default: there is none. */
  readonly resultsPath?: string | undefined;
  /** The file to which the server appends the id of each task that it may send, before it sends the task. */
  readonly marksPath?: string | undefined;
}

/** One write of a ledger or of its tasks. */
export interface Death {
  readonly method: LedgerWrite | TaskWrite;
  /** `after`: when the ledger has stored the write, but has not returned. */
  readonly moment: "before" | "after";
  /** From 1. */
  readonly call: number;
}

/** The writes of a ledger. */
type LedgerWrite = "hold" | "settle" | "release" | "markDelivered";

/** The writes of the tasks of a ledger. */
export type TaskWrite = "submit" | "take" | "markSent" | "putBack" | "addImages" | "end" | "cancel" | "sweep";

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
  /** A caller whose requests run one after another. */
  busy: { key: "caller-canary-3e58a9d6", limits: { concurrent: 1 } },
} as const;

export type CallerId = keyof typeof CALLERS;

/** Of the endpoint at `webhookUrl`. */
export const WEBHOOK_SECRET = "whsec_Y2Fub25pY2FsLWNhbmFyeS10aGF0LW5vb25lLW1heS1zZWU=";
