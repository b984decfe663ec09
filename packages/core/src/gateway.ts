import type { PauseOptions, ResumeOptions } from "./admission/pauses.js";
import { createLimitReports, type LimitReports } from "./admission/read-limits.js";
import { assembleGateway, type Dependencies, type GatewayAssembly, type GatewayParts } from "./assemble.js";
import { createGatewayUsage } from "./billing/gateway-usage.js";
import type { PriceTables } from "./billing/model-details.js";
import { type BudgetReports, createBudgetReports } from "./billing/read-budgets.js";
import type { GatewayUsage } from "./billing/usage-history.js";
import { type Callers, createCallers } from "./callers/callers.js";
import type { Channel } from "./channels/channel.js";
import {
  type ChannelStatus,
  describeChannel,
  describeChannels,
  findChannelStates,
} from "./channels/status.js";
import { createCors } from "./cors.js";
import { GatewayError } from "./errors.js";
import { type EstimateQuery, estimateRequest, type RequestEstimate } from "./estimate.js";
import { createArrival, RequestReport } from "./events.js";
import { type FilesParts, respondWithFile } from "./files-endpoint.js";
import {
  CHECK_LIMIT_MS,
  createHealthChecks,
  type HealthCheckStatus,
  respondWithHealth,
} from "./healthz-endpoint.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { shutDown } from "./lifecycle.js";
import { respondWithModels } from "./models-endpoint.js";
import { respondWithDescription, respondWithReference } from "./openapi-endpoint.js";
import type { GatewayOptions, OptionsProblem } from "./options/options.js";
import { findPriceProblems } from "./options/validate.js";
import { holdHost, runPipeline } from "./pipeline.js";
import {
  createRouteMatcher,
  type Endpoint,
  type FilesRoute,
  isTasksPath,
  type ModelsRoute,
  type PageRoute,
  requestPath,
  type TasksRoute,
} from "./request/route.js";
import { renderError } from "./responses/envelope.js";
import { removeBodies } from "./tasks/task-body.js";
import { openResult } from "./tasks/task-result.js";
import { createTaskWatch } from "./tasks/task-watch.js";
import { respondWithTasks, type TasksParts } from "./tasks-endpoint.js";
import {
  type ChannelProbe,
  type ChannelProbeOptions,
  estimateProbe,
  type ProbeEstimate,
  probeChannel,
} from "./upstream/probe-channel.js";
import { settlesWithin } from "./util/async.js";
import { createFetch, type WebHost } from "./web-host.js";
import type { Webhooks } from "./webhooks/webhooks.js";

