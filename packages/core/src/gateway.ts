import { assembleGateway, type GatewayAssembly, type GatewayParts } from "./assemble.js";
import type { PriceTables } from "./billing/model-details.js";
import type { Channel } from "./channels/channel.js";
import { type BudgetReports, createBudgetReports } from "./features/budgets/read-budgets.js";
import { type Callers, createCallers } from "./features/callers/callers.js";
import { type ChannelControl, createChannelControl } from "./features/channel-control/channel-control.js";
import { findChannelStates } from "./features/channel-control/status.js";
import { createCors } from "./features/cors/cors.js";
import { type EstimateQuery, estimateRequest, type RequestEstimate } from "./features/estimate/estimate.js";
import { createFilesRoute } from "./features/files/files-endpoint.js";
import {
  createHealthChecks,
  createHealthRoute,
  type HealthChecks,
} from "./features/health/healthz-endpoint.js";
import { createLimitReports, type LimitReports } from "./features/limits/read-limits.js";
import { createModelsRoute } from "./features/models-list/models-endpoint.js";
import { createDescriptionRoute, createReferenceRoute } from "./features/openapi/openapi-endpoint.js";
import type { Refusals } from "./features/refusals/refusals.js";
import { removeBodies } from "./features/tasks/task-body.js";
import { openResult } from "./features/tasks/task-result.js";
import { createTaskWatch } from "./features/tasks/task-watch.js";
import { createTasksRoute, TASKS_PATH, type TasksParts } from "./features/tasks/tasks-endpoint.js";
import { createGatewayUsage } from "./features/usage/gateway-usage.js";
import type { GatewayUsage } from "./features/usage/usage-history.js";
import { watchOptions } from "./features/watch-options/watch-options.js";
import type { Webhooks } from "./features/webhooks/webhooks.js";
import { BUILT_IN_FAMILIES } from "./gateway-options/check-options.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import type { Dependencies } from "./kernel/kernel-parts.js";
import { closedError, shutDown } from "./kernel/lifecycle.js";
import { createRequestHandler } from "./kernel/request-handler.js";
import type { RouteHost } from "./kernel/route-host.js";
import { createFetch, type WebHost } from "./kernel/web-host.js";
import type { OptionsProblem } from "./options/options.js";
import { findPriceProblems } from "./options/problems.js";
import { type GatewayRoute, requestPath } from "./request/route.js";

/** An image-generation gateway. */
export interface Gateway extends ChannelControl {
  /** The beginning of every path of the gateway; `""` if there is none. */
  readonly basePath: string;
  /**
   * Responds to any request; with 404 if the path is not one of the gateway's. Does not reject.
   *
   * @param host `waitUntil` of hosts that stop a process after its response, such as Workers; `mountPath` if the
   * host has a path of its own before the gateway's. Default mount path: `/`.
   */
  fetch(request: Request, host?: WebHost): Promise<Response>;
  /**
   * For adapters: responds to a request for one of the gateway's paths. For any other path it returns `null` at once
   * and has read nothing, so that the host can call its next handler. The promise does not reject.
   */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** Returns the 404 for a path that no route serves, for hosts without a 404 of their own. */
  notFound(request: Pick<GatewayRequest, "method" | "url" | "headers">): GatewayResponse;
  /**
   * Begins now what otherwise begins with the first request: it ends what processes that died have left, runs tasks that
   * wait, and sends webhooks. For a server that runs for long, which may get no request for some time after its start.
   * `closeOnSignals` of `@calotype/node` calls it.
   */
  start(): void;
  /**
   * Runs the tasks that wait and sends webhooks, and resolves when the tasks have ended: for hosts that stop a process
   * between requests, called by a schedule. Elsewhere this happens by itself.
   *
   * @throws GatewayError `gateway_closed`; TypeError if the ledger keeps no tasks; RangeError for `seconds` that are not a
   * number of at least 0
   */
  runTasks(options?: RunTasksOptions): Promise<TaskBatch>;
  /**
   * Returns what a request would be charged at most, and its size as the provider would get it. Nothing is sent, held or
   * counted.
   *
   * @param request of the request only the API key or the `caller`, and the `preferences` are used
   * @throws GatewayError as the request itself would: `invalid_api_key`, `model_not_found`, `invalid_request_error` …
   */
  estimate(
    request: Pick<GatewayRequest, "headers" | "caller" | "preferences">,
    asked: EstimateQuery,
  ): Promise<RequestEstimate>;
  /** Returns the prices that are in effect now. `undefined` without the option `billing`. */
  prices(): Promise<PriceTables | undefined>;
  /**
   * Checks prices with the rules of the option `billing`, before `calculateCharge` or `repriceRecords` use them. Returns every
   * problem with its path, such as `model_details["image-*"].model_price`; an empty list if there is none. Whether the gateway
   * has the models is not checked, because records may have others.
   */
  checkPrices(tables: unknown): readonly OptionsProblem[];
  /** What was used and charged, and the open holds of callers. Read-only. */
  readonly usage: GatewayUsage;
  /** What callers have spent of their budgets, and the periods before. Read-only. */
  readonly budgets: BudgetReports;
  /** How close callers are to their limits. Read-only. */
  readonly limits: LimitReports;
  /** The requests that were refused, which have no usage record. Read-only. */
  readonly refusals: Refusals;
  /** The messages about ended tasks and about budgets, and how to send them again. */
  readonly webhooks: Webhooks;
  /** Creates, changes and revokes callers at run time, in addition to those of the options. */
  readonly callers: Callers;
  /**
   * Calls the options that were given as functions again, and uses the results if all of them are valid. Requests in
   * progress keep the options they began with. Called once after the start, it also shows whether such options are
   * valid.
   *
   * @throws GatewayOptionsError, or what a function threw; then nothing changes
   */
  reload(): Promise<void>;
  /** True if options were given as functions, such as `jsonFile(…)` of `@calotype/node`: `reload` reads them again. */
  readonly isReloadable: boolean;
  /**
   * Accepts no new request, waits until those in progress are settled, delivers the waiting records to `onUsage`, and
   * closes the connections to the providers. A ledger or an admission store that you created stays open.
   *
   * @throws RangeError for a deadline that is not a number of at least 0; then nothing is closed
   */
  close(options?: CloseOptions): Promise<void>;
}

