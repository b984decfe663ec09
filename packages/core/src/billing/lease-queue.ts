import { createLinkedList, type Link, type LinkedList } from "../util/collections.js";

/** A value in one of the lists of a {@link LeaseQueue}. A class, because V8 may give literals long-lived memory. */
export class QueueEntry<T> {
  readonly value: T;
  /** The position of the value in the order in which values were added. */
  readonly sequence: number;
  leasedUntil = 0;
  #list: LinkedList<QueueEntry<T>>;
  readonly #link: Link<QueueEntry<T>>;

  constructor(value: T, sequence: number, list: LinkedList<QueueEntry<T>>) {
    this.value = value;
    this.sequence = sequence;
    this.#list = list;
    this.#link = list.add(this);
  }

  /** Moves the entry to the end of a list; out of all lists without one. */
  moveTo(list: LinkedList<QueueEntry<T>> | undefined): void {
    this.#list.delete(this.#link);
    if (list === undefined) return;
    this.#list = list;
    list.add(this, this.#link);
  }
}

/** The entries of an outbox in memory, of one kind. */
export interface LeaseQueue<T> extends Iterable<T> {
  /** The entry that is the first to be dropped: one that was delivered, or is leased, or waits. */
  readonly first: QueueEntry<T> | undefined;
  add(value: T): QueueEntry<T>;
  /**
   * Leases values that are not delivered and not leased, in the order in which they were added.
   *
   * @param ownerOf the owner of a value. Values of an owner that has a leased value are left out. Absent: none are
   */
  take(limit: number, leaseMs: number, ownerOf?: (value: T) => string): T[];
  /** Keeps an entry as delivered. */
  markDelivered(entry: QueueEntry<T>): void;
}

/**
 * Each entry is in one of three lists, in the order in which it was added to the list. All waiting entries were added
 * after all leased ones, of their owner at least, because the oldest are leased first.
 */
export function createLeaseQueue<T>(now: () => number): LeaseQueue<T> {
  const waiting = createLinkedList<QueueEntry<T>>();
  const leased = createLinkedList<QueueEntry<T>>();
  const delivered = createLinkedList<QueueEntry<T>>();
  let sequence = 0;
  /** No lease ends before this time, so that most calls of `take` need not look for leases that are over. */
  let firstLeaseEnd = Infinity;

  /** The entries whose lease is over, in the order in which they were added. */
  function findExpired(instant: number): QueueEntry<T>[] {
    if (instant < firstLeaseEnd) return [];
    const expired: QueueEntry<T>[] = [];
    firstLeaseEnd = Infinity;
    for (const entry of leased) {
      firstLeaseEnd = Math.min(firstLeaseEnd, entry.leasedUntil);
      if (entry.leasedUntil <= instant) expired.push(entry);
    }
    return expired.toSorted((one, other) => one.sequence - other.sequence);
  }

  return {
    get first() {
      return delivered.first ?? leased.first ?? waiting.first;
    },
    add: (value) => new QueueEntry(value, sequence++, waiting),
    take(limit, leaseMs, ownerOf) {
      const instant = now();
      const owners = new Set<string>();
      if (ownerOf !== undefined) {
        for (const { value, leasedUntil } of leased) if (leasedUntil > instant) owners.add(ownerOf(value));
      }
      const taken: QueueEntry<T>[] = [];
      for (const entries of [findExpired(instant), waiting]) {
        for (const entry of entries) {
          if (taken.length >= limit) break;
          if (ownerOf === undefined || !owners.has(ownerOf(entry.value))) taken.push(entry);
        }
      }
      const leasedUntil = instant + leaseMs;
      firstLeaseEnd = Math.min(firstLeaseEnd, leasedUntil);
      for (const entry of taken) {
        entry.moveTo(leased);
        entry.leasedUntil = leasedUntil;
      }
      return taken.map(({ value }) => value);
    },
    markDelivered: (entry) => entry.moveTo(delivered),
    *[Symbol.iterator]() {
      for (const list of [waiting, leased, delivered]) for (const { value } of list) yield value;
    },
  };
}
