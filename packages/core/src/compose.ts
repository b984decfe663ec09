import * as z from "zod/mini";
import {
  type Authenticate,
  type CallerOptions,
  createAuthenticator,
  findByHash,
  findByOperator,
} from "./auth/authenticate.js";
import type { MinimalLedger } from "./billing/ledger.js";
import { createMinimalLedger } from "./billing/minimal-ledger.js";
import type { PriceTables } from "./billing/model-details.js";
import type { LostPolicy } from "./billing/records.js";
import type { ChannelOptions } from "./channels/channel.js";
import { overloaded } from "./errors.js";
import type { BeforeSend } from "./events.js";
import type { Family } from "./families/family.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import type { Contribution, Feature } from "./kernel/feature.js";
import { configureKernel } from "./kernel/kernel-configuration.js";
import { createKernelParts, type Dependencies, type KernelOptions } from "./kernel/kernel-parts.js";
import { createMaintenance, createTracker, shutDown } from "./kernel/lifecycle.js";
import type { PipelineParts } from "./kernel/pipeline.js";
import { createRequestHandler } from "./kernel/request-handler.js";
import { createFetch, type WebHost } from "./kernel/web-host.js";
import { consoleLogger, createSafeLogger, type Logger } from "./logger.js";
import type { CapabilityRows, ModelOptions } from "./models/resolve-model.js";
import { callerSchema } from "./options/caller-schema.js";
import { checkAccess, checkCallers } from "./options/check-callers.js";
import { checkFamilyNames } from "./options/check-models.js";
import { checkProviders } from "./options/check-providers.js";
import { GatewayOptionsError } from "./options/options-error.js";
import { findTypeProblems } from "./options/problems.js";
import { callOptions, nameOptions, providerOptions } from "./options/schema.js";
import { boolean, hook, withMethods } from "./options/schema-parts.js";
import { type Fields, formatPath } from "./util/parse-fields.js";

export { GatewayError } from "./errors.js";
export { cors } from "./features/cors/cors-feature.js";
export { type LimitsOptions, limits } from "./features/limits/limits.js";
export type { Contribution, Feature, Kernel } from "./kernel/feature.js";
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
export interface Composition {
  /** At least those that the models name. */
  readonly families: readonly Family[];
  /** In the order in which their routes are matched and their `beforeSend` is called. Default: none. */
  readonly features?: readonly Feature[] | undefined;
}

