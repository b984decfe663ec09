import type { Balance, EntryFailure } from "../../billing/ledger.js";
import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { HoldRecord, LostPolicy, SettledRecord, UnresolvedRecord } from "../../billing/records.js";
import {
  checkDuration,
  checkHold,
  checkName,
  checkOpaque,
  checkRecord,
} from "../../billing/stored-entries.js";
import type { Operation } from "../../types.js";
import type { Ledger } from "../usage/usage-reports.js";

/**
 * The state of a task. `queued` and `in_progress` change once more; the others are final, and a task reaches exactly one
 * of them. `in_progress` means that the request was sent to a provider, or is about to be sent: it is never sent again.
 */
export type TaskStatus = "queued" | "in_progress" | "completed" | "failed" | "cancelled";

/** A task to be stored. Strings that the store does not read are marked as opaque. */
export interface NewTask {
  /** `task_` and 32 hexadecimal digits. */
  readonly id: string;
  /** The id of its hold and of its usage record. */
  readonly requestId: string;
  readonly caller: string;
  /** The service model. */
  readonly model: string;
  readonly operation: Exclude<Operation, "native">;
  /** What a worker needs to run the task; opaque. Deleted when the task ends. At most 1 MiB. */
  readonly input: string;
  /** The client's `Idempotency-Key`. Absent: every submission is a new task. */
  readonly repeat?: TaskRepeat | undefined;
  /** The names of the caller's webhook endpoints that get a message about the end of the task. */
  readonly webhooks: readonly string[];
  /** How long the task may wait in the queue, in milliseconds: then it fails. Its hold ends with the task. */
  readonly ttlMs: number;
  /** How long the task is kept after its end, in milliseconds. */
  readonly keepMs: number;
  /** Absent: there is room for as many tasks as the store can keep. */
  readonly room?: TaskRoom | undefined;
}

/**
 * The room for the tasks of all callers that have not ended. A caller has at most half of what the others leave of each, see
 * `fitsShare`.
 */
export interface TaskRoom {
  readonly tasks: number;
  /** The bytes of their inputs, in UTF-8. */
  readonly bytes: number;
}

/** Finds the task of an earlier submission with the same idempotency key. */
export interface TaskRepeat {
  /** Identifies the caller, the path and the client's key together. At most 512 bytes. */
  readonly key: string;
  /** Equal for requests with the same content. */
  readonly fingerprint: string;
}

/** A task as clients see it. Times are milliseconds since 1970, by the clock of the ledger. */
export interface Task {
  readonly id: string;
  readonly requestId: string;
  readonly caller: string;
  readonly model: string;
  readonly operation: Exclude<Operation, "native">;
  readonly status: TaskStatus;
  readonly createdAt: number;
  /** When a task that still waits fails. */
  readonly expiresAt: number;
  /** When the task reached its final state. */
  readonly endedAt?: number | undefined;
  /** The images that arrived so far, in the order of their arrival; opaque. Empty once the task has ended. */
  readonly images: readonly string[];
  /** What the worker stored as the result of a completed task; opaque. */
  readonly result?: string | undefined;
  /** What the worker, or {@link TaskStore.sweep}, stored as the error of a failed task; opaque. */
  readonly error?: string | undefined;
}

/** A task that a worker has taken: until it ends or is put back, no other worker gets it. */
export interface TakenTask extends Task {
  readonly input: string;
  /**
   * What {@link TaskStore.keepUpstream} stored. Set if an earlier process sent the task and died: it is `in_progress`, must
   * not be sent again, and is to be continued.
   */
  readonly upstream?: string | undefined;
}

/** What became of a submission. Only `submitted` has changed anything. */
export type TaskSubmission =
  | { readonly kind: "submitted"; readonly task: Task }
  /** The task of an earlier submission with the same key and fingerprint, or with the same id. */
  | { readonly kind: "repeated"; readonly task: Task }
  /** An earlier submission has the same key and another fingerprint. */
  | { readonly kind: "conflict" }
  /** The budget does not cover the hold. */
  | { readonly kind: "refused"; readonly balance: Balance }
  /** There is no room for another task that has not ended; or not for one of this caller, whose share is used up. */
  | { readonly kind: "full"; readonly isShareUsed: boolean };

/** How a task ends. */
export interface TaskEnd {
  readonly id: string;
  readonly status: "completed" | "failed";
  /** Opaque. At most 1 MiB. */
  readonly result?: string | undefined;
  readonly error?: string | undefined;
  /** Settles the hold. Absent: the task reached no provider, and its hold is released. */
  readonly record?: SettledRecord | undefined;
}

