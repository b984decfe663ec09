import type { DatabaseSync } from "node:sqlite";
import type { TakenTask, TakeOptions } from "@calotype/core/stores";
import type { Owner } from "./owner.js";
import { type Row, readNumber, readText } from "./read-column.js";
import { readTask, TASK_COLUMNS } from "./task-rows.js";

/** The tasks that wait for a worker. All but `isEmpty` runs inside a transaction. */
export interface TaskQueue {
  /** Whether the queue has no task of another caller than these. Only reads. */
  isEmpty(except: readonly string[]): boolean;
  take(options: TakeOptions): TakenTask[];
  /** To be called after a task of the caller came into the queue. */
  join(caller: string): void;
  /** To be called after a task of the caller left the queue. */
  leave(caller: string): void;
}

/** What the queue needs besides its tables. */
export interface TaskQueueContext {
  readonly owner: Owner;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The queue in the database. Callers take turns: the one whose turn was longest ago is next. To find the next task, only the
 * callers that are left out are passed over, never their tasks.
 */
export function createTaskQueue(database: DatabaseSync, { owner, now }: TaskQueueContext): TaskQueue {
  const selectTurns = database.prepare(SELECT_TURNS);
  const selectFirst = database.prepare(SELECT_FIRST_TASK);
  const selectSent = database.prepare(SELECT_SENT_TASKS);
  const claim = database.prepare("UPDATE tasks SET owner = ? WHERE sequence = ?");
  const addTurn = database.prepare(
    `INSERT OR IGNORE INTO task_turns (caller, turn) VALUES (?, ${NEXT_TURN})`,
  );
  const moveTurn = database.prepare(`UPDATE task_turns SET turn = ${NEXT_TURN} WHERE caller = ?`);
  const removeTurn = database.prepare(REMOVE_TURN);

  /** The first caller after a turn that is not left out. */
  function findCaller(
    excluded: ReadonlySet<string>,
    after = 0,
  ): { readonly caller: string; readonly turn: number } | undefined {
    for (const row of selectTurns.iterate(after)) {
      const caller = readText(row, "caller");
      if (!excluded.has(caller)) return { caller, turn: readNumber(row, "turn") };
    }
    return undefined;
  }

  /** The tasks that an earlier process sent, the oldest first. */
  function* findSent(excluded: ReadonlySet<string>): Iterable<Row> {
    for (const row of selectSent.iterate()) if (!excluded.has(readText(row, "caller"))) yield row;
  }

  const leave = (caller: string): void => void removeTurn.run(caller, caller);

  return {
    isEmpty: (except) => {
      const excluded = new Set(except);
      if (findCaller(excluded) !== undefined) return false;
      // This ends the statement. One that is left open keeps its view of the file, and then nothing can be written after another
      // process has written.
      const [sent] = findSent(excluded);
      return sent === undefined;
    },
    take: ({ limit, except }) => {
      const excluded = new Set(except);
      // All are read before one changes.
      const sent = [...findSent(excluded)].slice(0, limit);
      const taken: TakenTask[] = sent.map((row) => ({
        ...readTask(row),
        input: readText(row, "input"),
        upstream: readText(row, "upstream"),
      }));
      if (sent.length > 0) owner.renewWhenDue();
      for (const row of sent) claim.run(owner.id, readNumber(row, "sequence"));
      let next = findCaller(excluded);
      // A caller that was moved to the end comes again, after the others.
      for (; next !== undefined && taken.length < limit; next = findCaller(excluded, next.turn)) {
        const { caller } = next;
        const row = selectFirst.get(caller, Math.floor(now()));
        // If the time of all its tasks is over, the next sweep ends them.
        if (row === undefined) continue;
        owner.renewWhenDue();
        claim.run(owner.id, readNumber(row, "sequence"));
        moveTurn.run(caller);
        leave(caller);
        taken.push({ ...readTask(row), input: readText(row, "input") });
      }
      return taken;
    },
    join: (caller) => void addTurn.run(caller),
    leave,
  };
}

/** The callers after a turn, in the order of their turns, which begin with 1. */
const SELECT_TURNS = "SELECT caller, turn FROM task_turns WHERE turn > ? ORDER BY turn";

const NEXT_TURN = "(SELECT coalesce(max(turn), 0) + 1 FROM task_turns)";

/** The tasks that were sent, whose process died, and that can be continued. */
const SELECT_SENT_TASKS = `SELECT ${TASK_COLUMNS}, input, upstream FROM tasks
  JOIN task_inputs ON task_inputs.task = sequence JOIN task_upstreams ON task_upstreams.task = sequence
  WHERE status = 'in_progress' AND owner IS NULL ORDER BY sequence`;

/** The first task of a caller that waits and whose time is not over. */
const SELECT_FIRST_TASK = `SELECT ${TASK_COLUMNS}, input FROM tasks JOIN task_inputs ON task = sequence
  WHERE caller = ? AND status = 'queued' AND owner IS NULL AND expires_at > ? ORDER BY sequence LIMIT 1`;

/** Removes a caller that has no task in the queue. */
const REMOVE_TURN = `DELETE FROM task_turns WHERE caller = ? AND NOT EXISTS
  (SELECT 1 FROM tasks WHERE caller = ? AND status = 'queued' AND owner IS NULL)`;
