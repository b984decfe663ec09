import {
  checkTaskImages,
  checkUpstream,
  isName,
  type TaskChange,
  type TaskStore,
  type TaskSubmission,
} from "@calotype/core/stores";
import { createBatchQueue } from "./batch-queue.js";
import type { Database } from "./database.js";
import type { Notifications } from "./notifications.js";
import type { Owner } from "./owner.js";
import type { Periods } from "./periods.js";
import { isRefusal } from "./postgres-error.js";
import {
  createSteps,
  createTaskStatements,
  type EndEntry,
  type EndedTask,
  type StepEntry,
  type SubmissionEntry,
  toEndEntry,
  toSubmissionEntry,
} from "./task-statements.js";
import { createTaskSweep } from "./task-sweep.js";
import { createUnsureHolds } from "./writes.js";

/** The tasks of a ledger. */
export interface Tasks {
  readonly store: TaskStore;
  /** Resolves when all submissions and ends so far are done or have failed. */
  settled(): Promise<void>;
}

/** What tasks work with. */
export interface TasksParts {
  readonly database: Database;
  readonly schema: string;
  readonly owner: Owner;
  readonly periods: Periods;
  readonly notifications: Notifications;
  /** Resolves when the tables can be written to. */
  readonly ready: () => Promise<void>;
  readonly timeoutMs: number;
}

/** The maximum length of the opaque strings of one statement, so that it needs little memory here and on the server. */
const LARGEST_STATEMENT = 8 * 1024 * 1024;

/**
 * The tasks in a schema. Submissions, ends and marks that are made at the same time are sent together.
 *
 * A statement whose connection was lost is sent again. So each must have its effect once:
 *
 * - A submission finds the task that the first statement stored. While it is unsure whether a task was or will be stored,
 *   its id is remembered here. Then `cancel` leaves a marker in the database, with which a late statement fails. If the
 *   second statement was refused, the same is done, because the client is told that there is no task.
 * - `take`, `markSent`, `addImages` and `keepUpstream` are recognized by the number of their call. If a call of `take` or `markSent` fails,
 *   the worker does not run the tasks, so those that it changed go back to the queue with the next `take` or `sweep`.
 * - An end is an end once.
 */
