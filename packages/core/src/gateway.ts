import { findAbility } from "./billing/ledger-ability.js";
import { type AlertsApi, alerts } from "./features/alerts/alerts-feature.js";
import { type BudgetsApi, budgets } from "./features/budgets/budgets-feature.js";
import { type CallersApi, callers } from "./features/callers/callers-feature.js";
import { type ChannelControl, channelControl } from "./features/channel-control/channel-control-feature.js";
import { channelParameters } from "./features/channel-parameters/channel-parameters-feature.js";
import { chatCompletions } from "./features/chat-completions/chat-completions-feature.js";
import { continuedCalls } from "./features/continued-calls/continued-calls-feature.js";
import { createCorsFeature } from "./features/cors/cors-feature.js";
import { costs } from "./features/costs/costs-feature.js";
import { dashscopeTasks } from "./features/dashscope-tasks/dashscope-tasks-feature.js";
import { type EstimatesApi, estimates } from "./features/estimate/estimate-feature.js";
import { geminiEndpoint } from "./features/gemini-endpoint/gemini-endpoint-feature.js";
import { health } from "./features/health/health-feature.js";
import { keyFunctions } from "./features/key-functions/key-functions-feature.js";
import { createLimitsFeature, type LimitsApi } from "./features/limits/limits-feature.js";
import { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
import { createMarksFeature } from "./features/marks/marks-feature.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import { modelsList } from "./features/models-list/models-list-feature.js";
import { createOpenApiFeature } from "./features/openapi/openapi-feature.js";
import { type RefusalsApi, refusals } from "./features/refusals/refusals-feature.js";
import { createResultsFeature, type ResultsApi } from "./features/results/results-feature.js";
import { createSignedInUsersFeature } from "./features/signed-in-users/signed-in-users-feature.js";
import { TASK_STORE } from "./features/task-store/task-store.js";
import { TASKS_PATH } from "./features/tasks/tasks-endpoint.js";
import { createTasksFeature, type TasksApi } from "./features/tasks/tasks-feature.js";
import { telemetry } from "./features/telemetry/telemetry-feature.js";
import { type UsageApi, usage } from "./features/usage/usage-feature.js";
import { usageBatches } from "./features/usage-batches/usage-batches-feature.js";
import { type ReloadingApi, reloading } from "./features/watch-options/watch-options-feature.js";
import { createWebhooksFeature, type WebhooksApi } from "./features/webhooks/webhooks-feature.js";
import { BUILT_IN_FAMILIES, loadChecked } from "./gateway-options/check-options.js";
import type { LoadedOptions } from "./gateway-options/load.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import type { GatewayRequest } from "./http.js";
import { type ComposedGateway, createGatewayKernel } from "./kernel/create-gateway-kernel.js";
import type { Dependencies } from "./kernel/kernel-parts.js";
import { requestPath } from "./request/route.js";

/** An image-generation gateway. */
export interface Gateway
  extends ComposedGateway,
    AlertsApi,
    BudgetsApi,
    CallersApi,
    ChannelControl,
    EstimatesApi,
    LimitsApi,
    RefusalsApi,
    ReloadingApi,
    ResultsApi,
    TasksApi,
    UsageApi,
    WebhooksApi {}

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
  const { now = Date.now } = dependencies;
  const { ledger = createMemoryLedger({ now }), admission = createMemoryAdmissionStore({ now }) } = options;
  const { basePath = "" } = options;
  const servesTasks = findAbility(ledger, TASK_STORE) !== undefined;
  return createGatewayKernel({
    options,
    ledger,
    listFamilies: () => [...BUILT_IN_FAMILIES, ...(options.families ?? [])],
    features: listFeatures({ ...options, ledger, admission }),
    load: () => loadChecked(options),
    describeUnserved: (request) => describeUnserved(request, { basePath, servesTasks }),
    dependencies,
  });
}

/** All features, in the order in which their routes are matched, and their background work is done. */
function listFeatures(options: GatewayOptions) {
  const { admission, afterImage, openapi: document, onBudget, onUsageBatch, tasks: ofTasks } = options;
  const webhooks = createWebhooksFeature((loaded: LoadedOptions) => loaded.webhooks);
  return [
    telemetry(options),
    createCorsFeature(options.cors),
    createSignedInUsersFeature({ publicUrl: options.results?.publicUrl }),
    createLimitsFeature({
      admission,
      limits: options.limits,
      idempotency: options.idempotency,
      waiting: options.waiting,
    }),
    options.chatCompletions === true ? chatCompletions() : undefined,
    // Before the list of models, which has paths that begin in the same way.
    options.geminiEndpoint === true ? geminiEndpoint() : undefined,
    modelsList(options),
    createResultsFeature(options.results, afterImage),
    options.marks && createMarksFeature(options.marks),
    keyFunctions(),
    channelParameters(),
    costs({ routing: options.routing }),
    continuedCalls({ byRunTasksOnly: ofTasks?.concurrency === 0 }),
    createTasksFeature<LoadedOptions>(ofTasks, { results: options.results, webhooks }),
    dashscopeTasks(),
    alerts<LoadedOptions>({ onBudget, webhooks: options.webhooks && webhooks }),
    onUsageBatch && usageBatches({ onUsageBatch }),
    webhooks,
    channelControl({ admission }),
    options.healthz === true ? health({ admission }) : undefined,
    document ? createOpenApiFeature({ document, reference: options.reference }) : undefined,
    budgets(),
    callers(),
    refusals(),
    usage(options),
    estimates(options),
    reloading(options),
    // What is not a list is reported when the options are checked, which is later.
    ...Array.from(options.features ?? []),
  ] as const;
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
