import type { GatewayOptions, LostPolicy, Usage } from "@calotype/core";
import type { Leaving } from "./clients.ts";
import type { Script } from "./script.ts";
import type { Way } from "./ways.ts";

/** What a client gets. */
export interface Sight {
  readonly status: number;
  readonly images?: number;
  /** `error.code`, of an error or of an `error` event. */
  readonly code?: string;
  /** How a stream ends that does not end well. */
  readonly ending?: "error event" | "breaks off";
}

/** What the usage record says beside the charge. */
export interface RecordedFacts {
  readonly state?: "settled" | "unresolved";
  readonly status?: number;
  readonly images: number;
  readonly errorCode?: string;
  readonly channel?: string;
  /** Where it is not the report of as many images as the record has. */
  readonly usage?: Usage | "none";
  /** The provider's report, where it was cut. */
  readonly reportedUsage?: Usage;
}

/** What is charged by image and by token. */
export interface Charges {
  readonly image: string;
  readonly token: string;
}

/** What happened, and what must become of it. A row of the operators' table and of the tests. */
export interface Row {
  readonly happened: string;
  /** What sets it apart from others that are one line of the table. */
  readonly detail?: string;
  readonly ways: readonly Way[];
  /** Images asked for. Default 1. */
  readonly asked?: number;
  /** Further fields of the request. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** What the provider does with the first calls, one for each. All of them must come, and no more. */
  readonly provider: readonly Script[];
  /** What stands behind each channel, in the order of their priority. Default: one that leads to the provider. */
  readonly channels?: readonly ("provider" | "nobody")[];
  readonly retryUnsafe?: boolean;
  /** Milliseconds that the provider may be silent. Default: longer than a test. */
  readonly silenceMs?: number;
  /** Default: the client reads its answer to the end. */
  readonly client?: Leaving;
  /** The caller's budget, for each price. */
  readonly budget?: Charges;
  readonly options?: (clientLeft: Promise<unknown>) => Partial<GatewayOptions>;
  /** Closes the gateway with a short deadline while the provider has the request. */
  readonly closed?: LostPolicy;
  /** What is charged if nobody knows what was made. Default: nothing. */
  readonly onLost?: LostPolicy;
  /** What the client sees; absent: it left. */
  readonly sees?: Sight;
  /** Default: as the client sees it. `"none"`: no record. */
  readonly record?: RecordedFacts | "none";
  readonly charges: Charges;
  /**
   * What a repeat with the same idempotency key does. `stored`: it gets the stored response, or a 409 if that was a
   * stream or too large. `runs`: it runs as if it were the first. Default: `stored` if an image came or was charged.
   */
  readonly repeat?: Repeat;
  /** The status of the same caller's next request. Default 200. */
  readonly next?: number;
}

/** What a repeat of a request with the same idempotency key does. */
export type Repeat = "stored" | "runs";

/** Rows of one kind. */
export interface RowGroup {
  readonly title: string;
  /** For operators, in a sentence or two. */
  readonly introduction: string;
  readonly rows: readonly Row[];
}

/** The facts of a row's record, with its defaults. */
export function recordOf({ record, sees }: Row): RecordedFacts | "none" {
  if (record === "none") return record;
  return {
    status: sees?.status ?? 200,
    images: sees?.images ?? 0,
    ...(sees?.code !== undefined && { errorCode: sees.code }),
    ...record,
  };
}

/** What a repeat does, with its default. */
export function repeatOf(row: Row): Repeat {
  const record = recordOf(row);
  const isMade = record !== "none" && (record.images > 0 || row.charges.image !== "0");
  return row.repeat ?? (isMade ? "stored" : "runs");
}

/** So much is charged, by image and by token. */
export function charges(image: string, token: string): Charges {
  return { image, token };
}

/** A charge of 0 that is marked, because tokens were to be charged and none were reported. */
export const UNPRICED = "unpriced";
/** Prices: 0.25 an image, 10 for a million output tokens. */
export const NOTHING = charges("0", "0");
export const ONE = charges("0.25", "0.16384");
