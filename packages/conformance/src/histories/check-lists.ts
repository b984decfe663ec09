import { describe } from "./check-accounts.ts";
import type { Checked } from "./checked.ts";
import {
  answeredOf,
  type CallOf,
  callsOf,
  type History,
  type OutboxEntry,
  type RecordedCall,
} from "./history.ts";
import { createPrecedence, type Happening, type Precedence } from "./precedence.ts";

/*
 * The list-append test. The list of a caller has its records in the order in which the outbox stores them: each settlement, and each
 * hold that a sweep ends, appends one. `list` reads the lists of all callers, and `records` the elements of one list without their
 * order. Elements are unique, so a read shows which appends came before it (Kingsbury and Alvaro, "Elle", 2020). This gives a graph of
 * which call comes before which. There is a serial order if it has no cycle.
 *
 * A record that a later state replaces leaves its place. Such elements are left out here: `checkAccounts` checks them.
 */

/** Checks the lists of all callers. The last `list` of the history has all records. */
export function checkLists({ calls, losesReplies }: History): Checked {
  const reads = answeredOf(calls, "list");
  const final = reads.at(-1)?.result;
  if (final === undefined) throw new TypeError("A history ends with a read of all lists.");
  const appends = new Map(
    final.flatMap((entry) => {
      const append = findAppend(entry, calls, losesReplies);
      return append === undefined ? [] : [[nameOf(entry), append] as const];
    }),
  );
  const lists: Lists = { appends, byCaller: Map.groupBy(final, ({ caller }) => caller), final };
  const problems = [
    ...final
      .filter((entry) => !appends.has(nameOf(entry)))
      .map((entry) => `A record that no call has stored: ${nameOf(entry)}`),
    ...findLost(calls, final),
    ...[...reads, ...answeredOf(calls, "records")].flatMap((read) => findWrongEntries(read, final)),
    ...reads.flatMap((read) => findWrongOrder(read, lists)),
  ];
  return { problems: problems.length > 0 ? problems : findCycles(calls, lists), undecided: [] };
}

/** The elements of all lists at the end. */
interface Lists {
  readonly final: readonly OutboxEntry[];
  readonly byCaller: ReadonlyMap<string, readonly OutboxEntry[]>;
  /** By the names of the elements. */
  readonly appends: ReadonlyMap<string, Happening>;
}

/** The name of an element. */
const nameOf = ({ id, state }: OutboxEntry): string => `${id} ${state}`;

/** When an element was appended. `undefined` if no call can have appended it. */
function findAppend(
  entry: OutboxEntry,
  calls: readonly RecordedCall[],
  losesReplies: boolean,
): Happening | undefined {
  const label = `the append of ${nameOf(entry)}`;
  if (entry.state === "settled") {
    const all = callsOf(calls, "settle").filter(({ input }) => input.id === entry.id);
    const possible = all.filter(({ input }) => BigInt(input.charge) === BigInt(entry.charge));
    // Another settlement that was answered found the record, or made it.
    return toHappening(label, possible, Math.min(...all.map(({ end }) => end)));
  }
  if (entry.state === "released") {
    const releases = callsOf(calls, "release").filter(({ input }) => input.id === entry.id);
    return toHappening(label, releases, Number.POSITIVE_INFINITY);
  }
  const sweeps = answeredOf(calls, "sweep").filter(({ result }) => result.some(({ id }) => id === entry.id));
  if (sweeps.length > 0) return toHappening(label, sweeps, Math.min(...sweeps.map(({ end }) => end)));
  const unknown = callsOf(calls, "sweep").filter(({ result }) => losesReplies || result === undefined);
  return toHappening(label, unknown, Number.POSITIVE_INFINITY);
}

function toHappening(label: string, possible: readonly RecordedCall[], end: number): Happening | undefined {
  if (possible.length === 0) return undefined;
  return { label, begin: Math.min(...possible.map(({ begin }) => begin)), end };
}

