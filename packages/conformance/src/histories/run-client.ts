import { setTimeout as sleep } from "node:timers/promises";
import type { UsageRecord } from "@calotype/core/billing";
import type { BudgetLedger, CallerLedger, LostPolicy, OutboxLedger } from "@calotype/core/stores";
import { readRecords } from "../ledger-suite/read-ledger.ts";
import { holdOf, recordOf } from "../postgres/entries.ts";
import { type ClientPlan, createDrawer } from "./draw-operation.ts";
import type { CallKind, Operation, OutboxEntry, RecordedCall, ResultOf } from "./history.ts";

/** What a ledger returns. */
type CallResult = ResultOf<CallKind>;

/** A ledger with all that the clients use. */
export type ClientLedger = CallerLedger & BudgetLedger & OutboxLedger;

/** A line of what a client did. The lines of a process that is killed end at any place. */
export type Line =
  | ({ readonly number: string; readonly process: string; readonly begin: number } & Operation)
  | { readonly number: string; readonly end: number; readonly result: CallResult }
  | { readonly number: string; readonly rejectedAt: number; readonly error: string };

/** Nanoseconds since the machine has started. All processes share this clock, and nothing moves it. */
export const readClock = (): number => Number(process.hrtime.bigint());

/** Makes calls of a ledger and notes them. */
export interface Recorder {
  readonly ledger: ClientLedger;
  /** Its name in the history. */
  readonly process: string;
  readonly onLost: LostPolicy;
  readonly note: (line: Line) => void;
}

/** Runs the steps of a client, one after the other. */
export async function runClient(
  recorder: Recorder,
  plan: ClientPlan,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const drawer = createDrawer(plan, from);
  for (let step = from; step < to; step++) {
    const operation = drawer.next(step);
    drawer.learn(operation, await makeCall(recorder, operation));
    const pauseMs = drawer.drawPauseMs();
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

let calls = 0;

/** Makes a call and notes it. Resolves to `undefined` if it rejected. */
export async function makeCall(
  { ledger, process: name, onLost, note }: Recorder,
  operation: Operation,
): Promise<CallResult | undefined> {
  const number = `${name} ${calls++}`;
  note({ number, process: name, begin: readClock(), ...operation });
  try {
    const result = await perform(ledger, operation, onLost);
    note({ number, end: readClock(), result });
    return result;
  } catch (error) {
    note({ number, rejectedAt: readClock(), error: String(error) });
    return undefined;
  }
}

/** Says that SQLite has written nothing. A process that is stopped while it has the lock keeps the others from writing. */
const NOT_WRITTEN = /keeps the ledger's file locked/;

/** Puts the lines of all processes together. */
export function toCalls(lines: readonly Line[]): RecordedCall[] {
  const ends = new Map(lines.flatMap((line) => ("begin" in line ? [] : [[line.number, line]])));
  return lines
    .flatMap((line): RecordedCall[] => {
      if (!("begin" in line)) return [];
      const { number, ...call } = line;
      const end = ends.get(number);
      if (end === undefined) return [{ ...call, end: Number.POSITIVE_INFINITY }];
      if ("rejectedAt" in end && NOT_WRITTEN.test(end.error)) return [];
      if ("rejectedAt" in end)
        return [{ ...call, end: Number.POSITIVE_INFINITY, rejectedAt: end.rejectedAt }];
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the result is that of the operation, see makeCall
      return [{ ...call, end: end.end, result: end.result } as RecordedCall];
    })
    .toSorted((one, other) => one.begin - other.begin);
}

async function perform(ledger: ClientLedger, operation: Operation, onLost: LostPolicy): Promise<CallResult> {
  const { kind, input } = operation;
  switch (kind) {
    case "hold": {
      const result = await ledger.hold(holdOf(input));
      return result.ok ? { isGranted: true } : { isGranted: false, balance: result.balance };
    }
    case "settle": {
      const result = await ledger.settle(recordOf(input));
      return { isLate: result?.isLate ?? false };
    }
    case "release":
      await ledger.release(input.id);
      return null;
    case "sweep":
      return (await ledger.sweep({ onLost })).map(toEntry);
    case "balance":
      return await ledger.balance(input.caller);
    case "records":
      return (await readRecords(ledger, { caller: input.caller })).map(toEntry);
    case "list":
      return (await ledger.outbox.leaseInOrder({ limit: 10_000, leaseMs: 0 })).map(toEntry);
    case "changeBudget": {
      const changed = await ledger.callers.change(input.caller, (caller) => ({
        caller: { ...caller, settings: String(Number(caller.settings) + input.difference) },
        audit: { by: "test", action: "change", details: "" },
      }));
      return Number(changed?.settings);
    }
    case "readBudget":
      return Number((await ledger.callers.find(input.caller))?.settings);
  }
}

function toEntry(record: UsageRecord): OutboxEntry {
  const { id, caller, state, charge } = record;
  return {
    id,
    caller,
    state,
    charge: charge ?? "0",
    isLate: record.state === "settled" && record.late === true,
  };
}
