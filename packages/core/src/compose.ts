import * as z from "zod/mini";
import type { Authenticate, CallerOptions } from "./auth/authenticate.js";
import { hasPeriod } from "./billing/budget.js";
import type { MinimalLedger } from "./billing/ledger.js";
import { createMinimalLedger } from "./billing/minimal-ledger.js";
import type { PriceTables } from "./billing/model-details.js";
import type { LostPolicy } from "./billing/records.js";
import type { ChannelOptions } from "./channels/channel.js";
import type { Family } from "./families/family.js";
import { type Apis, type ComposedGateway, createGatewayKernel } from "./kernel/create-gateway-kernel.js";
import type { Contributed, Feature } from "./kernel/feature.js";
import type { Dependencies, KernelOptions } from "./kernel/kernel-parts.js";
import type { Logger } from "./logger.js";
import type { CapabilityRows, ModelOptions } from "./models/resolve-model.js";
import { callerSchema } from "./options/caller-schema.js";
import { checkAccess, checkCallers } from "./options/check-callers.js";
import { checkFamilyNames } from "./options/check-models.js";
import { checkProviders } from "./options/check-providers.js";
import type { OptionsProblem } from "./options/options.js";
import { findTypeProblems, throwProblems } from "./options/problems.js";
import { callOptions, nameOptions, providerOptions } from "./options/schema.js";
import { boolean, hook, withMethods } from "./options/schema-parts.js";
import { type Fields, formatPath } from "./util/parse-fields.js";

export { GatewayError } from "./errors.js";
export { type AlertsApi, type AlertsOptions, alerts } from "./features/alerts/alerts-feature.js";
export { type BudgetsApi, budgets } from "./features/budgets/budgets-feature.js";
export { type CallersApi, callers } from "./features/callers/callers-feature.js";
export {
  type ChannelControlOptions,
  channelControl,
} from "./features/channel-control/channel-control-feature.js";
export { channelParameters } from "./features/channel-parameters/channel-parameters-feature.js";
export { chatCompletions } from "./features/chat-completions/chat-completions-feature.js";
export {
  type ContinuedCallsOptions,
  continuedCalls,
} from "./features/continued-calls/continued-calls-feature.js";
export { cors } from "./features/cors/cors-feature.js";
export { costs } from "./features/costs/costs-feature.js";
export type { CostsOptions } from "./features/costs/rank-by-cost.js";
export { dashscopeTasks } from "./features/dashscope-tasks/dashscope-tasks-feature.js";
export { type EstimatesApi, type EstimatesOptions, estimates } from "./features/estimate/estimate-feature.js";
export { geminiEndpoint } from "./features/gemini-endpoint/gemini-endpoint-feature.js";
export { type HealthOptions, health } from "./features/health/health-feature.js";
export { keyFunctions } from "./features/key-functions/key-functions-feature.js";
export { type LimitsApi, type LimitsOptions, limits } from "./features/limits/limits-feature.js";
export { marks } from "./features/marks/marks-feature.js";
export type { MarksOptions } from "./features/marks/marks-options.js";
export { type ModelsListOptions, modelsList } from "./features/models-list/models-list-feature.js";
export { type OpenApiOptions, openapi } from "./features/openapi/openapi-feature.js";
export { type RefusalsApi, refusals } from "./features/refusals/refusals-feature.js";
export { type ResultsApi, results } from "./features/results/results-feature.js";
export {
  type SignedInUsersOptions,
  signedInUsers,
} from "./features/signed-in-users/signed-in-users-feature.js";
export { type TaskLinks, type TasksApi, tasks } from "./features/tasks/tasks-feature.js";
export { type TelemetryOptions, telemetry } from "./features/telemetry/telemetry-feature.js";
export { type UsageApi, type UsageOptions, usage } from "./features/usage/usage-feature.js";
export { type UsageBatchesOptions, usageBatches } from "./features/usage-batches/usage-batches-feature.js";
export { type WebhooksApi, type WebhooksFeature, webhooks } from "./features/webhooks/webhooks-feature.js";
export type { ComposedGateway } from "./kernel/create-gateway-kernel.js";
export type { Configured, Contribution, Feature, Kernel } from "./kernel/feature.js";
export type { RouteHost } from "./kernel/route-host.js";
export type { GatewayRoute } from "./request/route.js";