/** Appends that were acknowledged, and are not there at the end. */
function findLost(calls: readonly RecordedCall[], final: readonly OutboxEntry[]): string[] {
  const settled = new Set(final.filter(({ state }) => state === "settled").map(({ id }) => id));
  const ids = new Set(final.map(({ id }) => id));
  return [
    ...answeredOf(calls, "settle")
      .filter(({ input }) => !settled.has(input.id))
      .map((call) => `An acknowledged settlement is lost: ${describe(call)}`),
    ...answeredOf(calls, "sweep")
      .flatMap(({ result }) => result)
      .filter(({ id }) => !ids.has(id))
      .map((entry) => `A record that a sweep returned is lost: ${nameOf(entry)}`),
  ];
}

/** A later state replaces an earlier one, never the reverse. */
const STATES: readonly OutboxEntry["state"][] = ["unresolved", "released", "settled"];

/** Elements that a read saw twice, or that are gone at the end without a later state. */
function findWrongEntries(read: CallOf<"list" | "records">, final: readonly OutboxEntry[]): string[] {
  const last = new Map(final.map((entry) => [entry.id, entry]));
  const entries = read.result ?? [];
  const ids = entries.map(({ id }) => id);
  const doubled = new Set(ids.filter((id, at) => ids.indexOf(id) !== at));
  return [
    ...Array.from(doubled, (id) => `A read saw two records of one id: ${id} by ${read.process}`),
    ...entries
      .filter((entry) => {
        const known = last.get(entry.id);
        if (known === undefined) return true;
        const isReplaced = STATES.indexOf(known.state) > STATES.indexOf(entry.state);
        return !isReplaced && (known.state !== entry.state || known.charge !== entry.charge);
      })
      .map((entry) => `A read saw a record that is gone at the end: ${nameOf(entry)} by ${read.process}`),
  ];
}

/** Whether each list of a read is the beginning of the list at the end. */
function findWrongOrder(read: CallOf<"list">, lists: Lists): string[] {
  return Array.from(lists.byCaller, ([caller, list]) => {
    const names = toPrefix(read, caller, lists).map(nameOf);
    const right = list.slice(0, names.length).map(nameOf);
    return names.every((name, at) => name === right[at])
      ? []
      : [
          `A list is in another order at the end: ${caller}: ${names.join(", ")}\nat the end ${right.join(", ")}`,
        ];
  }).flat();
}

/** The elements of a caller's list that a read saw, without those that are replaced at the end. */
function toPrefix(
  { result = [] }: CallOf<"list" | "records">,
  caller: string,
  { appends }: Lists,
): OutboxEntry[] {
  return result.filter((entry) => entry.caller === caller && appends.has(nameOf(entry)));
}

function findCycles(calls: readonly RecordedCall[], lists: Lists): readonly string[] {
  const precedence = createPrecedence();
  const appendOf = (entry: OutboxEntry): Happening => {
    const append = lists.appends.get(nameOf(entry));
    if (append === undefined) throw new TypeError("Each element at the end has an append.");
    return append;
  };
  for (const list of lists.byCaller.values()) {
    for (const [at, entry] of list.entries()) {
      const next = list[at + 1];
      if (next !== undefined) precedence.add(appendOf(entry), appendOf(next), "is followed in its list by");
    }
  }
  for (const read of answeredOf(calls, "list")) {
    const happening = { ...read, label: `${read.kind} by ${read.process}` };
    for (const [caller, list] of lists.byCaller) {
      addRead(precedence, happening, { list, seen: toPrefix(read, caller, lists), appendOf });
    }
  }
  for (const read of answeredOf(calls, "records")) {
    const happening = { ...read, label: `${read.kind} by ${read.process} of ${read.input.caller}` };
    const list = lists.byCaller.get(read.input.caller) ?? [];
    addRead(precedence, happening, { list, seen: toPrefix(read, read.input.caller, lists), appendOf });
  }
  return precedence.findCycles();
}

/** A read comes after the appends that it saw, and before the others. */
function addRead(
  precedence: Precedence,
  read: Happening,
  {
    list,
    seen,
    appendOf,
  }: {
    list: readonly OutboxEntry[];
    seen: readonly OutboxEntry[];
    appendOf: (entry: OutboxEntry) => Happening;
  },
): void {
  const names = new Set(seen.map(nameOf));
  for (const entry of list) {
    if (names.has(nameOf(entry))) precedence.add(appendOf(entry), read, "was seen by");
    else precedence.add(read, appendOf(entry), "did not see");
  }
}
