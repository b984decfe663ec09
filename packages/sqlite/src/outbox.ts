import type { DatabaseSync } from "node:sqlite";
import type { LeaseOptions, Outbox, OutboxEntries, OutboxKind, UsageRecord } from "@calotype/core/stores";
import { createEntryTable, type EntryTable } from "./outbox-table.js";

/** What an outbox works with. */
export interface OutboxContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Runs a query as soon as the database is not locked. */
  readonly read: <T>(query: () => T) => Promise<T>;
  /** Runs an operation inside a transaction. */
  readonly write: <T>(operation: () => T) => Promise<T>;
}

/**
 * The outbox of a ledger, its table for transactions that write entries, and what tells listeners of entries that were added; call
 * that after each commit.
 */
export function createOutbox(
  database: DatabaseSync,
  { now, read, write }: OutboxContext,
): { readonly outbox: Outbox; readonly entries: EntryTable; readonly tellAdded: () => void } {
  const listeners = new Set<Parameters<Outbox["watch"]>[0]>();
  const added = new Set<"alert" | "message">();
  const entries = createEntryTable(database, now, (kind) => added.add(kind));

  const leaseRecords = async (
    lease: "leaseRecords" | "leaseInOrder",
    options: LeaseOptions,
  ): Promise<readonly UsageRecord[]> => {
    const { records, failures } = await write(() => entries[lease](options));
    for (const failure of failures) options.onUnreadable?.(failure);
    return records;
  };

  const leases: { [Kind in OutboxKind]: (options: LeaseOptions) => Promise<readonly OutboxEntries[Kind][]> } =
    {
      record: async (options) => await leaseRecords("leaseRecords", options),
      // A read first, so that it costs no transaction if nothing is due.
      alert: async (options) =>
        (await read(() => entries.hasAlert())) ? await write(() => entries.leaseAlerts(options)) : [],
      message: async (options) =>
        (await read(() => entries.hasMessage(options.except)))
          ? await write(() => entries.leaseMessages(options))
          : [],
    };

  const outbox: Outbox = {
    lease: async (kind, options) => await leases[kind](options),
    leaseInOrder: async (options) =>
      (await read(() => entries.hasRecord())) ? await leaseRecords("leaseInOrder", options) : [],
    done: async (_kind, ended) =>
      await write(() => {
        for (const entry of ended) {
          if ("state" in entry) entries.endRecord(entry);
          else entries.endAlert(entry);
        }
      }),
    finish: async (id, attempt) => await write(() => entries.finish(id, attempt)),
    addMessages: async (alert, messages) => await write(() => entries.addAlertMessages(alert, messages)),
    listAlerts: async (filter, limit) => await read(() => entries.listAlerts(filter, limit)),
    list: async (filter, limit) => await read(() => entries.list(filter, limit)),
    replay: async (filter) => await write(() => entries.replay(filter)),
    setDisabled: async (caller, endpoint, isDisabled) =>
      await write(() => entries.setDisabled({ caller, endpoint }, isDisabled)),
    listDisabled: async () => await read(() => entries.listDisabled()),
    watch: (listener) => {
      // A function of its own, so that a listener may watch twice.
      const told = (kind: "alert" | "message"): void => listener(kind);
      listeners.add(told);
      return () => void listeners.delete(told);
    },
  };
  const tellAdded = (): void => {
    const kinds = [...added];
    added.clear();
    for (const kind of kinds) for (const listener of listeners) listener(kind);
  };
  return { outbox, entries, tellAdded };
}