export function createTasks(parts: TasksParts): Tasks {
  const { database, schema, owner, periods, notifications, ready, timeoutMs } = parts;
  const steps = createSteps();
  const statements = createTaskStatements(database, { schema, owner, steps, periods });
  const sweep = createTaskSweep(database, { schema, owner, steps });
  const unsureTasks = createUnsureHolds();
  const { tell } = notifications;

  const tellEnds = (ended: readonly EndedTask[]): void => {
    tell(ended.map(({ id }): TaskChange => ({ kind: "changed", id })));
    if (ended.some(({ hasMessage }) => hasMessage)) tell([{ kind: "message" }]);
  };

  const submissions = createBatchQueue(
    timeoutMs,
    (entries: readonly SubmissionEntry[]) => submitTogether(entries),
    (entry, { kind }) => {
      if (kind === "submitted") cancelLate(entry);
    },
  );
  const marks = createBatchQueue(timeoutMs, (entries: readonly StepEntry[]) => statements.markSent(entries));
  const ends = createBatchQueue(timeoutMs, async (entries: readonly EndEntry[]) => {
    for (const part of splitBySize(entries, sizeOfEnd)) tellEnds(await statements.end(part));
    return entries.map(() => undefined);
  });

  async function submitTogether(entries: readonly SubmissionEntry[]): Promise<readonly TaskSubmission[]> {
    const outcomes = new Map<SubmissionEntry, TaskSubmission>();
    for (const distinct of splitRepeated(entries)) {
      for (const part of splitBySize(distinct, ({ task }) => task.input.length)) {
        const onUnsure = (): void => {
          for (const { task } of part) unsureTasks.add(task);
        };
        const results = await statements.submit(part, onUnsure);
        for (const [at, outcome] of results.entries()) {
          const entry = part[at];
          if (entry !== undefined) outcomes.set(entry, outcome);
        }
      }
    }
    return entries.flatMap((entry) => outcomes.get(entry) ?? []);
  }

  async function runSubmission(entry: SubmissionEntry): Promise<TaskSubmission> {
    try {
      return await submissions.run(entry);
    } catch (error) {
      // The statement may still reach the server.
      if (!isRefusal(error)) unsureTasks.add(entry.task);
      throw error;
    }
  }

  async function markSent(id: string): Promise<boolean> {
    const step = steps.next();
    try {
      return await marks.run({ id, step });
    } catch (error) {
      steps.addUnsure(step);
      throw error;
    }
  }

  async function cancel(caller: string, id: string): ReturnType<TaskStore["cancel"]> {
    const isUnsure = unsureTasks.callerOf(id) === caller;
    const cancelled = await statements.cancel(caller, id, isUnsure);
    if (isUnsure) unsureTasks.forget(id);
    if (cancelled === undefined) return undefined;
    const { task, input, hasMessage } = cancelled;
    if (input === undefined) return { task };
    tellEnds([{ id, hasMessage }]);
    return { task, input };
  }

  /** Not awaited. If it fails, the gateway's own cancellation may still succeed. */
  function cancelLate({ task }: SubmissionEntry): void {
    unsureTasks.add(task);
    cancel(task.caller, task.id).catch(() => undefined);
  }

  const store: TaskStore = {
    submit: async (task, hold) => {
      const entry = toSubmissionEntry(task, hold);
      await ready();
      const outcome = await runSubmission(entry);
      if (outcome.kind === "submitted") {
        unsureTasks.forget(entry.id);
        tell([{ kind: "queued" }]);
      } else if (unsureTasks.callerOf(entry.id) !== undefined) {
        // The task was sent twice, and the first statement may still arrive.
        cancelLate(entry);
      }
      return outcome;
    },
    take: async (options) => {
      await ready();
      return await statements.take(options);
    },
    markSent: async (id) => {
      await ready();
      const isSent = isName(id) && (await markSent(id));
      if (isSent) tell([{ kind: "changed", id }]);
      return isSent;
    },
    putBack: async (ids) => {
      await ready();
      // An id that is not a name cannot exist in PostgreSQL, and must not be sent to it.
      const names = ids.filter(isName);
      if (names.length > 0 && (await statements.putBack(names))) tell([{ kind: "queued" }]);
    },
    keepUpstream: async (id, upstream) => {
      checkUpstream(upstream);
      await ready();
      if (isName(id)) await statements.keepUpstream({ id, step: steps.next() }, upstream);
    },
    addImages: async (id, images) => {
      checkTaskImages(images);
      await ready();
      if (!isName(id) || images.length === 0) return;
      if (await statements.addImages({ id, step: steps.next() }, images)) tell([{ kind: "changed", id }]);
    },
    end: async (end) => {
      const entry = toEndEntry(end);
      await ready();
      await ends.run(entry);
    },
    cancel: async (caller, id) => {
      await ready();
      return isName(caller) && isName(id) ? await cancel(caller, id) : undefined;
    },
    find: async (caller, id) => {
      await ready();
      return isName(caller) && isName(id) ? await statements.find(caller, id) : undefined;
    },
    list: async (caller, page) => {
      await ready();
      const isKnown = isName(caller) && (page.after === undefined || isName(page.after));
      return isKnown ? await statements.list(caller, page) : [];
    },
    listAll: async (query) => {
      await ready();
      return await statements.listAll(query);
    },
    sweep: async (options) => {
      await ready();
      const { lost, inputs, hasPutBack, ended, finish } = await sweep(options);
      if (hasPutBack) tell([{ kind: "queued" }]);
      tellEnds(ended);
      finish();
      return { lost, inputs };
    },
    watch: (listener) =>
      notifications.watch((change) => {
        if (change.kind === "queued" || change.kind === "changed") listener(change);
      }),
  };
  return {
    store,
    settled: async () => {
      await Promise.all([submissions.settled(), marks.settled(), ends.settled()]);
    },
  };
}

const sizeOfEnd = ({ result, error, recordText }: EndEntry): number =>
  (result?.length ?? 0) + (error?.length ?? 0) + (recordText?.length ?? 0);

/** Splits entries, in their order, into parts whose strings are not too long together. */
function splitBySize<Entry>(entries: readonly Entry[], sizeOf: (entry: Entry) => number): Entry[][] {
  const parts: Entry[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    size += sizeOf(entry);
    if (size > LARGEST_STATEMENT) {
      parts.push([]);
      size = sizeOf(entry);
    }
    parts.at(-1)?.push(entry);
  }
  return parts;
}

/** Splits entries so that no part has two with the same id, request id or key. The first one is in an earlier part. */
function splitRepeated(entries: readonly SubmissionEntry[]): SubmissionEntry[][] {
  const parts: { readonly entries: SubmissionEntry[]; readonly names: Set<string> }[] = [];
  for (const entry of entries) {
    const { id, requestId, repeat } = entry.task;
    const names = [
      `id ${id}`,
      `request ${requestId}`,
      ...(repeat === undefined ? [] : [`key ${repeat.key}`]),
    ];
    const later = parts.findLastIndex((part) => names.some((name) => part.names.has(name))) + 1;
    const part = parts[later] ?? { entries: [], names: new Set() };
    parts[later] = part;
    part.entries.push(entry);
    for (const name of names) part.names.add(name);
  }
  return parts.map((part) => part.entries);
}