/** An image-generation gateway. */
export interface Gateway {
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
   * The state of the channels, of the ledger and of the admission store, as this process knows it. It asks neither of
   * them. A channel that was paused or resumed in another process is shown after the next request for one of its models,
   * or after 10 seconds.
   */
  status(): GatewayStatus;
  /**
   * The state of the channels, of the ledger and of the admission store, after both were asked whether they work, and the
   * store also which channels are paused. A part that does not respond within 0.8 seconds is `failing`; a result of the last
   * second is used again. If the store fails, the state of the channels is what this process knows. Does not reject.
   */
  checkStatus(): Promise<GatewayStatus>;
  /**
   * Requests one small image from a channel with each of its keys. The provider charges for the images. A success ends
   * a cooldown, so that a repaired account is used again at once.
   *
   * @throws GatewayError `channel_not_found`, `model_not_found` if the channel does not serve the model,
   * `invalid_request_error`, `gateway_closed`
   */
  probeChannel(channel: string, options?: ChannelProbeOptions): Promise<ChannelProbe>;
  /**
   * Returns what `probeChannel` would request: how many images, and of which models. Sends nothing.
   *
   * @throws GatewayError `channel_not_found`
   */
  estimateProbe(channel: string): Promise<ProbeEstimate>;
  /**
   * Sends no further request to a channel, in any process that shares the admission store, until it is resumed or the
   * time is over. Calls in progress go on, and so do those that a provider has accepted. A model whose channels are all
   * paused is refused with `model_paused`. `probeChannel` still works. The pause belongs to the channel's id. With the
   * store in memory it ends with the process. Pausing a paused channel replaces its pause.
   *
   * @throws GatewayError `channel_not_found`, `invalid_request_error`, `gateway_closed`; `gateway_unavailable` if the
   * admission store did not confirm the pause
   */
  pauseChannel(channel: string, options?: PauseOptions): Promise<ChannelStatus>;
  /**
   * Ends the pause of a channel. A channel that is not paused stays as it is.
   *
   * @throws GatewayError as {@link Gateway.pauseChannel}
   */
  resumeChannel(channel: string, options?: ResumeOptions): Promise<ChannelStatus>;
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
  /** The messages about ended tasks, and how to send them again. */
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

/** What `gateway.status()` returns. */
export interface GatewayStatus {
  /** In the order of the options. Empty until the options were loaded. */
  readonly channels: readonly ChannelStatus[];
  /** The last check of the ledger, by `GET {base}/healthz` or `gateway.checkStatus()`. */
  readonly ledger: HealthCheckStatus;
  /** The last check of the admission store, by `GET {base}/healthz` or `gateway.checkStatus()`. */
  readonly store: HealthCheckStatus;
}

/**
 * Creates a gateway.
 *
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
  const { permanent, reloadable, tracker, maintenance, worker, webhooks, continuer } = assembly;
  const basePath = options.basePath ?? "";
  const files = toFilesParts(permanent);
  const tasks = toTasksParts(permanent);
  const description = options.openapi === false ? undefined : options.openapi;
  const matchRoute = createRouteMatcher(basePath, {
    servesFiles: files !== undefined,
    servesTasks: tasks !== undefined,
    pages: [
      ...(options.healthz === true ? (["healthz"] as const) : []),
      ...(description === undefined ? [] : (["openapi"] as const)),
      ...(options.reference === undefined ? [] : (["reference"] as const)),
    ],
  });
  const checks = createHealthChecks({ ...permanent, loadOptions: () => reloadable.get() });
  const healthz = { checks, channels: () => reloadable.current?.channels, states: permanent };
  const cors = createCors(options.cors);
  const endWatch = permanent.observation?.watchChannels(() =>
    findChannelStates(reloadable.current?.channels ?? [], permanent),
  );
  let closing: Promise<void> | undefined;

  const status = (): GatewayStatus => ({
    channels: describeChannels(reloadable.current?.channels ?? [], permanent),
    ledger: checks.ledger.status(),
    store: checks.store.status(),
  });

  const notFound: Gateway["notFound"] = (request) => {
    const context = { id: permanent.createId(), mask: currentMask(assembly) };
    const error = notFoundError(request, { basePath, hasTasks: tasks !== undefined });
    return cors.addHeaders(request, renderError(error, context));
  };

  const respond = (endpoint: Endpoint, request: GatewayRequest): Promise<GatewayResponse> => {
    if (closing !== undefined) {
      return Promise.resolve(refuse(assembly, closedError(), endpoint));
    }
    maintenance.start();
    const { current } = reloadable;
    const response = current
      ? runPipeline(current, endpoint, request)
      : runWhenLoaded(assembly, endpoint, request);
    tracker.track(response);
    holdHost(request, response, permanent.logger);
    return response;
  };

  /** Responds to a request that makes no images, with the current options. */
  const show = async (
    render: (parts: GatewayParts, id: string) => Promise<GatewayResponse>,
  ): Promise<GatewayResponse> => {
    const id = permanent.createId();
    const context = { id, mask: currentMask(assembly) };
    if (closing !== undefined) return renderError(closedError(), context);
    const { current } = reloadable;
    const parts = current ?? (await loadParts(assembly, id));
    return parts === undefined ? renderError(unreadError(), context) : render(parts, id);
  };

  const showTasks = (route: TasksRoute, request: GatewayRequest): Promise<GatewayResponse> => {
    // The matcher finds tasks only if the ledger keeps them.
    if (tasks === undefined) return Promise.resolve(notFound(request));
    if (closing === undefined) maintenance.start();
    const response = show(({ authenticate, maskKeys }, id) =>
      respondWithTasks(tasks, route, { request, id, authenticate, maskKeys }),
    );
    tracker.track(response);
    return response;
  };

  const showPage = async (route: PageRoute, request: GatewayRequest): Promise<GatewayResponse> => {
    const id = permanent.createId();
    if (closing !== undefined) return renderError(closedError(), { id, mask: currentMask(assembly) });
    const { logger } = permanent;
    if (route.operation === "reference" && options.reference !== undefined) {
      const parts = { page: options.reference, logger };
      return (await respondWithReference(parts, route.file, { request, id })) ?? notFound(request);
    }
    if (route.operation === "healthz" || description === undefined) {
      return respondWithHealth(healthz, { request, id });
    }
    return respondWithDescription({ document: description, logger }, { request, id });
  };