/** What a client may ask of the list of its tasks. */
export interface TaskPage {
  /** The largest number of tasks, from 1 to 100. */
  readonly limit: number;
  /** Continue after the task with this id. An unknown id gives an empty page. Default: begin with the newest task. */
  readonly after?: string | undefined;
}

/** Selects tasks of all callers. */
export interface AllTasksQuery {
  /** Default: all callers. */
  readonly caller?: string | undefined;
  /** Default: all. */
  readonly statuses?: readonly TaskStatus[] | undefined;
  /** The largest number of tasks, from 1 to 1,000. */
  readonly limit: number;
}

/** Tasks of all callers. */
export interface AllTasks {
  readonly tasks: readonly Task[];
  /** How many tasks of all callers have these states. */
  readonly queued: number;
  readonly inProgress: number;
}

/** Options of {@link TaskStore.take}. */
export interface TakeOptions {
  /** The largest number of tasks, at least 1. */
  readonly limit: number;
  /** Callers whose tasks are left in the queue, because they may not run more at the moment. At most 1,000. */
  readonly except: readonly string[];
}

/** Options of {@link TaskStore.sweep}. */
export interface TaskSweepOptions {
  /** What a task costs that was sent and whose outcome will never be known: nothing, or its hold. */
  readonly onLost: LostPolicy;
  /** The error of a task that was sent and whose process died; opaque. */
  readonly lostError: string;
  /** The error of a task that waited too long; opaque. */
  readonly expiredError: string;
  /** Whether the tasks of this ledger object also count as those of a dead process, because it is about to end. */
  readonly own?: boolean | undefined;
  /** Called for each task that cannot be ended, after the others were ended. Default: the sweep rejects. */
  readonly onFailure?: ((failure: EntryFailure) => void) | undefined;
}

/** What a sweep ended. */
export interface TaskSweep {
  /** The records of tasks whose outcome is unknown, sorted by time, then by id. */
  readonly lost: readonly UnresolvedRecord[];
  /** The inputs of all tasks that the sweep ended, so that what they refer to can be deleted. */
  readonly inputs: readonly string[];
}

/** Something may have changed. Not every change is reported: also look now and then. */
export type TaskChange =
  /** A task waits for a worker. */
  | { readonly kind: "queued" }
  /** A task has a new state or a new image. */
  | { readonly kind: "changed"; readonly id: string };

/**
 * Keeps tasks beside the holds of a ledger. The ledgers in memory, of `@calotype/sqlite` and of `@calotype/postgres` have
 * one, as the member `tasks`. Every method is atomic. If the store cannot be reached, its methods reject.
 *
 * The hold of a task belongs to the task: {@link MinimalLedger.sweep} leaves it alone, and it ends together with the task, in one
 * transaction. A taken task belongs to the ledger object that took it, as a hold belongs to the one that made it. If that
 * object's process dies, a task that was not sent goes back to the queue. A task that was sent waits to be continued, if
 * {@link TaskStore.keepUpstream} stored how; it stays `in_progress` and cannot be cancelled. Every other task that was sent
 * fails: it is not known what the provider made.
 */
