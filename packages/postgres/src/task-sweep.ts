import {
  compareAge,
  type EntryFailure,
  type LostPolicy,
  parseHold,
  reportFailures,
  type StoredHold,
  type TaskSweepOptions,
  toUnresolvedRecord,
  type UnresolvedRecord,
  withPeriod,
} from "@calotype/core/stores";
import { type Database, type Row, readNumber, readText } from "./database.js";
import type { Owner } from "./owner.js";
import { isRefusal } from "./postgres-error.js";
import { readFlag, readOptional } from "./task-rows.js";
import { type EndedTask, readEndedTask, type Steps } from "./task-statements.js";

/** Bounds one transaction. */
const BATCH = 500;
/**
 * The maximum number of transactions of each kind in one sweep, so that it takes some seconds at most and its result needs
 * little memory. The next sweep goes on.
 */
const MOST_BATCHES = 20;
/** No further transaction begins when the inputs of the ended tasks have this length together. */
const MOST_INPUT = 64 * 1024 * 1024;

/** What a sweep did. */
export interface TaskSweepResult {
  readonly lost: readonly UnresolvedRecord[];
  readonly inputs: readonly string[];
  readonly hasPutBack: boolean;
  readonly ended: readonly EndedTask[];
  /** Reports the tasks that could not be ended. Throws as `reportFailures` does. */
  readonly finish: () => void;
}

/** What a sweep has collected so far. */
interface Collected {
  readonly lost: UnresolvedRecord[];
  readonly inputs: string[];
  readonly ended: EndedTask[];
  readonly failures: EntryFailure[];
  inputLength: number;
}

interface LostTask {
  readonly id: string;
  readonly owner: string;
  /** Absent: the hold was ended by itself. */
  readonly hold: { readonly text: string; readonly record: UnresolvedRecord } | undefined;
}

/** What a sweep needs. */
export interface TaskSweepParts {
  readonly schema: string;
  readonly owner: Owner;
  readonly steps: Pick<Steps, "unsure">;
}

/**
 * Sweeps the tasks of a schema. They are found without locks. The function that changes a task checks it again, so each is
 * ended once even if several processes find it.
 */
