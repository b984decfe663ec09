import { DURATION_LIMITS } from "@calotype/core/stores";

/**
 * What a column contains: a string, a whole number, an amount of money as an exact decimal string, or a time in milliseconds since
 * 1970.
 */
export type ColumnType = "text" | "integer" | "money" | "time";

/** A table of a ledger, the same for each kind of ledger. */
export interface Table {
  readonly name: string;
  /** In the order of the values of a row. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /**
   * The columns by which the rows are read, one after the other. `sequence` is the order in which the database got the rows; it is not
   * a column of this list, because each database gives its own.
   */
  readonly key: readonly string[];
  /** The column with the id of the caller. Only a table that stays behind may have none. */
  readonly caller?: string;
  /**
   * True if the rows stay where they are when a single caller moves: the gateways of the source go on to deliver entries of the outbox,
   * and note requests that they refuse.
   */
  readonly staysBehind?: true;
}

const text = "text";
const integer = "integer";
const money = "money";
const time = "time";

const HISTOGRAM = Object.fromEntries(
  Array.from({ length: DURATION_LIMITS.length + 1 }, (_, at) => [`duration_${at}`, integer] as const),
);

const ALERT = {
  caller: text,
  period: text,
  threshold: integer,
  budget: money,
  settled: money,
  created_at: time,
} as const;

/**
 * Every table that is copied, in this order. What gives access comes last: a caller is known at the target when its money is there.
 * A test compares the columns with those of both databases, so a new column must be added here or to the list of that test.
 */
export const TABLES: readonly Table[] = [
  {
    name: "records",
    columns: {
      id: text,
      state: text,
      time,
      caller: text,
      model: text,
      channel: text,
      images: integer,
      charge: money,
      period: text,
      record: text,
      outcome: text,
      duration_ms: integer,
      tokens: integer,
      cost: money,
    },
    key: ["time", "id"],
    caller: "caller",
  },
  {
    // They are not computed again from the records, because the records of old hours may be gone.
    name: "hourly_totals",
    columns: {
      hour: time,
      caller: text,
      model: text,
      channel: text,
      requests: integer,
      refused: integer,
      failed: integer,
      unresolved: integer,
      released: integer,
      images: integer,
      charge: money,
      tokens: integer,
      duration_ms: integer,
      ...HISTOGRAM,
      costed: integer,
      cost: money,
      costed_charge: money,
    },
    key: ["hour", "caller", "model", "channel"],
    caller: "caller",
  },
  {
    name: "balances",
    columns: { caller: text, settled: money, held: money, budget: money, alerted: integer },
    key: ["caller"],
    caller: "caller",
  },
  {
    name: "period_balances",
    columns: { caller: text, period: text, settled: money, held: money, budget: money, alerted: integer },
    key: ["caller", "period"],
    caller: "caller",
  },
  {
    name: "caller_audit",
    columns: { time, made_by: text, action: text, caller: text, details: text },
    key: ["sequence"],
    caller: "caller",
  },
  {
    name: "refusals",
    columns: { id: text, caller: text, refusal: text },
    key: ["sequence"],
    caller: "caller",
    staysBehind: true,
  },
  {
    name: "disabled_webhooks",
    columns: { caller: text, endpoint: text },
    key: ["caller", "endpoint"],
    caller: "caller",
  },
  {
    name: "undelivered_records",
    columns: { id: text, state: text },
    key: ["sequence"],
    staysBehind: true,
  },
  {
    name: "undelivered_alerts",
    columns: ALERT,
    key: ["sequence"],
    caller: "caller",
    staysBehind: true,
  },
  {
    // Messages about tasks are not here, because tasks are not copied.
    name: "alert_messages",
    columns: { id: text, endpoint: text, attempts: integer, last_error: text, ...ALERT },
    key: ["sequence"],
    caller: "caller",
    staysBehind: true,
  },
  {
    name: "callers",
    columns: { id: text, settings: text, created_at: time, changed_at: time, revoked_at: time },
    key: ["id"],
    caller: "id",
  },
  {
    name: "caller_keys",
    columns: { hash: text, caller: text, place: integer, hint: text, created_at: time, ends_at: time },
    key: ["hash"],
    caller: "caller",
  },
];

