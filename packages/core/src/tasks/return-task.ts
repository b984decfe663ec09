import type { Holds } from "../billing/hold.js";
import type { TakenTask, TaskStore } from "../billing/task-store.js";

/** Returns tasks that were taken and not sent. */
export interface TaskReturns {
  /**
   * Puts a task back into the queue. Repeated until the store accepts it: otherwise the task would wait until this process
   * ends. Does not reject.
   *
   * @param mark `unsure`: the store may have marked the task as sent. A marked task cannot go back, so it fails.
   */
  give(task: TakenTask, mark: TaskMark): Promise<void>;
  /**
   * Call before a taken task begins. If it was given back before, it has gone back, although the store may have said that it
   * failed: nothing more is written for the earlier time. Resolves to false if a write was in progress. That write may have
   * put the task back once more, so it must be given back again and not begin.
   */
  canBegin(task: TakenTask): Promise<boolean>;
  /** Call when a taken task was sent or has ended, so that it is not given back. */
  forget(task: TakenTask): void;
}

/** Whether a task that was not sent is marked as sent. With the error of a marked task that fails, as JSON. */
export type TaskMark = { readonly kind: "none" } | { readonly kind: "unsure"; readonly error: string };

interface Return {
  isOver: boolean;
  /** The write in progress. Does not reject. */
  attempt: Promise<unknown> | undefined;
}

/** Creates the returns of a worker. */
export function createTaskReturns(store: TaskStore, holds: Pick<Holds, "write">): TaskReturns {
  const open = new Map<string, Return>();
  /**
   * The last time that each task was taken, until it is given back, sent or ended. A write for an earlier time does nothing:
   * the task may be sent now.
   */
  const newest = new Map<string, TakenTask>();
  const isNewest = (task: TakenTask): boolean => newest.get(task.id) === task;
  const forget = (task: TakenTask): void => {
    if (isNewest(task)) newest.delete(task.id);
  };
  return {
    give(task, mark) {
      const own: Return = { isOver: false, attempt: undefined };
      open.set(task.id, own);
      const write = async (): Promise<void> => {
        if (own.isOver || !isNewest(task)) return;
        const attempt = giveBack(store, { task, mark, isNewest });
        own.attempt = attempt.catch(() => undefined);
        try {
          await attempt;
        } finally {
          own.attempt = undefined;
        }
        if (open.get(task.id) === own) open.delete(task.id);
        forget(task);
      };
      return holds.write(write, { task: task.id });
    },
    async canBegin(task) {
      const { id } = task;
      newest.set(id, task);
      const earlier = open.get(id);
      if (earlier === undefined) return true;
      open.delete(id);
      earlier.isOver = true;
      const { attempt } = earlier;
      await attempt;
      return attempt === undefined;
    },
    forget,
  };
}

interface GivenTask {
  readonly task: TakenTask;
  readonly mark: TaskMark;
  /** Whether the task was not taken again. */
  readonly isNewest: (task: TakenTask) => boolean;
}

async function giveBack(store: TaskStore, { task, mark, isNewest }: GivenTask): Promise<void> {
  const { id, caller } = task;
  const isMarked = mark.kind === "unsure" && (await store.find(caller, id))?.status === "in_progress";
  if (!isNewest(task)) return;
  if (isMarked) await store.end({ id, status: "failed", error: mark.error });
  else await store.putBack([id]);
}
