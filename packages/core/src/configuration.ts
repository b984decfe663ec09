import { hashApiKey } from "./auth/api-key.js";
import {
  createAuthenticator,
  type FindCaller,
  findByHash,
  findByOperator,
  findInTurn,
} from "./auth/authenticate.js";
import { PERIOD_NEEDS_STORE } from "./auth/check-caller.js";
import { hasPeriod } from "./billing/budget.js";
import { DEFAULT_GROUP } from "./billing/model-details.js";
import { countsPeriods } from "./features/budgets/counts-periods.js";
import type { StoredCallerRules } from "./features/callers/callers.js";
import type { StoredCallers } from "./features/callers/stored-callers.js";
import { pauseIdOf } from "./features/channel-control/pauses.js";
import { describeModels, type ModelsParts } from "./features/models-list/models-endpoint.js";
import { createWebhookEndpoints, type WebhookEndpoints } from "./features/webhooks/endpoints.js";
import { checkFixedOptions, checkOptions } from "./gateway-options/check-options.js";
import { type LoadedOptions, loadOptions } from "./gateway-options/load.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { configureKernel } from "./kernel/kernel-configuration.js";
import type { PipelineParts } from "./kernel/pipeline.js";
import type { Logger } from "./logger.js";
import { listModels, type ModelNameSources } from "./models/list-models.js";
import { mayUseModel } from "./models/resolve-model.js";
import type { Caller } from "./types.js";
import { isPromiseLike } from "./util/async.js";

/**
 * As {@link configure}, for the options of the start. If some of them take time to load, the others are checked at once.
 *
 * @throws GatewayOptionsError for problems of the options that are available at once
 */
export function configureFirst(
  options: GatewayOptions,
  context: ConfigurationContext,
): Configuration | Promise<Configuration> {
  const loaded = loadOptions(options);
  if (!(loaded instanceof Promise)) return configure(loaded, context);
  // If the check below throws, the loaded options are not awaited.
  loaded.catch(() => undefined);
  checkFixedOptions(options);
  return loaded.then((result) => configure(result, context));
}

/** The parts that depend on options that can be reloaded. */
export interface Configuration
  extends ReturnType<typeof configureKernel>,
    Pick<PipelineParts, "authenticate">,
    Pick<ModelsParts, "listModels" | "mayUseModel"> {
  /** Where the gateway reports the end of tasks to callers. `undefined` without the option `webhooks`. */
  readonly webhookEndpoints: WebhookEndpoints | undefined;
  readonly callerRules: StoredCallerRules;
}

/** What a configuration needs of the parts that stay. */
export interface ConfigurationContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** `undefined` if the ledger keeps no callers. */
  readonly storedCallers: StoredCallers | undefined;
}

/**
 * Checks the options, and creates the parts that depend on them.
 *
 * @throws GatewayOptionsError with every problem and its path
 */
export function configure(options: LoadedOptions, context: ConfigurationContext): Configuration {
  const families = checkOptions(options);
  const kernel = configureKernel(options, families, pauseIdOf);
  const { channels, resolveModel } = kernel;
  const callerRules = toCallerRules(options);
  return {
    ...kernel,
    webhookEndpoints: options.webhooks && createWebhookEndpoints(options.webhooks),
    callerRules,
    authenticate: createAuthenticator({
      find: createFindCaller(options, callerRules, context),
      rules: { hasBilling: callerRules.groups !== undefined, canKeepPeriods: callerRules.canKeepPeriods },
      now: context.now,
    }),
    listModels: once(() => describeModels(listModels({ ...toNameSources(options), channels }, resolveModel))),
    mayUseModel: (caller, name) => mayUseModel(caller, name, options.caseInsensitiveNames ?? false),
  };
}

function toCallerRules({ callers = [], billing, ledger }: LoadedOptions): StoredCallerRules {
  return {
    canKeepPeriods: countsPeriods(ledger),
    fixedIds: new Set(callers.map(({ id }) => id)),
    fixed: callers.map(({ key: _key, hash: _hash, ...caller }) => caller),
    groups: billing && new Set(Object.keys(billing.group_ratio ?? { [DEFAULT_GROUP]: "1" })),
  };
}

/** Finds callers of the options first, then stored ones. */
function createFindCaller(
  { authenticate, callers = [] }: LoadedOptions,
  { fixedIds, groups, canKeepPeriods }: StoredCallerRules,
  { storedCallers, logger }: ConfigurationContext,
): FindCaller {
  const hasBilling = groups !== undefined;
  const find = authenticate
    ? findByOperator(authenticate, { hasBilling, canKeepPeriods })
    : findByHash(callers);
  if (storedCallers === undefined) return find;
  const admit = (caller: Caller | undefined): Caller | undefined => {
    if (caller === undefined) return undefined;
    const { id, budget } = caller;
    if (fixedIds.has(id)) {
      logger.warn(
        { caller: id },
        "A stored caller has the id of a caller of the options, so its key is refused.",
      );
      return undefined;
    }
    if (!canKeepPeriods && hasPeriod(budget)) {
      throw new TypeError(
        `The stored caller ${JSON.stringify(id)} has a budget.period, which ${PERIOD_NEEDS_STORE}.`,
      );
    }
    if (hasBilling || budget === undefined) return caller;
    throw new TypeError(
      `The stored caller ${JSON.stringify(id)} has a budget, which needs the option billing; without prices the budget would have no effect.`,
    );
  };
  return findInTurn(find, (apiKey) => {
    const found = storedCallers.find(hashApiKey(apiKey));
    return isPromiseLike(found) ? found.then(admit) : admit(found);
  });
}

function toNameSources({
  models,
  billing,
  capabilities = {},
}: LoadedOptions): Omit<ModelNameSources, "channels"> {
  return { models, priceNames: Object.keys(billing?.model_details ?? {}), rows: capabilities };
}

/** Calls the function at the first use only. */
function once<T extends object>(compute: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= compute());
}