/** A gateway of the kernel and the features that it was composed of. Adapters mount it like every gateway. */
export interface ComposedGateway {
  readonly basePath: string;
  /** As `fetch` of a gateway. */
  fetch(request: Request, host?: WebHost): Promise<Response>;
  /** As `handle` of a gateway. */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** As `notFound` of a gateway. */
  notFound(request: Pick<GatewayRequest, "method" | "url" | "headers">): GatewayResponse;
  /** As `start` of a gateway. */
  start(): void;
  /** As `close` of a gateway. */
  close(options?: { readonly deadlineSeconds?: number | undefined }): Promise<void>;
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
export function composeGateway(
  options: ComposeOptions,
  composition: Composition,
  dependencies: Partial<Dependencies> = {},
): ComposedGateway {
  const families = checkOptions(options, composition);
  const now = dependencies.now ?? Date.now;
  const { basePath = "", ledger = createMinimalLedger({ now }), authenticate, callers = [] } = options;
  const rules = { hasBilling: options.billing !== undefined, canKeepPeriods: false };
  const logger = createSafeLogger(options.logger ?? consoleLogger);
  const tracker = createTracker();
  const track = (work: Promise<unknown>): void => tracker.track(work);
  const permanent = createKernelParts(
    options,
    { ...dependencies, now },
    {
      ledger,
      logger,
      shareCooldown: (id, cooldown) => contributed.shareCooldown?.(id, cooldown),
      // Only an admission has limits on requests at once.
      createCrowdedError: (concurrent) =>
        contributed.admission?.createCrowdedError(concurrent) ?? overloaded(),
    },
  );
  const contributions = (composition.features ?? []).map((feature) =>
    feature.setup({ ...permanent, basePath, track }),
  );
  const contributed = join(contributions);
  if (contributed.admission === undefined) checkUnlimited(options);
  const chores = contributions.flatMap(({ chores: own = [] }) => own);
  const configured = configureKernel(options, families);
  const parts: PipelineParts = {
    ...permanent,
    ...configured,
    transport: configured.redactTransport(permanent.transport),
    authenticate: createAuthenticator({
      find: authenticate === undefined ? findByHash(callers) : findByOperator(authenticate, rules),
      rules,
      now,
    }),
    admission: contributed.admission,
    beforeSend: chain([...contributions.map(({ beforeSend }) => beforeSend), options.beforeSend]),
    pauses: undefined,
    submissions: undefined,
    openStoredJobs: undefined,
    images: undefined,
    // Only a feature keeps refusals. Clients and `onError` get them all the same.
    refused() {},
    track,
  };
  const lifecycle = { ...permanent, chores };
  const maintenance = createMaintenance(lifecycle, dependencies.repeat);
  let closing: Promise<void> | undefined;
  const handler = createRequestHandler({
    assembly: {
      permanent: parts,
      reloadable: { current: parts, get: async () => parts },
      tracker,
      maintenance,
    },
    basePath,
    families: composition.families,
    cors: contributed.cors,
    createRoutes: (host) => contributions.flatMap(({ routes }) => routes?.(host) ?? []),
    describeUnserved: ({ method }) => `This path is not served for ${method} requests.`,
    isClosing: () => closing !== undefined,
  });
  return {
    basePath,
    handle: (request) => handler.handle(request),
    notFound: (request) => handler.notFound(request),
    fetch: createFetch(handler),
    start() {
      if (closing === undefined) maintenance.start();
    },
    close({ deadlineSeconds = Infinity } = {}) {
      if (!(deadlineSeconds >= 0))
        return Promise.reject(new RangeError("deadlineSeconds must be at least 0."));
      closing ??= shutDown({ ...lifecycle, tracker, maintenance }, deadlineSeconds * 1000);
      return closing;
    },
  };
}

/** @throws GatewayOptionsError */
function checkOptions(options: ComposeOptions, { families }: Composition): ReadonlyMap<string, Family> {
  const { problems, isSound } = findTypeProblems(schema, options);
  const byName = new Map(families.map((family) => [family.name, family]));
  problems.push(...checkFamilyNames(families, []), ...checkAccess(options));
  if (isSound("callers", "billing")) problems.push(...checkCallers(options, false));
  problems.push(...checkProviders(options, byName, isSound));
  if (problems.length > 0) throw new GatewayOptionsError(problems);
  return byName;
}

/** @throws GatewayOptionsError for limits that nothing would check */
function checkUnlimited({ callers = [], models }: ComposeOptions): void {
  const limited = [
    ...callers.map(({ limits }, index) => [limits, "callers", index] as const),
    ...Object.entries(models).map(([name, { limits }]) => [limits, "models", name] as const),
  ];
  const problems = limited
    .filter(([limits]) => limits !== undefined)
    .map(([, ...path]) => ({ path: formatPath([...path, "limits"]), message: "needs the feature limits" }));
  if (problems.length > 0) throw new GatewayOptionsError(problems);
}

/** @throws TypeError if two features contribute the same part */
function join(contributions: readonly Contribution[]): Contribution {
  const joined: Contribution = {};
  for (const { routes: _routes, chores: _chores, beforeSend: _beforeSend, ...parts } of contributions) {
    for (const [name, part] of Object.entries(parts)) {
      if (part === undefined) continue;
      if (name in joined) throw new TypeError(`Two features contribute ${name}.`);
      Object.assign(joined, { [name]: part });
    }
  }
  return joined;
}

function chain(checks: readonly (BeforeSend | undefined)[]): BeforeSend | undefined {
  const given = checks.filter((check) => check !== undefined);
  if (given.length < 2) return given[0];
  return async (request, caller) => {
    for (const check of given) await check(request, caller);
  };
}
