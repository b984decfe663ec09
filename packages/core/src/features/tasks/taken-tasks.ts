import type { Holds } from "../../billing/hold.js";
import { keepWhile } from "../../util/async.js";
import type { TakenTask, TaskStore } from "../task-store/task-store.js";
import type { BegunTask } from "./run-task.js";

/** The tasks that a worker has taken and that have neither ended nor gone back into the queue. */
export interface TakenTasks {
  /**
   * Begins a task that was just taken. If it was not sent and has not ended, it is put back into the queue, repeatedly until
   * the store accepts that: otherwise the task would wait until this process ends.
   *
   * The store may return a task that this worker still has: a write that seemed to fail may reach the store late and put the
   * task back. Then this waits until the earlier work on the task is over. If that has sent the task, it is left alone.
   * Otherwise it begins. That is safe although the earlier work may have put it back once more: then the store does not mark
   * it as sent. A task whose provider is already at work on it goes back instead, because nothing is marked then. If the
   * earlier work may have marked the task as sent, but did not send it, this ends it in its place.
   *
   * @param begin does not reject
   * @returns the promise of the end of a task that was sent. Otherwise `undefined`.
   */
  begin(task: TakenTask, begin: () => Promise<BegunTask>): Promise<SentTask | undefined>;
}

type SentTask = Extract<BegunTask, { readonly kind: "sent" }>;

/** One time that a task was taken. */
interface Taking {
  /** What may write to the store for this time: the beginning of the task, and writes that put it back. */
  readonly work: Set<Promise<unknown>>;
  isSent: boolean;
  /** The error, as JSON, of a task that this time or an earlier one may have marked as sent, but did not send. */
  unsure: string | undefined;
}

/** Creates the taken tasks of a worker. */
export function createTakenTasks(store: TaskStore, holds: Pick<Holds, "write">): TakenTasks {
  const takings = new Map<string, Taking>();

  function forget(id: string, taking: Taking): void {
    if (takings.get(id) === taking) takings.delete(id);
  }

  async function give(task: TakenTask, taking: Taking): Promise<void> {
    const write = async (): Promise<void> => {
      // The task was taken again, and may be sent now.
      if (takings.get(task.id) !== taking) return;
      await keepWhile(taking.work, giveBack(store, task, taking.unsure));
      forget(task.id, taking);
    };
    await holds.write(write, { task: task.id });
  }

  async function beginOnce(
    task: TakenTask,
    taking: Taking,
    begin: () => Promise<BegunTask>,
  ): Promise<SentTask | undefined> {
    const begun = await begin();
    if (begun.kind === "sent") {
      taking.isSent = true;
      void begun.ended.finally(() => forget(task.id, taking));
      return begun;
    }
    if (begun.kind === "unsure") taking.unsure = begun.error;
    // An earlier time may have marked the task as sent. Then it has not ended, and must end here.
    if (begun.kind === "ended" && taking.unsure === undefined) forget(task.id, taking);
    else await give(task, taking);
    return undefined;
  }

  return {
    async begin(task, begin) {
      let earlier = takings.get(task.id);
      let mayBeBack = false;
      while (earlier !== undefined && earlier.work.size > 0) {
        mayBeBack = task.upstream !== undefined;
        await Promise.allSettled(earlier.work);
        earlier = takings.get(task.id);
      }
      if (earlier?.isSent === true) return undefined;
      const taking: Taking = { work: new Set(), isSent: false, unsure: earlier?.unsure };
      takings.set(task.id, taking);
      // To continue a task asks the store nothing. It would not show that the earlier work has put the task back.
      const work = mayBeBack ? give(task, taking).then(() => undefined) : beginOnce(task, taking, begin);
      return keepWhile(taking.work, work);
    },
  };
}

/**
 * Puts a task that was not sent back into the queue.
 *
 * @param error set if the store may have marked the task as sent. A marked task cannot go back, so it fails with this error,
 *   as JSON.
 */
async function giveBack(store: TaskStore, { caller, id }: TakenTask, error?: string): Promise<void> {
  const isMarked = error !== undefined && (await store.find(caller, id))?.status === "in_progress";
  if (isMarked) await store.end({ id, status: "failed", error });
  else await store.putBack([id]);
}