/** The options of a composed gateway. Each means what it means for `createGateway`, and none of them can be a function that is reloaded. */
export interface ComposeOptions extends KernelOptions {
  readonly basePath?: string | undefined;
  readonly models: Readonly<Record<string, ModelOptions>>;
  readonly capabilities?: CapabilityRows | undefined;
  readonly caseInsensitiveNames?: boolean | undefined;
  readonly channels: readonly ChannelOptions[];
  readonly callers?: readonly CallerOptions[] | undefined;
  readonly authenticate?: Authenticate | undefined;
  readonly billing?: (PriceTables & { readonly onLost?: LostPolicy | undefined }) | undefined;
  /** Default: a ledger in memory that keeps the money and no more. */
  readonly ledger?: MinimalLedger | undefined;
  readonly logger?: Logger | undefined;
}

/** What a gateway is composed of. */
export interface Composition<Features extends readonly Feature[] = readonly Feature[]> {
  /** At least those that the models name. */
  readonly families: readonly Family[];
  /** In the order in which their routes are matched and their `beforeSend` is called. Default: none. */
  readonly features?: Features | undefined;
}

const schema = z.strictObject(
  {
    ...nameOptions,
    showCharge: boolean,
    ...providerOptions,
    callers: z.optional(z.array(callerSchema, "must be a list of callers")),
    authenticate: hook,
    ...callOptions,
    beforeSend: hook,
    onUsage: hook,
    onError: hook,
    onRequest: hook,
    logger: withMethods("warn", "error"),
    fetch: hook,
  } satisfies Fields<ComposeOptions>,
  "must be an object",
);

/**
 * Creates a gateway of the kernel, the families and the features that you name. It has the endpoints at which images are made,
 * and charges exactly as `createGateway` does. What is not named is not in the bundle, and takes no time.
 *
 * @param dependencies for tests, as those of `createGateway`
 * @throws GatewayOptionsError with every problem of the options and its path
 * @example
 * ```ts
 * import { composeGateway, limits } from "@calotype/core/compose";
 * import { seedream } from "@calotype/core/families";
 *
 * const gateway = composeGateway(
 *   {
 *     models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *     channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *     callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   },
 *   { families: [seedream], features: [limits({ limits: { requestsPerMinute: 60 } })] },
 * );
 * ```
 */
export function composeGateway<const Features extends readonly Feature[] = readonly []>(
  options: ComposeOptions,
  { families, features }: Composition<Features>,
  dependencies: Partial<Dependencies> = {},
): ComposedGateway & Apis<Features> {
  const checked = { options, families: checkOptions(options, families) };
  return createGatewayKernel<ComposeOptions, Features>({
    options,
    ledger: options.ledger ?? createMinimalLedger({ now: dependencies.now ?? Date.now }),
    listFamilies: () => families,
    features,
    load: () => checked,
    checkFeatures: (contributed) => throwProblems(findMissing(options, contributed)),
    describeUnserved: ({ method }) => `This path is not served for ${method} requests.`,
    dependencies,
  });
}

/** @throws GatewayOptionsError */
function checkOptions(options: ComposeOptions, families: readonly Family[]): ReadonlyMap<string, Family> {
  const { problems, isSound } = findTypeProblems(schema, options);
  const byName = new Map(families.map((family) => [family.name, family]));
  problems.push(...checkFamilyNames(families, []), ...checkAccess(options));
  if (isSound("callers", "billing")) problems.push(...checkCallers(options, true));
  problems.push(...checkProviders(options, byName, isSound));
  throwProblems(problems);
  return byName;
}

/** Finds options that no feature would apply: limits, budgets, functions of keys, parameters and costs of channels. */
function* findMissing(
  { callers = [], models, channels }: ComposeOptions,
  { admission, keySources, changeDialect, readCosts, countsPeriods = false }: Contributed,
): Iterable<OptionsProblem> {
  const limited = [
    ...callers.map((caller, index) => [caller, "callers", index] as const),
    ...Object.entries(models).map(([name, model]) => [model, "models", name] as const),
  ];
  for (const [{ limits }, ...path] of limited) {
    if (limits !== undefined && admission === undefined) yield needs([...path, "limits"], "limits");
  }
  for (const [index, { apiKey, parameters, costs: given }] of channels.entries()) {
    if (keySources === undefined && [apiKey].flat().some((key) => typeof key === "function"))
      yield needs(["channels", index, "apiKey"], "keyFunctions");
    if (parameters !== undefined && changeDialect === undefined)
      yield needs(["channels", index, "parameters"], "channelParameters");
    if (given !== undefined && readCosts === undefined) yield needs(["channels", index, "costs"], "costs");
  }
  for (const [index, { budget }] of callers.entries()) {
    if (hasPeriod(budget) && !countsPeriods)
      yield needs(["callers", index, "budget", "period"], `budgets, and ${PERIOD}`);
  }
}

const needs = (path: readonly PropertyKey[], feature: string): OptionsProblem => ({
  path: formatPath(path),
  message: `needs the feature ${feature}`,
});

const PERIOD = "a ledger that counts by period";