  const respondTo = (
    route: Endpoint | ModelsRoute | TasksRoute,
    request: GatewayRequest,
  ): Promise<GatewayResponse> => {
    if (route.operation === "tasks") return showTasks(route, request);
    if (route.operation !== "models") return respond(route, request);
    return show((parts, id) => respondWithModels(parts, route.name, { request, id }));
  };

  const showFile = async (route: FilesRoute, request: GatewayRequest): Promise<GatewayResponse> => {
    // The matcher finds files only if the gateway serves them.
    if (files === undefined) return notFound(request);
    const id = permanent.createId();
    if (closing !== undefined) return renderError(closedError(), { id, mask: currentMask(assembly) });
    maintenance.start();
    return respondWithFile(files, route, { request, id });
  };

  const handle: Gateway["handle"] = (request) => {
    const { url, mountPath } = request;
    const announced = cors.readPreflight(request);
    const route = matchRoute({ method: announced ?? request.method, url, mountPath });
    if (route === undefined) return null;
    if (announced !== undefined) return Promise.resolve(cors.allowPreflight(request, permanent.createId()));
    if (route === "unserved") return Promise.resolve(notFound(request));
    if (route.operation === "files") return showFile(route, request);
    const responds = "file" in route ? showPage(route, request) : respondTo(route, request);
    return responds.then((responded) => cors.addHeaders(request, responded));
  };

  const changeChannel = async (id: string, change: () => Promise<void>): Promise<ChannelStatus> => {
    if (closing !== undefined) throw closedError();
    // Other processes may change it too, so this one has to ask from now on.
    maintenance.start();
    const channel = findChannel((await reloadable.get()).channels, id);
    await change();
    return describeChannel(channel, permanent);
  };

  return {
    basePath,
    handle,
    notFound,
    fetch: createFetch({ handle, notFound }),
    status,
    async checkStatus() {
      const refreshed = permanent.pauses.refresh(reloadable.current?.channels ?? []);
      await Promise.all([checks.ledger.run(), checks.store.run(), settlesWithin(refreshed, CHECK_LIMIT_MS)]);
      return status();
    },
    probeChannel(id, probeOptions = {}) {
      if (closing !== undefined) return Promise.reject(closedError());
      const probe = probeById(assembly, id, probeOptions);
      tracker.track(probe);
      return probe;
    },
    async estimateProbe(id) {
      const parts = await reloadable.get();
      return estimateProbe(findChannel(parts.channels, id), parts);
    },
    pauseChannel: (id, pauseOptions = {}) =>
      changeChannel(id, () => permanent.pauses.pause(id, pauseOptions)),
    resumeChannel: (id, resumeOptions = {}) =>
      changeChannel(id, () => permanent.pauses.resume(id, resumeOptions)),
    estimate: async (request, asked) => estimateRequest(await reloadable.get(), request, asked),
    prices: async () => (await reloadable.get()).prices?.tables,
    checkPrices: findPriceProblems,
    start() {
      if (closing === undefined) maintenance.start();
    },
    async runTasks({ seconds = 30 } = {}) {
      if (!(seconds >= 0)) throw new RangeError("seconds must be a number of seconds of at least 0.");
      if (closing !== undefined) throw closedError();
      if (worker === undefined) throw new TypeError("The ledger of this gateway keeps no tasks.");
      const batch = (async () => {
        const continued = await continuer?.run();
        await permanent.sweepTasks?.();
        const count = await worker.runBatch(seconds * 1000);
        await continued?.ended;
        await permanent.alerts.run();
        await Promise.all([
          webhooks.runBatch(WEBHOOK_BATCH_MS),
          settlesWithin(permanent.alerts.sent(), WEBHOOK_BATCH_MS),
        ]);
        return count;
      })();
      tracker.track(batch);
      return { tasks: await batch };
    },
    usage: createGatewayUsage(permanent.ledger),
    budgets: createBudgetReports(permanent.ledger, permanent.budgetStore),
    limits: createLimitReports({
      ...permanent,
      loadModels: async () => (await reloadable.get()).models,
      isCaseInsensitive: options.caseInsensitiveNames ?? false,
    }),
    webhooks: webhooks.api,
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
      permanent.storedCallers?.close();
      closing ??= shutDown(
        { ...permanent, tracker, maintenance, worker, webhooks, continuer },
        deadlineSeconds * 1000,
      ).finally(() => endWatch?.());
      return closing;
    },
  };
}

