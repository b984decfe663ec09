import type { SafeAttemptObserver } from "../contract/observer.js";
import type { ProviderJob } from "../families/job.js";
import type { Logger } from "../logger.js";
import { isJsonObject } from "../util/json.js";

/**
 * A job that a provider accepted, as it is stored with the hold of its request before the first poll. Plain JSON, so that
 * another process can continue to wait for it.
 */
export interface StoredJob {
  /** The id of the channel that submitted it. */
  readonly channel: string;
  /** The health id of the key that submitted it. */
  readonly key: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly job: ProviderJob;
  /** When the gateway stops waiting, in milliseconds since 1970. */
  readonly until: number;
}

/** The jobs that providers accepted for one call. They are stored, so that another process can continue to wait for them. */
export interface StoredJobs {
  /** @param index the index of the upstream call, if the request takes several; else 0 */
  add(index: number, job: StoredJob): Promise<void>;
  /**
   * The jobs that an earlier process stored, by the index of their upstream call. Then nothing is sent: what became of the
   * other calls is unknown. Absent: this process is the first.
   */
  readonly earlier?: ReadonlyMap<number, StoredJob> | undefined;
}

/**
 * Creates the stored jobs of a call.
 *
 * @param store stores all jobs of the call together, in place of those that were stored before
 * @param stored what an earlier process stored
 */
export function createStoredJobs(store: (jobs: string) => Promise<void>, stored?: string): StoredJobs {
  const earlier = stored === undefined ? undefined : readJobs(stored);
  const jobs = new Map(earlier);
  return {
    earlier,
    add(index, job) {
      jobs.set(index, job);
      return store(writeJobs(jobs));
    },
  };
}

const VERSION = 1;

/** Jobs are `tasks` in the stored format, because processes of an older version may continue them. */
function writeJobs(jobs: ReadonlyMap<number, StoredJob>): string {
  const tasks = Array.from(jobs, ([index, { job, ...rest }]) => [index, { ...rest, task: job }]);
  return JSON.stringify({ version: VERSION, tasks });
}

/** A format that is not known, such as one of a newer version, has no jobs: what became of them is unknown. */
function readJobs(stored: string): ReadonlyMap<number, StoredJob> {
  const value: unknown = JSON.parse(stored);
  if (!isJsonObject(value) || value["version"] !== VERSION || !Array.isArray(value["tasks"]))
    return new Map();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only writeJobs writes this.
  const jobs = value["tasks"] as [number, Omit<StoredJob, "job"> & { readonly task: ProviderJob }][];
  return new Map(jobs.map(([index, { task, ...rest }]) => [index, { ...rest, job: task }]));
}

/** What an attempt needs of its call. */
export interface AttemptContext {
  /** Adds the request's id to each line. */
  readonly logger: Logger;
  /** Observes the attempt. `undefined` without telemetry. */
  readonly observer?: SafeAttemptObserver | undefined;
  /** Stores a provider's job with the hold. Absent: only this process can wait for it. */
  readonly storeJob?: ((job: StoredJob) => Promise<void>) | undefined;
  /** Fulfilled if the call was given up, because the gateway closes. Default: never. */
  readonly abandoned?: Promise<unknown> | undefined;
}
