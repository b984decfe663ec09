import {
  type AllTasks,
  type AllTasksQuery,
  checkTask,
  checkTaskEnd,
  type HoldRecord,
  type NewTask,
  readFacts,
  type SettledRecord,
  type TakenTask,
  type TakeOptions,
  type Task,
  type TaskEnd,
  type TaskPage,
  type TaskSubmission,
  toInstant,
} from "@calotype/core/stores";
import { type Database, type Row, readNumber, readText, type SqlQuery } from "./database.js";
import type { Owner } from "./owner.js";
import type { Periods } from "./periods.js";
import { readFlag, readOptional, readTask, taskColumns, taskSummaryColumns } from "./task-rows.js";
import { writeRecord } from "./writes.js";

/** A task and its hold as they are written. A copy, so that the caller cannot change it before it is written. */
export interface SubmissionEntry {
  readonly id: string;
  readonly task: NewTask;
  readonly hold: HoldRecord;
  readonly holdText: string;
  /** How often the entry was sent. */
  tries: number;
}

/** The end of a task as it is written. */
export interface EndEntry extends TaskEnd {
  readonly instant: number | undefined;
  readonly recordText: string | undefined;
}

/** Identifies a call of this ledger object that changes a task. If a statement is sent twice, it counts once. */
export interface StepEntry {
  readonly id: string;
  readonly step: number;
}

/** A task that a call ended. */
export interface EndedTask {
  readonly id: string;
  /** Whether there is a message about the end. */
  readonly hasMessage: boolean;
}

/** What became of a cancellation. */
interface Cancellation {
  readonly task: Task;
  /** Only if this call cancelled the task. */
  readonly input?: string;
  readonly hasMessage: boolean;
}

/** The statements of tasks. Each is one call of a function of the schema, and so one round trip and one transaction. */
export interface TaskStatements {
  /**
   * The outcomes are in the order of the entries. No two entries have the same id, request id or key.
   *
   * @param onUnsure called before the entries are sent again: the first statement may still arrive
   */
  submit(entries: readonly SubmissionEntry[], onUnsure: () => void): Promise<readonly TaskSubmission[]>;
  take(options: TakeOptions): Promise<readonly TakenTask[]>;
  /** Returns for each entry whether the task may be sent. */
  markSent(entries: readonly StepEntry[]): Promise<readonly boolean[]>;
  /** Returns whether tasks are in the queue again. */
  putBack(ids: readonly string[]): Promise<boolean>;
  keepUpstream(entry: StepEntry, upstream: string): Promise<void>;
  /** Returns whether the images were added. */
  addImages(entry: StepEntry, images: readonly string[]): Promise<boolean>;
  /** Returns the tasks that this call ended. */
  end(entries: readonly EndEntry[]): Promise<readonly EndedTask[]>;
  /** @param isUnsure whether a late statement may still store the task: it must not do so any more */
  cancel(caller: string, id: string, isUnsure: boolean): Promise<Cancellation | undefined>;
  find(caller: string, id: string): Promise<Task | undefined>;
  list(caller: string, page: TaskPage): Promise<readonly Task[]>;
  listAll(query: AllTasksQuery): Promise<AllTasks>;
}

/** What the statements need. */
export interface TaskStatementsOptions {
  readonly schema: string;
  readonly owner: Owner;
  readonly steps: Steps;
  readonly periods: Periods;
}