/** How long `runTasks` waits for webhooks after the tasks. The rest is sent by later calls. */
const WEBHOOK_BATCH_MS = 15_000;

const DEADLINE = "deadlineSeconds must be a number of seconds of at least 0; the gateway was not closed.";

/** Waits for the options that take time to load, and then handles the request. */
async function runWhenLoaded(
  assembly: GatewayAssembly,
  endpoint: Endpoint,
  request: GatewayRequest,
): Promise<GatewayResponse> {
  const arrival = createArrival(assembly.permanent, endpoint.operation);
  const parts = await loadParts(assembly, arrival.id);
  return parts === undefined
    ? refuse(assembly, unreadError(), endpoint, arrival)
    : runPipeline(parts, endpoint, request);
}

/** Returns `undefined` if the options cannot be loaded. */
async function loadParts(
  { permanent, reloadable }: GatewayAssembly,
  requestId: string,
): Promise<GatewayParts | undefined> {
  try {
    return await reloadable.get();
  } catch (error) {
    permanent.logger.error({ requestId, err: error }, "The options could not be read.");
    return undefined;
  }
}

/** What the route of stored images needs. `undefined` if the gateway does not serve images. */
function toFilesParts({
  results,
  now,
  logger,
  readerLimit,
}: GatewayAssembly["permanent"]): FilesParts | undefined {
  return results?.served && { served: results.served, now, logger, readerLimit };
}

/** What the routes of tasks need. `undefined` if the ledger keeps no tasks. */
function toTasksParts({
  tasks,
  results,
  repeat,
  track,
  logger,
  readerLimit,
}: GatewayAssembly["permanent"]): TasksParts | undefined {
  if (tasks === undefined) return undefined;
  const { store } = tasks;
  const objects = results?.objects;
  return {
    store,
    watch: createTaskWatch({ store, repeat, logger }),
    openResult: (result) => openResult(result, objects),
    removeInput: (input) => track(removeBodies([input], { objects, logger })),
    logger,
    readerLimit,
  };
}

/** Responds to a request that does not enter the pipeline. */
function refuse(
  assembly: GatewayAssembly,
  error: GatewayError,
  endpoint: Endpoint,
  arrival = createArrival(assembly.permanent, endpoint.operation),
): GatewayResponse {
  const report = new RequestReport(assembly.permanent, arrival);
  const context = { id: arrival.id, mask: currentMask(assembly), endpoint };
  const response = renderError(report.refused(error), context);
  report.responded(response);
  return response;
}

function currentMask({ reloadable }: GatewayAssembly): (text: string) => string {
  return reloadable.current?.maskKeys ?? String;
}

function closedError(): GatewayError {
  return new GatewayError("gateway_closed", "This server is shutting down.", { retryAfterSeconds: 1 });
}

function unreadError(): GatewayError {
  const message = "This server cannot read its options at the moment: try again.";
  return new GatewayError("gateway_unavailable", message, { retryAfterSeconds: 5 });
}

function notFoundError(
  request: Pick<GatewayRequest, "method" | "url">,
  { basePath, hasTasks }: { readonly basePath: string; readonly hasTasks: boolean },
): GatewayError {
  const path = requestPath(request);
  const requested = `${request.method} ${path}`.slice(0, 256);
  if (!hasTasks && isTasksPath(path)) {
    return new GatewayError(
      "not_found",
      `${requested} is not served, because the ledger of this gateway keeps no tasks. The ledgers in memory, of ` +
        "@calotype/sqlite and of @calotype/postgres do.",
    );
  }
  const below = basePath === "" ? "" : ` below ${basePath}`;
  return new GatewayError(
    "not_found",
    `${requested} is not served. The gateway serves POST requests whose path ends in /v1/images/generations, ` +
      "/v1/images/edits, /api/v3/images/generations or /api/v1/services/aigc/multimodal-generation/generation, and " +
      `GET /v1/models${hasTasks ? " and /v1/images/tasks" : ""}${below}.`,
  );
}

async function probeById(
  { reloadable }: GatewayAssembly,
  id: string,
  options: ChannelProbeOptions,
): Promise<ChannelProbe> {
  const parts = await reloadable.get();
  return probeChannel(findChannel(parts.channels, id), options, parts);
}

/** @throws GatewayError `channel_not_found` */
function findChannel(channels: readonly Channel[], id: string): Channel {
  const channel = channels.find((other) => other.id === id);
  if (channel !== undefined) return channel;
  throw new GatewayError("channel_not_found", `There is no channel with the id ${id}.`);
}
