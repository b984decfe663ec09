import type { Chore } from "../../contract/chore.js";
import type { Kernel } from "../../kernel/feature.js";
import { keepWhile } from "../../util/async.js";
import type { TakenTask } from "../task-store/task-store.js";
import { type BegunTask, beginTask } from "./run-task.js";
import type { Tasks } from "./submit.js";
import { createTakenTasks } from "./taken-tasks.js";

/** Runs tasks of the queue. */
export interface TaskWorker extends Chore {
  /** Begins to look for tasks whenever the store tells that one waits. Further calls look once. */
  readonly begin: () => undefined;
  /**
   * Takes and runs tasks until none waits, or until the time is over. Resolves when the tasks that it took have ended.
   *
   * @param ms after this time no further task is taken, in milliseconds
   * @returns how many tasks were taken
   */
  runBatch(ms: number): Promise<number>;
  /**
   * Takes no further task. Resolves when the tasks that were taken and not sent are back in the queue. Tasks that were sent
   * go on: they are tracked.
   */
  readonly stop: () => Promise<void>;
}

/** The tasks of a ledger, and how many of them run at the same time. 0: only {@link TaskWorker.runBatch} runs tasks. */
type QueuedTasks = Pick<Tasks, "store" | "objects" | "keepMs"> & { readonly concurrency: number };

/** How many tasks a batch runs at the same time if the worker runs none otherwise. */
const BATCH_CONCURRENCY = 16;
/** For how long the tasks of a caller that may not run more are left in the queue, unless one of its tasks ends before. */
const CROWDED_MS = 1_000;
/** For how long nothing is taken after a failure. */
const PAUSE_MS = 2_000;

/** Creates a worker. It takes nothing before `begin` or `runBatch`. */
export function createTaskWorker(
  { load, track, logger, holds }: Kernel,
  { store, objects, concurrency, keepMs }: QueuedTasks,
): TaskWorker {
  const stopper = new AbortController();
  const { signal } = stopper;
  /** The tasks that were taken and have not ended, and those of them that were not sent. */
  const running = new Set<Promise<unknown>>();
  const unsent = new Set<Promise<unknown>>();
  const crowded = createCrowdedCallers();
  const takenTasks = createTakenTasks(store, holds);
  const alarm = createAlarm(() => fill());
  let unwatch: (() => void) | undefined;
  let filling: Promise<void> | undefined;
  /** The last call of the store. Calls wait for each other, so that two batches do not take twice as many tasks. */
  let lastTake: Promise<unknown> = Promise.resolve();
  let isWakeWanted = false;
  let pausedUntil = 0;

  /** Takes tasks while at most `limit` of them run, and begins them. Returns how many. */
  function take(limit: number): Promise<number> {
    const taking = lastTake.then(() => takeNow(limit - running.size));
    lastTake = taking;
    return taking;
  }

  async function takeNow(room: number): Promise<number> {
    if (room <= 0 || signal.aborted || performance.now() < pausedUntil) return 0;
    try {
      const taken = await store.take({ limit: room, except: crowded.list() });
      for (const task of taken) void keepWhile(running, run(task)).finally(fill);
      return taken.length;
    } catch (err) {
      logger.warn({ err }, "The task store failed; looking for tasks again soon.");
      pause();
      return 0;
    }
  }

  async function run(task: TakenTask): Promise<void> {
    const sent = await keepWhile(
      unsent,
      takenTasks.begin(task, () => begin(task)),
    );
    if (sent === undefined) return;
    track(sent.ended);
    await sent.ended;
    crowded.delete(task.caller);
  }

  async function begin(task: TakenTask): Promise<BegunTask> {
    try {
      const options = { store, objects, keepMs, track, signal };
      const begun = await beginTask(await load(), task, options);
      if (begun.kind === "crowded") leaveOut(task.caller);
      if (begun.kind === "postponed" || begun.kind === "unsure") pause();
      return begun;
    } catch (err) {
      logger.error({ task: task.id, err }, "The options could not be read; a task is put back.");
      pause();
      return { kind: "postponed" };
    }
  }

  /** Takes tasks while there is room and while some wait. One call of the store at a time. */
  function fill(): void {
    isWakeWanted = true;
    filling ??= takeWhileWanted().finally(() => {
      filling = undefined;
      // Wanted again since the last look.
      if (isWakeWanted) fill();
    });
  }

  async function takeWhileWanted(): Promise<void> {
    while (isWakeWanted) {
      isWakeWanted = false;
      await take(concurrency);
    }
  }

  function leaveOut(caller: string): void {
    crowded.add(caller);
    if (concurrency > 0) alarm.set(CROWDED_MS);
  }

  function pause(): void {
    pausedUntil = performance.now() + PAUSE_MS;
    if (concurrency > 0) alarm.set(PAUSE_MS);
  }

  return {
    begin() {
      if (concurrency === 0 || signal.aborted) return;
      unwatch ??= store.watch(({ kind }) => {
        if (kind === "queued") fill();
      });
      fill();
    },
    async runBatch(ms) {
      const endsAt = performance.now() + ms;
      const limit = Math.max(concurrency, BATCH_CONCURRENCY);
      let count = 0;
      for (;;) {
        const now = performance.now();
        if (signal.aborted || now >= endsAt || now < pausedUntil) break;
        count += await take(limit);
        if (running.size === 0) break;
        await Promise.race(running);
      }
      await Promise.all(running);
      return count;
    },
    async stop() {
      stopper.abort();
      alarm.clear();
      unwatch?.();
      await filling;
      await lastTake;
      await Promise.all(unsent);
    },
  };
}

/** Callers whose tasks are left in the queue for a moment. */
function createCrowdedCallers(): {
  add(caller: string): void;
  delete(caller: string): void;
  list(): readonly string[];
} {
  const until = new Map<string, number>();
  return {
    add(caller) {
      until.set(caller, performance.now() + CROWDED_MS);
    },
    delete: (caller) => void until.delete(caller),
    list() {
      const now = performance.now();
      for (const [caller, end] of until) if (end <= now) until.delete(caller);
      return [...until.keys()].slice(0, MAX_EXCEPT);
    },
  };
}

/** The store accepts no more. */
const MAX_EXCEPT = 1_000;

/** One timer that does not keep the process alive. A later time does not replace an earlier one. */
function createAlarm(ring: () => void): { set(ms: number): void; clear(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    set(ms) {
      if (timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        ring();
      }, ms + 10);
      // Outside of Node a timer may be a number.
      if (typeof timer === "object") timer.unref();
    },
    clear: () => clearTimeout(timer),
  };
}