/** The statements in a schema. */
export function createTaskStatements(
  database: Database,
  { schema, owner, steps, periods }: TaskStatementsOptions,
): TaskStatements {
  return {
    submit: async (entries, onUnsure) => {
      const rows = await periods.run(() =>
        database.call(({ number, msLeft }) => {
          if (number > 0) onUnsure();
          for (const entry of entries) entry.tries++;
          return toSubmitQuery(entries, msLeft);
        }),
      );
      const byPlace = new Map(rows.map((row) => [readNumber(row, "place"), row]));
      return entries.map((entry, at) => toSubmission(entry, byPlace.get(at + 1)));
    },
    take: async ({ limit, except }) => {
      const call = steps.startTake();
      const rows = await call.run(() =>
        database.call(() => ({
          sql: `SELECT ${taskColumns("t")}, t.input, t.upstream
            FROM ${schema}.take_sent_and_waiting_tasks($1, $2, $3, $4, $5, $6, $7) t`,
          values: [limit, except, call.next(), steps.unsure(), owner.id, owner.leaseMs, owner.now()],
        })),
      );
      return rows.map(readTakenTask);
    },
    markSent: async (entries) => {
      const rows = await database.call(() => ({
        sql: `SELECT sent FROM ${schema}.mark_sent($1, $2, $3) AS sent`,
        values: [entries.map(({ id }) => id), entries.map(({ step }) => step), owner.id],
      }));
      const sent = new Set(rows.map((row) => readText(row, "sent")));
      return entries.map(({ id }) => sent.has(id));
    },
    putBack: async (ids) => {
      const [row] = await database.call(() => ({
        sql: `SELECT ${schema}.put_back($1, $2) AS returned`,
        values: [ids, owner.id],
      }));
      return readNumber(row, "returned") > 0;
    },
    keepUpstream: async ({ id, step }, upstream) => {
      await database.call(() => ({
        sql: `SELECT ${schema}.keep_upstream($1, $2, $3, $4)`,
        values: [id, upstream, step, owner.id],
      }));
    },
    addImages: async ({ id, step }, images) => {
      const [row] = await database.call(() => ({
        sql: `SELECT ${schema}.add_images($1, $2, $3, $4) AS is_added`,
        values: [id, images, step, owner.id],
      }));
      return readFlag(row, "is_added");
    },
    end: async (entries) => {
      const rows = await database.call(() => toEndQuery(entries));
      return rows.map(readEndedTask);
    },
    cancel: async (caller, id, isUnsure) => {
      const [row] = await database.call(() => ({
        sql: `SELECT c.cancelled_input, c.has_message, ${taskColumns("(c.task)")}
          FROM ${schema}.cancel_task($1, $2, $3, $4, $5) c`,
        values: [caller, id, isUnsure, owner.id, owner.now()],
      }));
      if (row === undefined) return undefined;
      const input = readOptional(row, "cancelled_input");
      const task = readTask(row);
      return input === undefined
        ? { task, hasMessage: false }
        : { task, input, hasMessage: readFlag(row, "has_message") };
    },
    find: async (caller, id) => {
      const [row] = await database.call(() => ({
        sql: `SELECT ${taskColumns("t")} FROM ${schema}.find_task($1, $2) t`,
        values: [caller, id],
      }));
      return row === undefined ? undefined : readTask(row);
    },
    list: async (caller, { limit, after }) => {
      const rows = await database.call(() => ({
        sql: `SELECT ${taskSummaryColumns("t")} FROM ${schema}.list_tasks($1, $2, $3) t`,
        values: [caller, limit, after ?? null],
      }));
      return rows.map(readTask);
    },
    listAll: async ({ caller, statuses, limit }) => {
      const rows = await database.call(() => ({
        sql: `SELECT ${taskSummaryColumns("t")} FROM ${schema}.tasks t
          WHERE ($1::text IS NULL OR t.caller = $1) AND ($2::text[] IS NULL OR t.status = ANY ($2))
          ORDER BY t.sequence DESC LIMIT $3`,
        values: [caller ?? null, statuses ?? null, limit],
      }));
      const counted = await database.call(() => ({
        sql: `SELECT status, count(*)::text AS tasks FROM ${schema}.tasks WHERE ended_at IS NULL GROUP BY status`,
        values: [],
      }));
      const counts = new Map(counted.map((row) => [readText(row, "status"), readNumber(row, "tasks")]));
      return {
        tasks: rows.map(readTask),
        queued: counts.get("queued") ?? 0,
        inProgress: counts.get("in_progress") ?? 0,
      };
    },
  };

  function toSubmitQuery(entries: readonly SubmissionEntry[], patienceMs: number): SqlQuery {
    const tasks = entries.map(({ task }) => task);
    const holds = entries.map(({ hold }) => hold);
    return {
      sql: `SELECT s.place, s.outcome, s.settled_then, s.held_then, ${taskColumns("(s.known)")}
        FROM ${schema}.submit_tasks_within_shares($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
          $18, $19, $20) s`,
      values: [
        tasks.map(({ id }) => id),
        tasks.map(({ requestId }) => requestId),
        tasks.map(({ caller }) => caller),
        tasks.map(({ model }) => model),
        tasks.map(({ operation }) => operation),
        tasks.map(({ input }) => input),
        tasks.map(({ repeat }) => repeat?.key ?? null),
        tasks.map(({ repeat }) => repeat?.fingerprint ?? null),
        tasks.map(({ webhooks }) => JSON.stringify(webhooks)),
        tasks.map(({ ttlMs }) => ttlMs),
        tasks.map(({ keepMs }) => keepMs),
        holds.map(({ amount }) => amount),
        holds.map(({ budget }) => budget ?? null),
        entries.map(({ holdText, hold }) => periods.addTo(holdText, hold.period)),
        tasks.map(({ room }) => room?.tasks ?? null),
        tasks.map(({ room }) => room?.bytes ?? null),
        owner.id,
        owner.leaseMs,
        owner.now(),
        patienceMs,
      ],
    };
  }

  function toEndQuery(entries: readonly EndEntry[]): SqlQuery {
    const records = entries.flatMap(({ record, instant, recordText }) =>
      record === undefined ? [] : [{ record, instant, recordText }],
    );
    const column = (of: (record: SettledRecord) => unknown): unknown[] =>
      records.map(({ record }) => of(record));
    const facts = records.map(({ record }) => readFacts(record));
    return {
      sql: `SELECT e.id, e.has_message
        FROM ${schema}.end_tasks($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
          $18) e`,
      values: [
        entries.map(({ id }) => id),
        entries.map(({ status }) => status),
        entries.map(({ result }) => result ?? null),
        entries.map(({ error }) => error ?? null),
        entries.map(({ record }) => record !== undefined),
        column(({ id }) => id),
        records.map(({ instant }) => instant),
        column(({ caller }) => caller),
        column(({ model }) => model),
        column(({ channel }) => channel),
        column(({ images }) => images),
        column(({ charge }) => charge),
        records.map(({ recordText }) => recordText),
        owner.id,
        owner.now(),
        facts.map(({ outcome }) => outcome),
        facts.map(({ durationMs }) => durationMs),
        facts.map(({ tokens }) => tokens),
      ],
    };
  }
}