export interface TaskStore {
  /**
   * Stores a task and its hold in one transaction, if the budget covers the hold. One round trip.
   *
   * If it rejects because the store could not be reached, the task may have been stored, or may still be stored. Then call
   * {@link TaskStore.cancel} with its id until that resolves: from then on the task is not stored any more.
   *
   * @param hold has the `requestId` as its `id`, the task's id as its `task`, and a `ttlMs` that the store ignores
   * @throws RangeError for a hold that `MinimalLedger.hold` would refuse, and for whatever else `checkTask` refuses. Nothing is
   *   stored.
   */
  submit(task: NewTask, hold: HoldRecord): Promise<TaskSubmission>;
  /**
   * Takes tasks that are to be continued, the oldest first, then tasks from the queue, not those whose time is over. Fair among callers: a caller with many tasks does not delay
   * those of another caller. The tasks of one caller are taken in the order of their submission. With nothing to take it
   * must cost very little.
   */
  take(options: TakeOptions): Promise<readonly TakenTask[]>;
  /**
   * Records that a taken task is about to be sent: from now on it is `in_progress`. Resolves to false if it must not be
   * sent, because it was cancelled, has ended, or belongs to another worker by now. If it rejects, the task must not be sent
   * either. Put it back, or end it.
   */
  markSent(id: string): Promise<boolean>;
  /**
   * Stores what another process needs to continue a task that is in progress, instead of sending it again; opaque. Replaces
   * what was stored before. Other tasks, and tasks that belong to another worker, are left alone. Absent: such tasks fail
   * if their process dies.
   *
   * @throws RangeError if the string is not one that every store can keep, or is longer than 1 MiB
   */
  keepUpstream?(id: string, upstream: string): Promise<void>;
  /**
   * Returns tasks that were taken and not sent to the queue, to their old places among the tasks of their callers, and tasks
   * that are to be continued, see {@link keepUpstream}. Other tasks, and tasks that belong to another worker, are left alone.
   */
  putBack(ids: readonly string[]): Promise<void>;
  /**
   * Adds images that arrived to a task that is in progress. Other tasks, and tasks that belong to another worker, are left
   * alone.
   *
   * @throws RangeError if the images have more than 1 MiB together
   */
  addImages(id: string, images: readonly string[]): Promise<void>;
  /**
   * Ends a task and its hold in one transaction, and deletes its input. If the task has ended before, its state, result and
   * error stay, and only the money changes, as by `MinimalLedger.settle` or `MinimalLedger.release`. Without a record, a task that is in
   * the queue or belongs to another worker is left alone. A record always counts, and ends the task whichever
   * worker has it: then the request was sent.
   *
   * @throws RangeError for a record that `MinimalLedger.settle` would refuse, or a `result` that is too long
   */
  end(end: TaskEnd): Promise<void>;
  /**
   * Cancels a task that was not sent, and releases its hold. Returns its input if this call cancelled it, and the task as it
   * is now. `undefined`: the caller has no such task.
   */
  cancel(
    caller: string,
    id: string,
  ): Promise<{ readonly task: Task; readonly input?: string | undefined } | undefined>;
  /** Returns a task of a caller. */
  find(caller: string, id: string): Promise<Task | undefined>;
  /**
   * Returns tasks of a caller, the newest first. `images` are empty and `result` is absent, because a page of results can
   * have a hundred megabytes: {@link find} has them.
   */
  list(caller: string, page: TaskPage): Promise<readonly Task[]>;
  /**
   * Returns tasks of all callers, the newest first, as `list` does, and how many wait and run. Absent: an operator cannot list
   * tasks.
   */
  listAll?(query: AllTasksQuery): Promise<AllTasks>;
  /**
   * Puts tasks of dead processes back or ends them, ends tasks that waited too long, also those that a worker has taken and
   * not sent, and deletes tasks that ended long ago. If there are very many, it may leave some for the next sweep. A task with a message that waits to be sent is kept longer, unless the
   * endpoint of the message is disabled.
   */
  sweep(options: TaskSweepOptions): Promise<TaskSweep>;
  /**
   * Calls the listener after changes, by this process and, if the store can tell, by others. Returns the function that ends
   * this. A listener must not throw.
   */
  watch(listener: (change: TaskChange) => void): () => void;
}

/** A ledger that also keeps tasks. */
export interface TaskLedger extends Ledger {
  readonly tasks: TaskStore;
}

/** Finds the tasks of a ledger. */
export const TASK_STORE: LedgerAbility<TaskStore> = {
  member: "tasks",
  methods: ["submit", "take", "markSent", "putBack", "addImages", "end", "cancel", "find", "list", "sweep"],
};

const MAX_WEBHOOKS = 16;

/**
 * Checks the input of `TaskStore.submit`. Every task store calls this first, so that all stores refuse the same input.
 *
 * @throws RangeError that names the field, also if the hold does not belong to the task
 */
export function checkTask(task: NewTask, hold: HoldRecord): void {
  for (const field of ["id", "requestId", "caller", "model"] as const) checkName(task[field], field);
  if (task.repeat !== undefined) {
    checkName(task.repeat.key, "repeat.key");
    checkName(task.repeat.fingerprint, "repeat.fingerprint");
  }
  checkOpaque(task.input, "input");
  if (task.webhooks.length > MAX_WEBHOOKS) {
    throw new RangeError(`a task has at most ${MAX_WEBHOOKS} webhooks, not ${task.webhooks.length}`);
  }
  for (const name of task.webhooks) checkName(name, "webhooks");
  checkDuration(task.ttlMs, "ttlMs");
  checkDuration(task.keepMs, "keepMs");
  checkHold(hold);
  if (hold.id !== task.requestId || hold.task !== task.id || hold.caller !== task.caller) {
    throw new RangeError("the hold of a task must have its requestId as id, its id as task, and its caller");
  }
}

/**
 * Checks the input of `TaskStore.end`.
 *
 * @throws RangeError that names the field
 */
export function checkTaskEnd({ result = "", error = "", record }: TaskEnd): void {
  checkOpaque(result, "result");
  checkOpaque(error, "error");
  if (record !== undefined) checkRecord(record);
}

/**
 * Checks the input of `TaskStore.addImages`.
 *
 * @throws RangeError if the images are not strings that every store can keep, or are longer than 1 MiB together
 */
export function checkTaskImages(images: readonly string[]): void {
  checkOpaque(images.join(""), "images");
}