/** How long {@link Gateway.runTasks} works. */
export interface RunTasksOptions {
  /**
   * After this time no further task is begun, in seconds. Those that were begun run to their end, which can take minutes. Default
   * 30.
   */
  readonly seconds?: number | undefined;
}

/** What {@link Gateway.runTasks} did. */
export interface TaskBatch {
  /** How many tasks were taken from the queue. */
  readonly tasks: number;
}

/** How long a gateway may take to close. */
export interface CloseOptions {
  /**
   * After this time the requests in progress are cut off: their holds become unresolved records, charged as
   * `billing.onLost` says. `onUsage` then has three seconds for the waiting records. Default: no deadline.
   */
  readonly deadlineSeconds?: number | undefined;
}

/**
 * Creates a gateway. Mount it with an adapter (`@calotype/express`, `koa`, `next`, `node`), or call its `fetch`.
 *
 * @param options the models, the accounts at providers, the callers, and everything that has a default
 * @param dependencies for tests: the clock, random numbers, ids and the transport. Each has a default.
 * @throws GatewayOptionsError with every problem of the options and its path
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 *
 * const gateway = createGateway({
 *   models: { "seedream-4-5-251128": { family: "seedream" } },
 *   channels: [
 *     {
 *       id: "ark",
 *       family: "seedream",
 *       apiKey: process.env.ARK_API_KEY,
 *       modelMapping: { "seedream-4-5-251128": "doubao-seedream-4-5-251128" },
 *     },
 *   ],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const response = await gateway.fetch(new Request("http://localhost/v1/images/generations", { method: "POST" }));
 * // response.status === 401
 * ```
 */
export function createGateway(options: GatewayOptions, dependencies: Partial<Dependencies> = {}): Gateway {
  const assembly = assembleGateway(options, dependencies);
  const { permanent, reloadable, maintenance } = assembly;
  const checks = createHealthChecks({ ...permanent, loadOptions: () => reloadable.get() });
  let closing: Promise<void> | undefined;
  const isClosing = (): boolean => closing !== undefined;
  const { basePath = "" } = options;
  const tasks = toTasksParts(permanent);
  const handler = createRequestHandler({
    assembly,
    basePath,
    families: [...BUILT_IN_FAMILIES, ...(options.families ?? [])],
    cors: createCors(options.cors),
    createRoutes: (host) => createRoutes(host, { assembly, options, checks, tasks }),
    describeUnserved: (request) => describeUnserved(request, { basePath, servesTasks: tasks !== undefined }),
    isClosing,
  });
  const endWatch = permanent.observation?.watchChannels(() =>
    findChannelStates(reloadable.current?.channels ?? [], permanent),
  );
  const end = async (deadlineMs: number): Promise<void> => {
    try {
      await shutDown({ ...permanent, ...assembly }, deadlineMs);
    } finally {
      endWatch?.();
      await permanent.refusals.stop();
    }
  };

  const watched = watchOptions(options, () => reloadable.reload(), permanent.logger);

  return {
    basePath,
    isReloadable: watched.isReloadable,
    handle: (request) => handler.handle(request),
    notFound: (request) => handler.notFound(request),
    fetch: createFetch(handler),
    ...createChannelControl({ ...permanent, ...assembly, checks, isClosing }),
    estimate: async (request, asked) => estimateRequest(await reloadable.get(), request, asked),
    prices: async () => (await reloadable.get()).prices?.tables,
    checkPrices: findPriceProblems,
    start() {
      if (!isClosing()) maintenance.start();
    },
    async runTasks({ seconds = 30 } = {}) {
      if (!(seconds >= 0)) throw new RangeError("seconds must be a number of seconds of at least 0.");
      if (isClosing()) throw closedError();
      return { tasks: await runBatch(assembly, seconds * 1000) };
    },
    usage: createGatewayUsage(permanent.ledger),
    budgets: createBudgetReports(permanent.ledger, permanent.budgetStore),
    limits: createLimitReports({
      ...permanent,
      loadModels: async () => (await reloadable.get()).models,
      isCaseInsensitive: options.caseInsensitiveNames ?? false,
    }),
    refusals: { find: (id) => permanent.refusals.find(id) },
    webhooks: assembly.webhooks.api,
    callers: createCallers({
      store: permanent.callerStore,
      loadRules: async () => (await reloadable.get()).callerRules,
      onChange: (id) => permanent.storedCallers?.forget(id),
    }),
    reload: () => reloadable.reload(),
    close({ deadlineSeconds = Infinity } = {}) {
      // NaN, for example of a missing environment variable, must not cut off everything.
      if (!(deadlineSeconds >= 0)) return Promise.reject(new RangeError(DEADLINE));
      tasks?.watch.close();
      watched.stop();
      permanent.storedCallers?.close();
      closing ??= end(deadlineSeconds * 1000);
      return closing;
    },
  };
}

