import { createSortedList, type ListItem } from "./sorted-list.js";
import type { UsageRecord } from "./usage-record.js";

/** The newest records, by id, and which of them were delivered. */
export interface BoundedRecords {
  find(id: string): UsageRecord | undefined;
  /** Keeps a record that is to be delivered, in the place of an older version where there is one. */
  keep(record: UsageRecord): void;
  /** Those that are to be delivered and not out on a lease, the one first kept first. */
  take(limit: number, leaseMs: number): UsageRecord[];
  markDelivered(record: UsageRecord): void;
  all(): UsageRecord[];
}

/** One version of a record. It is in exactly one of the lists below. */
interface Entry extends ListItem<Entry> {
  readonly record: UsageRecord;
  /** Counts up with every version that is kept. */
  readonly sequence: number;
  leasedUntil: number;
}

const isOlder = (one: Entry, other: Entry): boolean => one.sequence < other.sequence;

const isFreeSooner = (one: Entry, other: Entry): boolean =>
  one.leasedUntil === other.leasedUntil ? isOlder(one, other) : one.leasedUntil < other.leasedUntil;

/** At most `maxRecords` records. What is done for each of them takes the same time however many there are. */
export function createBoundedRecords(now: () => number, maxRecords: number): BoundedRecords {
  const entries = new Map<string, Entry>();
  const waiting = createSortedList<Entry>(isOlder);
  const leased = createSortedList<Entry>(isFreeSooner);
  const delivered = createSortedList<Entry>(isOlder);
  let sequence = 0;

  function forget(entry: Entry): void {
    entries.delete(entry.record.id);
    entry.list?.delete(entry);
  }

  /** What was delivered is safe elsewhere, and what is leased is about to be: what waits goes last. */
  function dropOne(): void {
    const entry = delivered.first() ?? leased.first() ?? waiting.first();
    if (entry !== undefined) forget(entry);
  }

  function endLeases(): void {
    for (let entry = leased.first(); entry && entry.leasedUntil <= now(); entry = leased.first()) {
      leased.delete(entry);
      waiting.add(entry);
    }
  }

  return {
    find: (id) => entries.get(id)?.record,
    keep(record) {
      const older = entries.get(record.id);
      if (older !== undefined) forget(older);
      if (entries.size >= maxRecords) dropOne();
      const entry: Entry = {
        record,
        sequence: sequence++,
        leasedUntil: 0,
        previous: undefined,
        next: undefined,
        list: undefined,
      };
      entries.set(record.id, entry);
      waiting.add(entry);
    },
    take(limit, leaseMs) {
      endLeases();
      const taken: UsageRecord[] = [];
      for (let entry = waiting.first(); entry && taken.length < limit; entry = waiting.first()) {
        waiting.delete(entry);
        entry.leasedUntil = now() + leaseMs;
        leased.add(entry);
        taken.push(entry.record);
      }
      return taken;
    },
    markDelivered(record) {
      const entry = entries.get(record.id);
      // An id has at most one version of each state.
      if (entry === undefined || entry.record.state !== record.state) return;
      entry.list?.delete(entry);
      delivered.add(entry);
    },
    all: () => Array.from(entries.values(), (entry) => entry.record),
  };
}
