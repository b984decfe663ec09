import type { Fault, TaskFault } from "../faults/fault.js";
import type { JsonObject } from "../json.js";
import type { ProviderCall } from "../provider-call.js";
import type { ProviderName } from "../provider-name.js";
import { type Random, randomHex } from "../random.js";

/** What a client can see of a task: where it is, and how it ended. */
export type TaskState = "queued" | "running" | "succeeded" | NonNullable<TaskFault["end"]>;

/** A task that was submitted. */
export interface Task {
  readonly id: string;
  readonly provider: ProviderName;
  readonly model: string;
  /** The fault of the submission. It says how the task goes on, and which links its result has. */
  readonly fault: Fault;
  /** Milliseconds since the epoch, by the emulator's clock. */
  readonly submittedAt: number;
  /** When it starts to run and when it ends, unless a fault says something else. */
  readonly startsAt: number;
  readonly endsAt: number;
  /** The state as a poll sees it. Counts the poll. */
  poll(): TaskState;
  /** The state without counting a poll. */
  look(): TaskState;
  /** Cancels the task if it is in one of these states. Returns whether it did. */
  cancel(from: readonly TaskState[]): boolean;
  /** The images of the result. They are made once, so that every request for the result has the same links. */
  result(call: ProviderCall): Promise<JsonObject>;
}

interface TaskDetails {
  readonly provider: ProviderName;
  readonly model: string;
  readonly fault: Fault;
  /** The number of images. They determine how long the task runs. */
  readonly images: number;
  /** Makes the images of the result. The call has the fault of the submission. */
  readonly makeResult: (call: ProviderCall) => Promise<JsonObject>;
}

/** The tasks of an emulator. */
export interface TaskStore {
  submit(details: TaskDetails): Task;
  /** `undefined` if there is no task with this id, or if it is older than a day. */
  find(provider: ProviderName, id: string): Task | undefined;
  /** The number of tasks that have not ended. */
  countActive(provider: ProviderName): number;
  clear(): void;
}

interface StoreOptions {
  readonly settings: {
    readonly now: () => number;
    readonly millisecondsPerImage: number;
    readonly millisecondsInQueue: number;
  };
  readonly random: Random;
}

const maxTasks = 10_000;
const lifetimeMs = 86_400_000;

/** Keeps the latest tasks. The limit bounds the memory of load tests. */
export function createTaskStore({ settings, random }: StoreOptions): TaskStore {
  const tasks = new Map<string, Task>();
  return {
    submit(details) {
      const id = [8, 4, 4, 4, 12].map((length) => randomHex(random, length)).join("-");
      const submittedAt = settings.now();
      const startsAt = submittedAt + settings.millisecondsInQueue;
      const endsAt = startsAt + settings.millisecondsPerImage * details.images;
      const task = createTask({ ...details, id, submittedAt, startsAt, endsAt }, settings.now);
      tasks.set(id, task);
      for (const oldest of tasks.keys()) {
        if (tasks.size <= maxTasks) break;
        tasks.delete(oldest);
      }
      return task;
    },
    find(provider, id) {
      const task = tasks.get(id);
      const isKnown = task?.provider === provider && settings.now() < task.submittedAt + lifetimeMs;
      return isKnown && task.look() !== "lost" ? task : undefined;
    },
    countActive: (provider) =>
      Array.from(tasks.values()).filter((task) => task.provider === provider && isActive(task.look())).length,
    clear: () => tasks.clear(),
  };
}

type TaskFacts = TaskDetails & Pick<Task, "id" | "submittedAt" | "startsAt" | "endsAt">;

function createTask(facts: TaskFacts, now: () => number): Task {
  const { id, provider, model, fault, submittedAt, startsAt, endsAt } = facts;
  const { runningPolls, stuck, end = "succeeded" } = fault.task ?? {};
  let polls = 0;
  let isCanceled = false;
  let result: Promise<JsonObject> | undefined;
  const look = (): TaskState => {
    if (isCanceled) return "canceled";
    if (end === "lost") return "lost";
    if (runningPolls !== undefined && polls <= runningPolls) return polls <= 1 ? "queued" : "running";
    if (stuck === true) return "running";
    if (runningPolls !== undefined) return end;
    if (now() < startsAt) return "queued";
    return now() < endsAt ? "running" : end;
  };
  return {
    id,
    provider,
    model,
    fault,
    submittedAt,
    startsAt,
    endsAt,
    look,
    poll() {
      polls += 1;
      return look();
    },
    cancel(from) {
      const isPossible = from.includes(look());
      isCanceled ||= isPossible;
      return isPossible;
    },
    result(call) {
      result ??= facts.makeResult({ ...call, fault }).catch((error: unknown) => {
        result = undefined; // The client may have disconnected. The next request tries again.
        throw error;
      });
      return result;
    },
  };
}

/** Whether a task has not ended. */
export function isActive(state: TaskState): boolean {
  return state === "queued" || state === "running";
}