/** What the routes of the features are created from. */
interface RouteSources {
  readonly assembly: GatewayAssembly;
  readonly options: GatewayOptions;
  readonly checks: HealthChecks;
  readonly tasks: TasksParts | undefined;
}

/** The routes of the features that these options turn on. */
function createRoutes(
  host: RouteHost<GatewayParts>,
  { assembly, options, checks, tasks }: RouteSources,
): readonly GatewayRoute[] {
  const { permanent, reloadable } = assembly;
  const { logger } = permanent;
  const { openapi: document, reference: page } = options;
  const served = permanent.results?.served;
  const health = {
    checks,
    channels: () => reloadable.current?.channels,
    findStates: (channels: readonly Channel[]) => findChannelStates(channels, permanent),
  };
  return [
    createModelsRoute(host),
    served && createFilesRoute(host, { ...permanent, served }),
    tasks && createTasksRoute(host, tasks),
    options.healthz === true ? createHealthRoute(host, health) : undefined,
    document ? createDescriptionRoute(host, { document, logger }) : undefined,
    page && createReferenceRoute(host, { page, logger }),
  ].filter((route) => route !== undefined);
}

/** What the routes of tasks need. `undefined` if the ledger keeps no tasks. */
function toTasksParts(permanent: GatewayAssembly["permanent"]): TasksParts | undefined {
  const { tasks, track, logger } = permanent;
  if (tasks === undefined) return undefined;
  const { store, objects } = tasks;
  return {
    ...permanent,
    store,
    watch: createTaskWatch({ ...permanent, store }),
    openResult: (result) => openResult(result, objects),
    removeInput: (input) => track(removeBodies([input], { objects, logger })),
  };
}

/** Says which paths the gateway serves. */
function describeUnserved(
  request: Pick<GatewayRequest, "method" | "url">,
  { basePath, servesTasks }: { readonly basePath: string; readonly servesTasks: boolean },
): string {
  const path = requestPath(request);
  const requested = `${request.method} ${path}`.slice(0, 256);
  if (!servesTasks && TASKS_PATH.test(path)) {
    return (
      `${requested} is not served, because the ledger of this gateway keeps no tasks. The ledgers in memory, of ` +
      "@calotype/sqlite and of @calotype/postgres do."
    );
  }
  const below = basePath === "" ? "" : ` below ${basePath}`;
  return (
    `${requested} is not served. The gateway serves POST requests whose path ends in /v1/images/generations, ` +
    "/v1/images/edits, /api/v3/images/generations or /api/v1/services/aigc/multimodal-generation/generation, and " +
    `GET /v1/models${servesTasks ? " and /v1/images/tasks" : ""}${below}.`
  );
}

/** How long `runTasks` waits for webhooks after the tasks. The rest is sent by later calls. */
const WEBHOOK_BATCH_MS = 15_000;

const DEADLINE = "deadlineSeconds must be a number of seconds of at least 0; the gateway was not closed.";

/** Begins tasks for this time, and sends webhooks. Resolves with the number of tasks, when they have ended. */
async function runBatch(
  { permanent, tracker, sweepTasks, worker, webhooks, continuer }: GatewayAssembly,
  ms: number,
): Promise<number> {
  if (worker === undefined) throw new TypeError("The ledger of this gateway keeps no tasks.");
  const batch = (async () => {
    const continued = await continuer?.run();
    await sweepTasks?.();
    const count = await worker.runBatch(ms);
    await continued?.ended;
    await permanent.alerts.run();
    await webhooks.runBatch(WEBHOOK_BATCH_MS);
    return count;
  })();
  tracker.track(batch);
  return batch;
}
