import type { Capabilities, GatewayOptions, Usage, UsageRecord } from "@calotype/core";
import type { LostPolicy } from "@calotype/core/billing";
import type { Leaving } from "./clients.ts";
import type { Script } from "./script.ts";
import type { Way } from "./ways.ts";

/** The response that a client gets. */
export interface Sight {
  readonly status: number;
  readonly images?: number;
  /** `error.code` of an error or of an `error` event. */
  readonly code?: string;
  /** How a stream ends if it fails. */
  readonly ending?: "error event" | "breaks off";
}

/** The expected facts of the usage record, without the charge. */
export interface RecordedFacts {
  readonly state?: "settled" | "unresolved";
  readonly status?: number;
  readonly images: number;
  readonly errorCode?: string;
  readonly channel?: string;
  /** Default: a report of as many images as the record has. */
  readonly usage?: Usage | "none";
  /** The provider's report, if it was cut. */
  readonly reportedUsage?: Usage;
}

/** The facts of a usage record that the rows check. Only settled records have the facts from `status` on. */
export interface RecordFacts {
  readonly state: UsageRecord["state"];
  readonly images: number;
  readonly charge: string | null;
  readonly status?: number | undefined;
  readonly channel?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly reportedUsage?: Usage | undefined;
  readonly errorCode?: string | undefined;
  readonly unpriced?: boolean | undefined;
}

/** What is charged by image and by token. */
export interface Charges {
  readonly image: string;
  readonly token: string;
}

/** An event and its expected outcome: one row of the table in the docs, and one or several tests. */
export interface Row {
  readonly happened: string;
  /** Distinguishes tests that are shown as one line of the table. */
  readonly detail?: string;
  readonly ways: readonly Way[];
  /** The number of requested images. Default 1. */
  readonly asked?: number;
  /** Further fields of the request. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** What the model can do. Default: the family's row. */
  readonly capabilities?: Capabilities;
  /** What the provider does with each call. The test fails if there are more or fewer calls. */
  readonly provider: readonly Script[];
  /** What the provider does with each download of an image. */
  readonly downloads?: readonly Script[];
  /** The channels in the order of their priority, and whether a provider listens there. Default: one channel with a provider. */
  readonly channels?: readonly ("provider" | "nobody")[];
  readonly retryUnsafe?: boolean;
  /** The channel's timeouts, in milliseconds. Default: longer than a test. */
  readonly silenceMs?: number;
  /** When the client disconnects. Default: it reads the whole response. */
  readonly client?: Leaving;
  /** The caller's budget, for each price. */
  readonly budget?: Charges;
  readonly options?: (clientLeft: Promise<unknown>) => Partial<GatewayOptions>;
  /** Closes the gateway with a short deadline while the provider has the request. */
  readonly closed?: LostPolicy;
  /** What is charged if the outcome is unknown. Default: nothing. */
  readonly onLost?: LostPolicy;
  /** What the client gets; absent if it disconnects. */
  readonly sees?: Sight;
  /** Default: the same status and images as the client gets. `"none"`: no record. */
  readonly record?: RecordedFacts | "none";
  readonly charges: Charges;
  /**
   * What a repeat with the same idempotency key does. `stored`: it gets the stored response, or a 409 if that was a
   * stream or too large. `runs`: it runs like a first request. Default: `stored` if an image came or was charged.
   */
  readonly repeat?: Repeat;
  /** True for images of 30 MB: `npm test` runs such a row with one price, and without a repeat. */
  readonly isLarge?: true;
  /** The status of the same caller's next request. Default 200. */
  readonly next?: number;
}

/** What a repeat of a request with the same idempotency key does. */
export type Repeat = "stored" | "runs";

/** Rows about the same subject. */
export interface RowGroup {
  readonly title: string;
  /** A few sentences for operators. */
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

/** The charges by image and by token. */
export function charges(image: string, token: string): Charges {
  return { image, token };
}

/** A stream in OpenAI's format without an image. */
export function errorEventOf(code: string): Sight {
  return { status: 200, images: 0, code, ending: "error event" };
}

/** A charge of 0 that is marked because the price is by token and no tokens were reported. */
export const UNPRICED = "unpriced";
/** Prices: 0.25 an image, 10 for a million output tokens. */
export const NOTHING = charges("0", "0");
export const ONE = charges("0.25", "0.16384");