/** Throws a `RangeError` if a store cannot keep the task or its hold. */
export function toSubmissionEntry(task: NewTask, hold: HoldRecord): SubmissionEntry {
  checkTask(task, hold);
  const { repeat, webhooks } = task;
  return {
    id: task.id,
    task: { ...task, repeat: repeat && { ...repeat }, webhooks: [...new Set(webhooks)] },
    hold: { ...hold },
    holdText: JSON.stringify(hold),
    tries: 0,
  };
}

/** Throws a `RangeError` if a store cannot keep the end. */
export function toEndEntry(end: TaskEnd): EndEntry {
  checkTaskEnd(end);
  const { record } = end;
  return {
    ...end,
    record: record && { ...record },
    instant: record && toInstant(record.time, "time"),
    recordText: record && writeRecord(record),
  };
}

function readTakenTask(row: Row): TakenTask {
  const upstream = readOptional(row, "upstream");
  return { ...readTask(row), input: readText(row, "input"), ...(upstream !== undefined && { upstream }) };
}

export const readEndedTask = (row: Row): EndedTask => ({
  id: readText(row, "id"),
  hasMessage: readFlag(row, "has_message"),
});

function toSubmission({ id, tries }: SubmissionEntry, row: Row): TaskSubmission {
  const kind = readText(row, "outcome");
  if (kind === "conflict") return { kind };
  if (kind === "full" || kind === "share_used") return { kind: "full", isShareUsed: kind === "share_used" };
  if (kind === "refused") {
    return {
      kind,
      balance: { settled: readText(row, "settled_then"), held: readText(row, "held_then") },
    };
  }
  const task = readTask(row);
  // An earlier try may have stored this task.
  const isOwn = kind === "submitted" || (tries > 1 && task.id === id);
  return { kind: isOwn ? "submitted" : "repeated", task };
}

/** Numbers the calls of a ledger object that change tasks. */
export interface Steps {
  next(): number;
  startTake(): TakeCall;
  /** The call failed, but its statement may have reached the server, or may still reach it. */
  addUnsure(step: number): void;
  /** The numbers of such calls of `take` and `markSent`. The tasks that they changed go back to the queue. */
  unsure(): number[];
}

/** A call of `take`. */
interface TakeCall {
  /** Returns the number of the next try. The tries before it are unsure from now on. */
  next(): number;
  /** Runs the call. If it fails, its tries are unsure. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** The maximum number of unsure calls; beyond it the oldest is forgotten. */
const MOST_UNSURE = 100;

/** Keeps the numbers in the memory of this process. */
export function createSteps(): Steps {
  let latest = 0;
  const unsure = new Set<number>();
  const next = (): number => ++latest;
  const addUnsure = (step: number): void => {
    const [oldest] = unsure;
    if (unsure.size >= MOST_UNSURE && oldest !== undefined) unsure.delete(oldest);
    unsure.add(step);
  };
  return {
    next,
    addUnsure,
    unsure: () => [...unsure],
    startTake: () => {
      let step: number | undefined;
      return {
        next: () => {
          if (step !== undefined) addUnsure(step);
          step = next();
          return step;
        },
        run: async (work) => {
          try {
            return await work();
          } catch (error) {
            if (step !== undefined) addUnsure(step);
            throw error;
          }
        },
      };
    },
  };
}