/** Why a hold fails that {@link TargetTables.stop} refuses. In the log of its gateway. */
export const STOPPED_MESSAGE =
  "calotype-ledger refuses this hold: the ledger is being copied, or the caller was moved to another one.";

/** Stands for all callers where the id of a stopped caller is kept. No id is empty. */
export const ALL = "";

/** The tables that move with a caller. */
export const MOVED_TABLES: readonly Table[] = TABLES.filter(({ staysBehind }) => staysBehind !== true);

/** A value of a row: money and text are strings. */
export type Value = string | number | null;

/** The values of a row, in the order of the columns of its table. */
export type TableRow = readonly Value[];

/** Which rows: those of one caller, or all. */
export interface Scope {
  readonly caller?: string | undefined;
}

/** Where to go on in a table. */
export interface Place {
  /** The values of the key of the last row that was read. Absent at the beginning. */
  readonly after?: readonly Value[] | undefined;
  /** The number of rows before. */
  readonly rows: number;
}

/** Rows of a table, in the order of its key. */
export interface Page {
  readonly rows: readonly TableRow[];
  /** Where the next page begins; `undefined` after the last page. */
  readonly next: Place | undefined;
}

/** For each table how many rows it has, and the sum of each column with numbers. Equal contents have equal summaries. */
export type Summary = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What must end before a ledger can be copied. */
export interface OpenWork {
  /** Holds of requests in progress, or of processes that died and that no sweep has ended yet. */
  readonly holds: number;
  /** Tasks that have not ended. */
  readonly tasks: number;
  /** Messages about tasks that wait to be sent to endpoints that are not disabled. */
  readonly messages: number;
  /** Processes with a ledger object that have renewed their lease. */
  readonly processes: number;
}

/** A ledger as tables. */
export interface LedgerTables {
  /** The kind and the address without a password, for messages. */
  readonly description: string;
  /** The sums of the given tables. */
  summarize(tables: readonly Table[], scope: Scope): Promise<Summary>;
  countOpenWork(scope: Scope): Promise<OpenWork>;
  /** Whether {@link TargetTables.stop} was called for this scope, and not {@link TargetTables.start} after it. */
  isStopped(scope: Scope): Promise<boolean>;
  close(): Promise<void>;
}

/** A ledger from which rows are read. */
export interface SourceTables extends LedgerTables {
  read(table: Table, scope: Scope, place: Place): Promise<Page>;
  /** The number of changes of all callers. */
  readRevision(): Promise<number>;
}

/** A ledger into which rows are written. */
export interface TargetTables extends LedgerTables {
  /** Refuses new holds and tasks from now on, in each process. Waits for those that are being made. */
  stop(scope: Scope): Promise<void>;
  start(scope: Scope): Promise<void>;
  /** What the copy of this scope has noted last, see {@link TargetTables.write}. `undefined`: nothing was begun. */
  readProgress(scope: Scope): Promise<string | undefined>;
  /** Writes rows together with the progress of the copy, in one transaction. */
  write(table: Table, rows: readonly TableRow[], progress: Progress): Promise<void>;
  /** Ends a copy: makes the revision of the callers higher, and notes the progress, in one transaction. */
  finish(progress: Progress, sourceRevision: number): Promise<void>;
}

/** How far a copy is. */
export interface Progress extends Scope {
  readonly state: string;
}

/** A database in which a gateway may run while one of its callers moves. */
export interface LiveTables extends SourceTables, TargetTables {
  /** The same for all addresses of one ledger. */
  readIdentity(): Promise<string>;
  /**
   * Refuses new holds and tasks of a caller, as {@link TargetTables.stop} does, and forgets the progress of the copy by which it came: that
   * copy must not be taken for the last one later.
   */
  leave(caller: string): Promise<void>;
  /** Notes the progress of a copy that has written nothing yet. */
  note(progress: Progress): Promise<void>;
  /** Removes the rows of a caller that would move, and the progress of its copy. */
  remove(caller: string): Promise<void>;
}
