import { findAbility } from "../../billing/ledger-ability.js";
import type { Contribution, Feature, Kernel } from "../../kernel/feature.js";
import { closedError } from "../../kernel/lifecycle.js";
import { type RelatedOptions, withDefaults } from "../../options/options.js";
import { checkFeatureOptions } from "../../options/problems.js";
import { findPathBefore } from "../../request/route.js";
import { openPrivateObjects } from "../results/results.js";
import type { ResultsOptions } from "../results/results-options.js";
import { TASK_STORE, type TaskStore } from "../task-store/task-store.js";
import { createTaskSubmissions, type NamedEndpoints, type Tasks } from "./submit.js";
import { createTaskSweep } from "./sweep.js";
import { removeBodies } from "./task-body.js";
import { DEFAULT_TASKS, type TaskOptions } from "./task-options.js";
import { createTaskReports, type ReportedTasks, type TaskReports } from "./task-reports.js";
import { openResult } from "./task-result.js";
import { taskSchema } from "./task-schema.js";
import { createTaskWatch } from "./task-watch.js";
import { createTasksRoute } from "./tasks-endpoint.js";
import { createTaskWorker } from "./worker.js";

/** What tasks use of other features. */
export interface TaskLinks<Options extends RelatedOptions = RelatedOptions> {
  /** The options of `results`: long requests and results are kept in its store. Default: only short ones are accepted. */
  readonly results?: ResultsOptions | undefined;
  /** The feature `webhooks`, whose endpoints get a message when a task ends. Default: none. */
  readonly webhooks?: { endpointsOf(options: Options): NamedEndpoints | undefined } | undefined;
}

/** What {@link tasks} adds to a gateway. */
export interface TasksApi {
  /**
   * Runs the tasks that wait and sends webhooks, and resolves when the tasks have ended: for hosts that stop a process
   * between requests, called by a schedule. Elsewhere this happens by itself.
   *
   * @throws GatewayError `gateway_closed`; TypeError if the ledger keeps no tasks; RangeError for `seconds` that are not a
   * number of at least 0
   */
  runTasks(options?: RunTasksOptions): Promise<TaskBatch>;
  /** The tasks of all callers. */
  readonly tasks: TaskReports;
}

/** How long {@link TasksApi.runTasks} works. */
export interface RunTasksOptions {
  /**
   * After this time no further task is begun, in seconds. Those that were begun run to their end, which can take minutes. Default
   * 30.
   */
  readonly seconds?: number | undefined;
}

/** What {@link TasksApi.runTasks} did. */
export interface TaskBatch {
  /** How many tasks were taken from the queue. */
  readonly tasks: number;
}

/**
 * Requests with `Prefer: respond-async` are stored, run later, and read at `/v1/images/tasks`. The ledger must keep tasks.
 *
 * @throws GatewayOptionsError
 */
export function tasks(options: TaskOptions = {}, links: TaskLinks = {}): Feature<TasksApi> {
  checkFeatureOptions(taskSchema, options);
  return createTasksFeature(options, links);
}

/** @param options validated */
export function createTasksFeature<Options extends RelatedOptions>(
  options: TaskOptions | undefined,
  links: TaskLinks<Options>,
): Feature<TasksApi, Options> {
  return {
    name: "tasks",
    setup(kernel) {
      const store = findAbility(kernel.ledger, TASK_STORE);
      const runTasks: TasksApi["runTasks"] = async ({ seconds = 30 } = {}) => {
        if (!(seconds >= 0)) throw new RangeError("seconds must be a number of seconds of at least 0.");
        if (kernel.isClosing()) throw closedError();
        if (run === undefined) throw new TypeError("The ledger of this gateway keeps no tasks.");
        const batch = run(seconds * 1000);
        kernel.track(batch);
        return { tasks: await batch };
      };
      const { run, reported, ...contribution } =
        store === undefined ? {} : serveTasks(kernel, store, { options, links });
      return { ...contribution, api: { runTasks, tasks: createTaskReports(reported) } };
    },
  };
}

/** How long `runTasks` waits for webhooks after the tasks. The rest is sent by later calls. */
const FLUSH_MS = 15_000;

function serveTasks<Options extends RelatedOptions>(
  kernel: Kernel<Options>,
  store: TaskStore,
  { options, links }: { readonly options: TaskOptions | undefined; readonly links: TaskLinks<Options> },
): Contribution<object, Options> & {
  readonly run: (ms: number) => Promise<number>;
  readonly reported: ReportedTasks;
} {
  const { logger, track, basePath } = kernel;
  const set = withDefaults(DEFAULT_TASKS, options);
  const objects = openPrivateObjects(links.results);
  const keepMs = set.keepSeconds * 1000;
  const own = {
    store,
    objects,
    keepMs,
    ttlMs: set.expiresAfterSeconds * 1000,
    room: { tasks: set.maxOpen, bytes: set.maxOpenBytes },
    findBasePath: (request, endpoint) => findPathBefore(request, endpoint, basePath),
  } satisfies Tasks;
  const worker = createTaskWorker(kernel, { ...own, concurrency: set.concurrency });
  const sweep = createTaskSweep(kernel, own);
  const watch = createTaskWatch({ ...kernel, store });
  const served = {
    ...kernel,
    store,
    watch,
    openResult: (result: string) => openResult(result, objects),
    removeInput: (input: string) => track(removeBodies([input], { objects, logger })),
  };
  return {
    reported: served,
    routes: (host) => [createTasksRoute(host, served)],
    chores: [worker, { sweep, stop: () => watch.close() }],
    configure: (configured) => ({
      submissions: createTaskSubmissions({
        ...configured,
        tasks: own,
        webhookEndpoints: links.webhooks?.endpointsOf(configured.options),
      }),
    }),
    run: async (ms) => {
      const { chores = [] } = kernel.contributed();
      const continued = [];
      for (const chore of chores) continued.push(await chore.takeOver?.(true));
      await sweep();
      const count = await worker.runBatch(ms);
      for (const taken of continued) await taken?.ended;
      for (const chore of chores) await chore.flush?.(FLUSH_MS);
      return count;
    },
  };
}
