import type { MemoryMoney } from "../../billing/memory-ledger.js";
import { compareAge, type UnresolvedRecord } from "../../billing/records.js";
import { checkUpstream } from "../../billing/stored-entries.js";
import { createListeners } from "../../util/collections.js";
import { CallerCounts } from "../../util/fair-share.js";
import { encodeText } from "../../util/utf8.js";
import type { Writable } from "../../util/writable.js";
import {
  checkTask,
  checkTaskEnd,
  checkTaskImages,
  type NewTask,
  type TakenTask,
  type Task,
  type TaskChange,
  type TaskEnd,
  type TaskStatus,
  type TaskStore,
} from "./task-store.js";

/** The maximum number of tasks, with those that have ended. */
const MAX_TASKS = 1_000;
/** The maximum length of the inputs of all tasks, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;

interface Entry {
  readonly task: Writable<Task>;
  readonly keepMs: number;
  readonly endpoints: readonly string[];
  readonly repeat: NewTask["repeat"];
  /** Empty once the task has ended. */
  input: string;
  readonly inputBytes: number;
  /** What another process needs to continue the task. */
  upstream?: string | undefined;
  /** True from the moment when a worker takes the task until it is put back or ends. */
  isTaken: boolean;
}

/** The messages about tasks that have ended. */
export interface TaskMessages {
  /** Writes a message for each endpoint, in the step in which the task ends. */
  write(endpoints: readonly string[], task: Task): void;
  /** Whether one of the messages is still to be sent, to an endpoint that is not disabled. */
  hasPending(task: string): boolean;
  drop(task: string): void;
}

/**
 * Tasks in the memory of this process. It keeps 1,000 tasks. When it is full, it drops a task that has ended, of the caller
 * that has most: the one that ended longest ago and has no message to send; if there is none, the one that ended longest ago.
 */