export function createTaskSweep(
  database: Database,
  { schema, owner, steps }: TaskSweepParts,
): (options: TaskSweepOptions) => Promise<TaskSweepResult> {
  /** Where the search for tasks to be deleted goes on, so that tasks that must be kept do not hide the others. */
  let place: readonly [time: string, id: string] = FIRST_PLACE;

  const findDead = async (own: boolean): Promise<string[]> => {
    const rows = await database.run({
      sql: `SELECT dead FROM ${schema}.dead_task_owners($1, $2, $3) AS dead`,
      values: [owner.id, own, owner.now()],
    });
    return rows.map((row) => readText(row, "dead"));
  };

  const putBack = async (dead: readonly string[]): Promise<boolean> => {
    const unsure = steps.unsure();
    if (dead.length === 0 && unsure.length === 0) return false;
    let returned = BATCH;
    let hasPutBack = false;
    for (let batch = 0; batch < MOST_BATCHES && returned >= BATCH; batch++) {
      const [row] = await database.run({
        sql: `SELECT ${schema}.put_back_lost($1, $2, $3, ${BATCH}) AS returned`,
        values: [dead, owner.id, unsure],
      });
      returned = readNumber(row, "returned");
      hasPutBack ||= returned > 0;
    }
    return hasPutBack;
  };

  const endTogether = async (tasks: readonly LostTask[], lostError: string, collected: Collected) => {
    const column = (of: (record: UnresolvedRecord) => unknown): unknown[] =>
      tasks.map(({ hold }) => (hold === undefined ? null : of(hold.record)));
    const rows = await database.run({
      sql: `SELECT * FROM ${schema}.end_lost_tasks($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      values: [
        tasks.map(({ id }) => id),
        tasks.map((task) => task.owner),
        column(({ id }) => id),
        tasks.map(({ hold }) => hold?.text ?? null),
        column(({ time }) => Date.parse(time)),
        column(({ caller }) => caller),
        column(({ model }) => model),
        column(({ charge }) => charge),
        column((record) => JSON.stringify(record)),
        lostError,
        owner.id,
        owner.now(),
      ],
    });
    collect(rows, "lost_input", collected);
    const recorded = new Set(
      rows.filter((row) => readFlag(row, "has_record")).map((row) => readText(row, "id")),
    );
    collected.lost.push(...tasks.flatMap(({ id, hold }) => (hold && recorded.has(id) ? [hold.record] : [])));
  };

  /** If the server refuses one of the records, only that task fails. */
  const endEach = async (
    tasks: readonly LostTask[],
    lostError: string,
    collected: Collected,
  ): Promise<void> => {
    if (tasks.length === 0) return;
    try {
      await endTogether(tasks, lostError, collected);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (tasks.length === 1) {
        collected.failures.push(...tasks.map(({ id }) => ({ id, error })));
        return;
      }
      const middle = Math.ceil(tasks.length / 2);
      await endEach(tasks.slice(0, middle), lostError, collected);
      await endEach(tasks.slice(middle), lostError, collected);
    }
  };

  const endLost = async (
    dead: readonly string[],
    { onLost, lostError }: TaskSweepOptions,
    collected: Collected,
  ): Promise<void> => {
    if (dead.length === 0) return;
    for (let batch = 0; batch < MOST_BATCHES && collected.inputLength < MOST_INPUT; batch++) {
      const rows = await database.run({
        sql: `SELECT * FROM ${schema}.find_lost_tasks($1, $2, ${BATCH})`,
        values: [dead, collected.failures.map(({ id }) => id)],
      });
      const tasks = rows.flatMap((row): LostTask[] => {
        const id = readText(row, "id");
        try {
          const text = readOptional(row, "hold");
          const hold =
            text === undefined ? undefined : { text, record: toLostRecord(parseHold(text), onLost) };
          return [{ id, owner: readText(row, "owner"), hold }];
        } catch (error) {
          collected.failures.push({ id, error });
          return [];
        }
      });
      await endEach(tasks, lostError, collected);
      // There may be fewer because of the length of their inputs.
      if (rows.length === 0) return;
    }
  };

  const expire = async (expiredError: string, collected: Collected): Promise<void> => {
    for (let batch = 0; batch < MOST_BATCHES && collected.inputLength < MOST_INPUT; batch++) {
      const rows = await database.run({
        sql: `SELECT * FROM ${schema}.expire_tasks($1, ${BATCH}, $2, $3)`,
        values: [expiredError, owner.id, owner.now()],
      });
      collect(rows, "expired_input", collected);
      // There may be fewer because of the length of their inputs.
      if (rows.length === 0) return;
    }
  };

  const remove = async (): Promise<void> => {
    for (let batch = 0; batch < MOST_BATCHES; batch++) {
      const [row] = await database.run({
        sql: `SELECT * FROM ${schema}.remove_tasks($1, $2, ${BATCH}, $3)`,
        values: [...place, owner.now()],
      });
      place = row === undefined ? FIRST_PLACE : [readText(row, "last_time"), readText(row, "last_id")];
      if (row === undefined) return;
    }
  };

  return async (options) => {
    const collected: Collected = { lost: [], inputs: [], ended: [], failures: [], inputLength: 0 };
    const dead = await findDead(options.own ?? false);
    const hasPutBack = await putBack(dead);
    await endLost(dead, options, collected);
    await expire(options.expiredError, collected);
    await remove();
    const { lost, inputs, ended, failures } = collected;
    return {
      lost: lost.toSorted(compareAge),
      inputs,
      hasPutBack,
      ended,
      finish: () => reportFailures(failures, options.onFailure),
    };
  };
}

/** Adds the tasks that a statement ended. */
function collect(rows: readonly Row[], inputColumn: string, collected: Collected): void {
  for (const row of rows) {
    const input = readText(row, inputColumn);
    collected.inputs.push(input);
    collected.inputLength += input.length;
    collected.ended.push(readEndedTask(row));
  }
}

const FIRST_PLACE = ["-infinity", ""] as const;

const toLostRecord = (hold: StoredHold, onLost: LostPolicy): UnresolvedRecord =>
  withPeriod(toUnresolvedRecord(hold, onLost), hold.periodKey);
