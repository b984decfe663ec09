import type { UsageRecord } from "@calotype/core/billing";
import type { Balance, LostPolicy } from "@calotype/core/stores";

/** An entry of a ledger's records: the version of a record that a read saw. Amounts are whole numbers. */
export interface OutboxEntry {
  readonly id: string;
  readonly caller: string;
  readonly state: UsageRecord["state"];
  readonly charge: string;
  readonly isLate: boolean;
}

/** The input and the result of each kind of call. */
interface Kinds {
  /** `ttlMs` is much longer than a history, or 0: then the next sweep of its process ends it. */
  readonly hold: {
    readonly input: {
      readonly id: string;
      readonly caller: string;
      readonly amount: string;
      readonly budget?: string;
      readonly ttlMs: number;
    };
    readonly result: { readonly isGranted: boolean; readonly balance?: Balance };
  };
  readonly settle: {
    readonly input: { readonly id: string; readonly caller: string; readonly charge: string };
    readonly result: { readonly isLate: boolean };
  };
  readonly release: {
    readonly input: { readonly id: string; readonly caller: string };
    readonly result: null;
  };
  /** Ends lost holds of all callers. Each hold ends in a step of its own. */
  readonly sweep: { readonly input: null; readonly result: readonly OutboxEntry[] };
  readonly balance: { readonly input: OfCaller; readonly result: Balance };
  /** The records of a caller, in one page. */
  readonly records: { readonly input: OfCaller; readonly result: readonly OutboxEntry[] };
  /** All records in the order in which the outbox stores them. Nothing is delivered. */
  readonly list: { readonly input: null; readonly result: readonly OutboxEntry[] };
  /** Adds to the stored budget of a caller. The result is the new budget. */
  readonly changeBudget: {
    readonly input: OfCaller & { readonly difference: number };
    readonly result: number;
  };
  readonly readBudget: { readonly input: OfCaller; readonly result: number };
}

interface OfCaller {
  readonly caller: string;
}

/** The kind of a call. */
export type CallKind = keyof Kinds;
export type InputOf<Kind extends CallKind> = Kinds[Kind]["input"];
export type ResultOf<Kind extends CallKind> = Kinds[Kind]["result"];

/** What a client asks of a ledger. */
export type Operation = {
  [Kind in CallKind]: { readonly kind: Kind; readonly input: InputOf<Kind> };
}[CallKind];

/** An operation of a client, and when it was made. */
export type RecordedCall = {
  [Kind in CallKind]: {
    readonly kind: Kind;
    readonly input: InputOf<Kind>;
    /** Absent if nothing is known of its end: it rejected, or its process was killed. */
    readonly result?: ResultOf<Kind>;
    readonly process: string;
    /** In nanoseconds, by a clock that all processes share and that never jumps. */
    readonly begin: number;
    /** Infinity if nothing is known of its end. The call may have an effect at any later time, or none. */
    readonly end: number;
    /** When it rejected. */
    readonly rejectedAt?: number;
  };
}[CallKind];

/** A call of one of these kinds. */
export type CallOf<Kind extends CallKind> = Extract<RecordedCall, { readonly kind: Kind }>;

/** A call whose result is known. */
export type Answered<Kind extends CallKind> = Required<Pick<CallOf<Kind>, "result">> & CallOf<Kind>;

/** What clients asked of a ledger, and what they were told. */
export interface History {
  readonly calls: readonly RecordedCall[];
  /** What the sweeps do. */
  readonly onLost: LostPolicy;
  /** How long the sweep of another process leaves a new hold alone at least, in nanoseconds. 0: unknown, because a clock was moved. */
  readonly safeNs: number;
  /** Whether replies of the database can be lost. A sweep that is sent again then returns fewer records than it has made. */
  readonly losesReplies: boolean;
  /** The stored budgets at the beginning. */
  readonly budgets: Readonly<Record<string, number>>;
}

/** The name of the process that makes the last calls, when no client is left. Its clock is a day ahead, so no hold is safe from its sweeps. */
export const FINAL_PROCESS = "final";

/** The calls of a kind, in the order of the history. */
export function callsOf<Kind extends CallKind>(calls: readonly RecordedCall[], kind: Kind): CallOf<Kind>[] {
  return calls.filter((call): call is CallOf<Kind> => call.kind === kind);
}

/** Those of the calls of a kind whose result is known. */
export function answeredOf<Kind extends CallKind>(
  calls: readonly RecordedCall[],
  kind: Kind,
): Answered<Kind>[] {
  return callsOf(calls, kind).filter((call): call is Answered<Kind> => call.result !== undefined);
}

/** The last read of each caller's records, by the final process. */
export function readFinal(calls: readonly RecordedCall[]): ReadonlyMap<string, readonly OutboxEntry[]> {
  return new Map(answeredOf(calls, "records").map(({ input, result }) => [input.caller, result]));
}