export function createMemoryTasks(now: () => number, money: MemoryMoney, messages: TaskMessages): TaskStore {
  /** All tasks, in the order of their submission. */
  const entries = new Map<string, Entry>();
  /** The tasks that have ended, in the order of their end. */
  const ended = new Map<string, Entry>();
  const repeats = new Map<string, Entry>();
  /** How many tasks each caller has; and those that have not ended, with the bytes of their inputs. */
  const allCounts = new CallerCounts();
  const openCounts = new CallerCounts();
  const openBytes = new CallerCounts();
  /** The callers with waiting tasks; the first one is next. */
  const turns = new Set<string>();
  const listeners = createListeners<TaskChange>();

  /** Later, so that no listener runs inside a method. */
  function tell(change: TaskChange): void {
    queueMicrotask(() => listeners.tell(change));
  }

  function findOf(caller: string, id: string): Entry | undefined {
    const entry = entries.get(id);
    return entry?.task.caller === caller ? entry : undefined;
  }

  function add(task: NewTask, inputBytes: number): Entry {
    const { id, requestId, caller, model, operation, repeat } = task;
    const createdAt = now();
    const facts = { id, requestId, caller, model, operation, createdAt, expiresAt: createdAt + task.ttlMs };
    const entry: Entry = {
      task: { ...facts, status: "queued", images: [] },
      keepMs: task.keepMs,
      endpoints: [...new Set(task.webhooks)],
      repeat: repeat && { ...repeat },
      input: task.input,
      inputBytes,
      isTaken: false,
    };
    entries.set(id, entry);
    if (repeat !== undefined) repeats.set(repeat.key, entry);
    turns.add(caller);
    allCounts.add(caller, 1);
    openCounts.add(caller, 1);
    openBytes.add(caller, inputBytes);
    return entry;
  }

  function drop(entry: Entry): void {
    entries.delete(entry.task.id);
    ended.delete(entry.task.id);
    allCounts.add(entry.task.caller, -1);
    if (entry.repeat !== undefined) repeats.delete(entry.repeat.key);
    messages.drop(entry.task.id);
  }

  /** Takes a caller without waiting tasks out of the order of turns. */
  function forgetTurn(caller: string): void {
    const hasWaiting = [...entries.values()].some(
      (entry) => entry.task.caller === caller && isWaiting(entry),
    );
    if (!hasWaiting) turns.delete(caller);
  }

  function returnToQueue(entry: Entry): void {
    entry.isTaken = false;
    turns.add(entry.task.caller);
    tell({ kind: "queued" });
  }

  function finish(entry: Entry, status: TaskStatus, { result, error }: Partial<TaskEnd> = {}): void {
    const { task } = entry;
    task.status = status;
    task.endedAt = now();
    task.images = [];
    if (result !== undefined) task.result = result;
    if (error !== undefined) task.error = error;
    entry.input = "";
    entry.upstream = undefined;
    entry.isTaken = false;
    ended.set(task.id, entry);
    openCounts.add(task.caller, -1);
    openBytes.add(task.caller, -entry.inputBytes);
    forgetTurn(task.caller);
    messages.write(entry.endpoints, copyTask(task));
    tell({ kind: "changed", id: task.id });
  }

  /** @param caller the caller of the task that needs the room */
  function findToDrop(caller: string): Entry | undefined {
    const countOf = ({ task }: Entry): number => allCounts.of(task.caller) + (task.caller === caller ? 1 : 0);
    const isBefore = (one: Entry, other: Entry): boolean => {
      const more = countOf(one) - countOf(other);
      return (
        more > 0 || (more === 0 && messages.hasPending(other.task.id) && !messages.hasPending(one.task.id))
      );
    };
    // If several are equal, the first one is found. It ended longest ago.
    let found: Entry | undefined;
    for (const entry of ended.values()) if (found === undefined || isBefore(entry, found)) found = entry;
    return found;
  }

  // No method awaits anything, so each is atomic.
  return {
    async submit(task, hold) {
      checkTask(task, hold);
      const known = entries.get(task.id) ?? (task.repeat && repeats.get(task.repeat.key));
      if (known !== undefined) {
        return isRepeated(known, task)
          ? { kind: "repeated", task: copyTask(known.task) }
          : { kind: "conflict" };
      }
      const { caller, room } = task;
      const bytes = encodeText(task.input).length;
      const hasRoom =
        openCounts.fits(caller, 1, Math.min(room?.tasks ?? MAX_TASKS, MAX_TASKS)) &&
        openBytes.fits(caller, bytes, Math.min(room?.bytes ?? MAX_BYTES, MAX_BYTES));
      if (!hasRoom) return { kind: "full", isShareUsed: openCounts.of(caller) > 0 };
      const balance = money.hold(hold);
      if (balance !== undefined) return { kind: "refused", balance };
      const dropped = entries.size < MAX_TASKS ? undefined : findToDrop(caller);
      if (dropped !== undefined) drop(dropped);
      const entry = add(task, bytes);
      tell({ kind: "queued" });
      return { kind: "submitted", task: copyTask(entry.task) };
    },
    async take({ limit, except }) {
      if (turns.size === 0) return [];
      const instant = now();
      const excluded = new Set(except);
      const open = [...entries.values()].filter(
        (entry) => isWaiting(entry) && !excluded.has(entry.task.caller),
      );
      const taken = open.filter(isSent).slice(0, limit);
      for (const entry of taken) entry.isTaken = true;
      const waiting = open.filter((entry) => !isSent(entry) && entry.task.expiresAt > instant);
      const queues = Map.groupBy(waiting, ({ task }) => task.caller);
      // A caller that is added again comes again, after the others, until its queue is empty.
      for (const caller of turns) {
        if (taken.length >= limit) break;
        const entry = queues.get(caller)?.shift();
        if (entry === undefined) continue;
        entry.isTaken = true;
        taken.push(entry);
        turns.delete(caller);
        turns.add(caller);
      }
      for (const caller of new Set(taken.map(({ task }) => task.caller))) forgetTurn(caller);
      return taken.map(
        ({ task, input, upstream }): TakenTask => ({
          ...copyTask(task),
          input,
          ...(upstream !== undefined && { upstream }),
        }),
      );
    },
    async markSent(id) {
      const entry = entries.get(id);
      if (entry?.task.status !== "queued" || !entry.isTaken) return false;
      entry.task.status = "in_progress";
      tell({ kind: "changed", id });
      return true;
    },
    async putBack(ids) {
      for (const id of ids) {
        const entry = entries.get(id);
        if (entry?.isTaken === true && canReturn(entry)) returnToQueue(entry);
      }
    },
    async keepUpstream(id, upstream) {
      checkUpstream(upstream);
      const entry = entries.get(id);
      if (entry?.task.status === "in_progress" && entry.isTaken) entry.upstream = upstream;
    },
    async addImages(id, images) {
      checkTaskImages(images);
      const entry = entries.get(id);
      if (entry?.task.status !== "in_progress") return;
      entry.task.images = [...entry.task.images, ...images];
      tell({ kind: "changed", id });
    },
    async end(end) {
      checkTaskEnd(end);
      const entry = entries.get(end.id);
      const canEnd = entry !== undefined && isOpen(entry) && (entry.isTaken || end.record !== undefined);
      if (end.record !== undefined) money.settle(end.record);
      else if (entry !== undefined && (canEnd || !isOpen(entry))) money.release(entry.task.requestId);
      if (canEnd) finish(entry, end.status, end);
    },
    async cancel(caller, id) {
      const entry = findOf(caller, id);
      if (entry?.task.status !== "queued") return entry && { task: copyTask(entry.task) };
      const { input } = entry;
      money.release(entry.task.requestId);
      finish(entry, "cancelled");
      return { task: copyTask(entry.task), input };
    },
    async find(caller, id) {
      const entry = findOf(caller, id);
      return entry && copyTask(entry.task);
    },
    async list(caller, { limit, after }) {
      const tasks = [...entries.values()].filter(({ task }) => task.caller === caller).toReversed();
      const place = after === undefined ? -1 : tasks.findIndex(({ task }) => task.id === after);
      if (after !== undefined && place === -1) return [];
      return tasks.slice(place + 1, place + 1 + limit).map(({ task }) => toSummary(task));
    },
    async listAll({ caller, statuses, limit }) {
      const all = [...entries.values()].map(({ task }) => task);
      const count = (status: TaskStatus): number => all.filter((task) => task.status === status).length;
      const selected = all.filter(
        (task) =>
          (caller === undefined || task.caller === caller) &&
          (statuses === undefined || statuses.includes(task.status)),
      );
      return {
        tasks: selected.toReversed().slice(0, limit).map(toSummary),
        queued: count("queued"),
        inProgress: count("in_progress"),
      };
    },
    async sweep({ onLost, lostError, expiredError, own = false }) {
      const instant = now();
      const lost: UnresolvedRecord[] = [];
      const inputs: string[] = [];
      for (const entry of entries.values()) {
        const { task, input } = entry;
        if (own && entry.isTaken && !canReturn(entry)) {
          const record = money.lose(task.requestId, onLost);
          if (record !== undefined) lost.push(record);
          finish(entry, "failed", { error: lostError });
          inputs.push(input);
        } else if (own && entry.isTaken) {
          returnToQueue(entry);
        }
        if (task.status === "queued" && task.expiresAt <= instant) {
          money.release(task.requestId);
          finish(entry, "failed", { error: expiredError });
          inputs.push(input);
        }
      }
      for (const entry of ended.values()) {
        if ((entry.task.endedAt ?? 0) + entry.keepMs > instant || messages.hasPending(entry.task.id))
          continue;
        drop(entry);
      }
      return { lost: lost.toSorted(compareAge), inputs };
    },
    watch: listeners.watch,
  };
}

function isOpen({ task }: Entry): boolean {
  return task.status === "queued" || task.status === "in_progress";
}

function isSent({ task }: Entry): boolean {
  return task.status === "in_progress";
}

function isWaiting(entry: Entry): boolean {
  return !entry.isTaken && isOpen(entry);
}

/** True if the task was not sent, or can be continued. */
function canReturn({ task, upstream }: Entry): boolean {
  return task.status === "queued" || (task.status === "in_progress" && upstream !== undefined);
}

function isRepeated({ task, repeat }: Entry, other: NewTask): boolean {
  return task.caller === other.caller && repeat?.fingerprint === other.repeat?.fingerprint;
}

/** A task as it is in a list. */
function toSummary({ result: _result, ...task }: Task): Task {
  return { ...task, images: [] };
}

function copyTask(task: Task): Task {
  return { ...task, images: [...task.images] };
}
