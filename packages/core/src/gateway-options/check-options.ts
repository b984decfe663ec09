import * as z from "zod/mini";
import { PERIOD_NEEDS_STORE } from "../auth/check-caller.js";
import { findAbility } from "../billing/ledger-ability.js";
import type { Family } from "../families/family.js";
import { qwenImage } from "../families/qwen-image/qwen-image.js";
import { seedream } from "../families/seedream/seedream.js";
import { BUDGET_STORE } from "../features/budgets/budget-store.js";
import { corsSchema } from "../features/cors/cors-schema.js";
import { routing } from "../features/costs/costs-schema.js";
import { limitOptions } from "../features/limits/limits-schema.js";
import { checkMarks, marksSchema } from "../features/marks/marks-schema.js";
import { checkReference, openapiSchema } from "../features/openapi/openapi-schema.js";
import { checkResults, resultsSchema } from "../features/results/results-schema.js";
import { taskSchema } from "../features/tasks/task-schema.js";
import { checkCallLog } from "../features/telemetry/call-log.js";
import { isReportSource, NO_REPORT_SOURCE, type ReportSource } from "../features/usage/report-source.js";
import { findBatchProblems } from "../features/usage-batches/batch-options.js";
import { checkWebhooks, webhooksSchema } from "../features/webhooks/webhook-schema.js";
import type { CheckedOptions } from "../kernel/create-gateway-kernel.js";
import { callerSchema } from "../options/caller-schema.js";
import { checkAccess, checkCallers } from "../options/check-callers.js";
import { checkFamilyNames } from "../options/check-models.js";
import { checkProviders } from "../options/check-providers.js";
import { findTypeProblems, throwProblems } from "../options/problems.js";
import { callOptions, nameOptions, providerOptions } from "../options/schema.js";
import { boolean, hook, withMethods } from "../options/schema-parts.js";
import type { Fields } from "../util/parse-fields.js";
import { familiesSchema, featuresSchema } from "./families-schema.js";
import { LOADABLE, type LoadedOptions, loadOptions } from "./load.js";
import { findOldName } from "./old-names.js";
import type { GatewayOptions } from "./options.js";

/** The families that every gateway has. All others are passed in `families`. */
export const BUILT_IN_FAMILIES: readonly Family[] = [seedream, qwenImage];

/** Their problems are reported in this order. */
const shape = {
  ...nameOptions,
  cors: z.optional(corsSchema),
  showPrices: boolean,
  showCharge: boolean,
  healthz: boolean,
  chatCompletions: boolean,
  geminiEndpoint: boolean,
  openapi: openapiSchema,
  reference: hook,
  ...providerOptions,
  routing,
  callers: z.optional(z.array(callerSchema, "must be a list of callers")),
  authenticate: hook,
  ...limitOptions,
  ...callOptions,
  reports: z.optional(z.custom<ReportSource>(isReportSource, NO_REPORT_SOURCE)),
  results: z.optional(resultsSchema),
  marks: z.optional(marksSchema),
  webhooks: z.optional(webhooksSchema),
  tasks: z.optional(taskSchema),
  families: z.optional(familiesSchema),
  features: z.optional(featuresSchema),
  beforeSend: hook,
  afterImage: hook,
  onUsage: hook,
  onUsageBatch: hook,
  onBudget: hook,
  onError: hook,
  onRequest: hook,
  logger: withMethods("warn", "error"),
  logCalls: boolean,
  telemetry: withMethods("callStarted"),
  fetch: hook,
} satisfies Fields<LoadedOptions>;

const schema = z.strictObject(shape, "must be an object");

/**
 * Loads and checks the options. If some of them take time to load, the others are checked at once.
 *
 * @throws GatewayOptionsError for problems of the options that are available at once
 */
export function loadChecked(
  options: GatewayOptions,
): CheckedOptions<LoadedOptions> | Promise<CheckedOptions<LoadedOptions>> {
  const loading = loadOptions(options);
  if (!(loading instanceof Promise)) return check(loading);
  // If the check below throws, the loaded options are not awaited.
  loading.catch(() => undefined);
  checkFixedOptions(options);
  return loading.then(check);
}

const check = (options: LoadedOptions): CheckedOptions<LoadedOptions> => ({
  options,
  families: checkOptions(options),
});

/**
 * Checks all options and returns the families that they may name. Rules that span several options are checked if each
 * of these options has the right type, so that one run finds as many problems as possible.
 *
 * @throws GatewayOptionsError
 */
export function checkOptions(options: LoadedOptions): ReadonlyMap<string, Family> {
  const { problems, isSound } = findTypeProblems(schema, options, [], findOldName);
  const extra = isSound("families") ? (options.families ?? []) : [];
  const families = new Map([...BUILT_IN_FAMILIES, ...extra].map((family) => [family.name, family]));
  problems.push(...checkFamilyNames(extra, BUILT_IN_FAMILIES), ...checkAccess(options));
  if (isSound("logger", "logCalls")) problems.push(...checkCallLog(options));
  if (isSound("openapi", "reference")) problems.push(...checkReference(options));
  if (isSound("results")) problems.push(...checkResults(options));
  if (isSound("marks", "responseFormat", "models", "callers")) problems.push(...checkMarks(options));
  // The ledger in memory, which is the default, counts by period.
  const hasPeriods = options.ledger === undefined || findAbility(options.ledger, BUDGET_STORE) !== undefined;
  if (isSound("callers", "billing")) problems.push(...checkCallers(options, hasPeriods));
  if (options.onBudget !== undefined && isSound("ledger") && !hasPeriods) {
    problems.push({ path: "onBudget", message: PERIOD_NEEDS_STORE });
  }
  if (options.onUsageBatch !== undefined && isSound("ledger")) {
    problems.push(...findBatchProblems(options));
  }
  if (isSound("webhooks")) {
    problems.push(...checkWebhooks(options.webhooks, isSound("callers") ? options.callers : undefined));
  }
  problems.push(...checkProviders(options, families, isSound));
  throwProblems(problems);
  return families;
}

/**
 * Checks the options that are not functions while the functions are still running, so that their problems are
 * reported at once.
 *
 * @throws GatewayOptionsError
 */
function checkFixedOptions(options: GatewayOptions): void {
  const { problems, isSound } = findTypeProblems(schema, options, LOADABLE, findOldName);
  problems.push(...checkReference(options));
  if (isSound("results")) problems.push(...checkResults(options));
  if (isSound("logger", "logCalls")) problems.push(...checkCallLog(options));
  throwProblems(problems);
}
