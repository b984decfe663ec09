import type { SafeAttemptObserver } from "../contract/observer.js";
import type { ProviderTask } from "../families/task.js";
import type { Logger } from "../logger.js";
import { isJsonObject } from "../util/json.js";

/**
 * A task that a provider accepted, as it is stored with the hold of its request before the first poll. Plain JSON, so that
 * another process can continue to wait for it.
 */
export interface KeptTask {
  /** The id of the channel that submitted it. */
  readonly channel: string;
  /** The health id of the key that submitted it. */
  readonly key: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly task: ProviderTask;
  /** When the gateway stops waiting, in milliseconds since 1970. */
  readonly until: number;
}

/** Keeps the tasks that providers accepted for one call, so that another process can continue to wait for them. */
export interface TaskKeeper {
  /** @param index the index of the upstream call, if the request takes several; else 0 */
  keep(index: number, task: KeptTask): Promise<void>;
  /**
   * The tasks that an earlier process kept, by the index of their upstream call. Then nothing is sent: what became of the
   * other calls is unknown. Absent: this process is the first.
   */
  readonly earlier?: ReadonlyMap<number, KeptTask> | undefined;
}

/**
 * Creates the keeper of a call.
 *
 * @param stored what an earlier process stored
 * @param store stores all tasks of the call together, in place of those that were stored before
 */
export function createTaskKeeper(store: (tasks: string) => Promise<void>, stored?: string): TaskKeeper {
  const earlier = stored === undefined ? undefined : readTasks(stored);
  const tasks = new Map(earlier);
  return {
    earlier,
    keep(index, task) {
      tasks.set(index, task);
      return store(JSON.stringify({ version: VERSION, tasks: [...tasks] }));
    },
  };
}

const VERSION = 1;

/** A format that is not known, such as one of a newer version, has no tasks: what became of them is unknown. */
function readTasks(stored: string): ReadonlyMap<number, KeptTask> {
  const value: unknown = JSON.parse(stored);
  if (!isJsonObject(value) || value["version"] !== VERSION || !Array.isArray(value["tasks"]))
    return new Map();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only createTaskKeeper writes this.
  return new Map(value["tasks"] as [number, KeptTask][]);
}

/** What an attempt needs of its call. */
export interface AttemptContext {
  /** Adds the request's id to each line. */
  readonly logger: Logger;
  /** Observes the attempt. `undefined` without telemetry. */
  readonly observer?: SafeAttemptObserver | undefined;
  /** Stores a provider's task with the hold. Absent: only this process can wait for it. */
  readonly keep?: ((task: KeptTask) => Promise<void>) | undefined;
  /** Fulfilled if the call was given up, because the gateway closes. Default: never. */
  readonly abandoned?: Promise<unknown> | undefined;
}
