import type { Logger } from "../../logger.js";
import { finishWithin } from "../../util/async.js";
import type { Task, TaskStore } from "../task-store/task-store.js";
import { hasEnded } from "./task-object.js";

/** A task that clients follow, and that is read again and again. */
export interface WatchedTask {
  /** The newest known state. */
  task: Task;
  /** In how many seconds it is read again. Infinite while it is read. */
  secondsLeft: number;
  /** How many seconds it waits between two reads. */
  interval: number;
}

/** Reads tasks that clients follow. */
export interface TaskReader<E extends WatchedTask> {
  /** What is needed to read a task again. */
  begin(task: Task): WatchedTask;
  /** Sets the state of a task, if it is newer than the known state. */
  update(entry: E, task: Task): boolean;
  /** Reads a task whose change was told. */
  readNow(entry: E): void;
  /** Call once a second: reads the tasks that are due, the longest waiting first, at most a hundred. */
  readDue(entries: Iterable<E>): void;
  /** The task is not followed any more. */
  forget(entry: E): void;
}

interface TaskReaderParts<E> {
  readonly store: Pick<TaskStore, "find">;
  readonly logger: Logger;
  readonly onChange: (entry: E) => void;
}

/** Reads at the same time. */
const MAX_READS = 8;
/** Reads per second of tasks without a reported change. */
const MAX_DUE = 100;
/** The longest time that a store may take. */
const READ_MS = 10_000;

/** The number of seconds until a task is read again grows by one with each read that finds no change. */
const MAX_INTERVAL = 5;
/** The same after a change was told: then the others will probably be told too. */
const TOLD_INTERVAL = 30;

/** Limits how many reads are in progress, and how many begin in a second without a reason. */
export function createTaskReader<E extends WatchedTask>({
  store,
  logger,
  onChange,
}: TaskReaderParts<E>): TaskReader<E> {
  const told = new Set<E>();
  const due = new Set<E>();
  const reading = new Set<E>();
  /** Tasks whose change was told while they were read. */
  const again = new Set<E>();
  let hasFailed = false;

  const update = (entry: E, task: Task): boolean => {
    if (!isNewer(task, entry.task)) return false;
    entry.task = task;
    onChange(entry);
    return true;
  };

  const read = async (entry: E, wasTold: boolean): Promise<void> => {
    const { caller, id } = entry.task;
    entry.secondsLeft = Infinity;
    try {
      const found = await finishWithin(store.find(caller, id), { ms: READ_MS, createError: tookTooLong });
      hasFailed = false;
      const hasChanged = found !== undefined && update(entry, found);
      entry.interval = nextInterval(entry.interval, { wasTold, hasChanged });
    } catch (err) {
      // Tried again at the next interval. One line in the log for all reads that fail.
      if (!hasFailed)
        logger.error({ taskId: id, err }, "The task store failed while clients wait for tasks.");
      hasFailed = true;
    }
    entry.secondsLeft = entry.interval;
  };

  const readNext = (): void => {
    while (reading.size < MAX_READS) {
      const [entry] = told.size > 0 ? told : due;
      if (entry === undefined) return;
      const wasTold = told.delete(entry);
      due.delete(entry);
      reading.add(entry);
      void read(entry, wasTold).finally(() => {
        reading.delete(entry);
        if (again.delete(entry)) told.add(entry);
        readNext();
      });
    }
  };

  return {
    begin: (task) => ({ task, secondsLeft: 1, interval: 1 }),
    update,
    readNow(entry) {
      if (reading.has(entry)) again.add(entry);
      else told.add(entry);
      readNext();
    },
    readDue(entries) {
      const waiting: E[] = [];
      for (const entry of entries) {
        entry.secondsLeft--;
        if (entry.secondsLeft <= 0 && !hasEnded(entry.task)) waiting.push(entry);
      }
      waiting.sort((one, other) => one.secondsLeft - other.secondsLeft);
      for (const entry of waiting) {
        if (due.size >= MAX_DUE) break;
        due.add(entry);
      }
      readNext();
    },
    forget(entry) {
      told.delete(entry);
      due.delete(entry);
      again.delete(entry);
    },
  };
}

function nextInterval(
  interval: number,
  { wasTold, hasChanged }: { readonly wasTold: boolean; readonly hasChanged: boolean },
): number {
  if (wasTold) return TOLD_INTERVAL;
  // A change that was not told: the store does not know what other processes do.
  if (hasChanged) return 1;
  return interval === TOLD_INTERVAL ? TOLD_INTERVAL : Math.min(interval + 1, MAX_INTERVAL);
}

const ORDER: Readonly<Record<Task["status"], number>> = {
  queued: 0,
  in_progress: 1,
  completed: 2,
  failed: 2,
  cancelled: 2,
};

/** Reads may return in another order than they began, and a task never goes back. */
function isNewer(task: Task, known: Task): boolean {
  const steps = ORDER[task.status] - ORDER[known.status];
  return steps > 0 || (steps === 0 && task.images.length > known.images.length);
}

function tookTooLong(): Error {
  return new Error(`The task store did not respond within ${READ_MS / 1000} s.`);
}
