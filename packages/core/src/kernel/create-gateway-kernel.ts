import { createAuthenticator, findByHash, findByOperator, findInTurn } from "../auth/authenticate.js";
import { createRecordDelivery } from "../billing/delivery.js";
import type { MinimalLedger } from "../billing/ledger.js";
import { healthIdsOf } from "../channels/channel.js";
import { overloaded } from "../errors.js";
import type { BeforeSend } from "../events.js";
import type { Family } from "../families/family.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import { consoleLogger, createSafeLogger, type Logger } from "../logger.js";
import type { RelatedOptions } from "../options/options.js";
import type { Cooldown } from "../types.js";
import type { Configured, Contributed, Contribution, Feature, Kernel } from "./feature.js";
import { configureKernel } from "./kernel-configuration.js";
import { createKernelParts, type Dependencies, type KernelOptions } from "./kernel-parts.js";
import { createMaintenance, createTracker, shutDown } from "./lifecycle.js";
import { createReloadable } from "./reloadable.js";
import { createRequestHandler, type HandlerContext } from "./request-handler.js";
import { createFetch, type WebHost } from "./web-host.js";

/** What a gateway is created from. */
export interface GatewaySetup<Options extends RelatedOptions, Features> {
  /** The options that stay when others are reloaded. */
  readonly options: KernelOptions & {
    readonly basePath?: string | undefined;
    readonly logger?: Logger | undefined;
  };
  readonly ledger: MinimalLedger;
  /** Returns the families whose endpoints are served. Called when the options were checked. */
  readonly listFamilies: () => readonly Family[];
  /** In the order in which their routes are matched, and their background work is done. */
  readonly features: Features | undefined;
  /** Loads and checks the options: at once, if all of them are available. Throws or rejects if they are wrong. */
  readonly load: () => CheckedOptions<Options> | Promise<CheckedOptions<Options>>;
  /** Checks the features that these options need. Throws if one is missing. */
  readonly checkFeatures?: ((contributed: Contributed) => void) | undefined;
  /** Describes a path that is not served. */
  readonly describeUnserved: HandlerContext<Options>["describeUnserved"];
  readonly dependencies: Partial<Dependencies>;
}

/** Options without problems, and the families that they may name. */
export interface CheckedOptions<Options extends RelatedOptions> {
  readonly options: Options;
  readonly families: ReadonlyMap<string, Family>;
}

/** Features, and `undefined` for those that are not in use. */
type FeatureList<Options extends RelatedOptions> = readonly (Feature<object, Options> | undefined)[];

/** What features add to the object of a gateway. */
export type Apis<Features> = Features extends readonly [infer First, ...infer Others]
  ? (First extends { setup(kernel: never): Contribution<infer Api, never> } ? Api : unknown) & Apis<Others>
  : unknown;

/** A gateway of the kernel and the features that it was composed of. Adapters mount it like every gateway. */
export interface ComposedGateway {
  /** The beginning of every path of the gateway; `""` if there is none. */
  readonly basePath: string;
  /**
   * Responds to any request; with 404 if the path is not one of the gateway's. Does not reject.
   *
   * @param host `caller` to find the app's own signed-in users, see `MountOptions`; `waitUntil` of hosts that stop a process after
   * its response, such as Workers; `mountPath` if the host has a path of its own before the gateway's. Default mount path: `/`.
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
   * Accepts no new request, waits until those in progress are settled, delivers the waiting records to `onUsage`, and
   * closes the connections to the providers. A ledger or an admission store that you created stays open.
   *
   * @throws RangeError for a deadline that is not a number of at least 0; then nothing is closed
   */
  close(options?: CloseOptions): Promise<void>;
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
 * Creates a gateway of the kernel and features, for `createGateway` and `composeGateway`.
 *
 * @throws GatewayOptionsError for problems of the options that are available at once
 */
export function createGatewayKernel<
  Options extends RelatedOptions,
  const Features extends FeatureList<Options>,
>(setup: GatewaySetup<Options, Features>): ComposedGateway & Apis<Features> {
  const first = setup.load();
  // If a feature throws, the options that are still being loaded are not awaited.
  if (first instanceof Promise) first.catch(() => undefined);
  const tracker = createTracker();
  let closing: Promise<void> | undefined;
  const isClosing = (): boolean => closing !== undefined;
  const features = setup.features?.filter((feature) => feature !== undefined) ?? [];
  const kernel: Kernel<Options> = openKernel(setup, features, {
    contributed: () => contributed,
    track: (work) => tracker.track(work),
    current: () => reloadable.current,
    load: () => reloadable.get(),
    reload: () => reloadable.reload(),
    start() {
      if (!isClosing()) maintenance.start();
    },
    isClosing,
  });
  const contributions = features.map((feature) => feature.setup(kernel));
  const chores = contributions.flatMap(({ chores: own = [] }) => own);
  const contributed: Contributed = { ...joinContributions(contributions), chores };
  setup.checkFeatures?.(contributed);
  const configure = createConfigure(kernel, contributions, contributed);
  const reloadable = createReloadable(
    first instanceof Promise ? first.then(configure) : configure(first),
    async () => configure(await setup.load()),
    ({ channels, models }) => {
      kernel.health.retain(healthIdsOf(channels));
      contributed.keySources?.retain(healthIdsOf(channels));
      contributed.history?.retain(channels.map(({ id }) => id));
      kernel.retryBudgets.retain(Object.keys(models));
    },
  );
  const lifecycle = { ...kernel, chores };
  const maintenance = createMaintenance(lifecycle, kernel.repeat);
  const handler = createRequestHandler(kernel, {
    ...contributed,
    families: setup.listFamilies(),
    changes: contributions.flatMap(({ changeResponse = [] }) => changeResponse),
    createRoutes: (host) => contributions.flatMap(({ routes }) => routes?.(host) ?? []),
    describeUnserved: setup.describeUnserved,
  });
  for (const chore of chores) chore.open?.();
  const gateway: ComposedGateway = {
    basePath: kernel.basePath,
    ...handler,
    fetch: createFetch(handler),
    start: kernel.start,
    close({ deadlineSeconds = Infinity } = {}) {
      // NaN, for example of a missing environment variable, must not cut off everything.
      if (!(deadlineSeconds >= 0)) return Promise.reject(new RangeError(DEADLINE));
      closing ??= shutDown({ ...lifecycle, tracker, maintenance }, deadlineSeconds * 1000);
      return closing;
    },
  };
  addApis<Features>(gateway, contributions);
  return gateway;
}

function addApis<Features>(
  gateway: ComposedGateway,
  contributions: readonly Pick<Contribution, "api">[],
): asserts gateway is ComposedGateway & Apis<Features> {
  for (const { api } of contributions) Object.assign(gateway, api);
}

const DEADLINE = "deadlineSeconds must be a number of seconds of at least 0; the gateway was not closed.";

/** Members of the kernel that refer to parts that are created after it. */
type LateBound<Options extends RelatedOptions> = Pick<
  Kernel<Options>,
  "contributed" | "track" | "current" | "load" | "reload" | "start" | "isClosing"
>;

function openKernel<Options extends RelatedOptions>(
  {
    options,
    ledger,
    dependencies,
  }: Pick<GatewaySetup<Options, never>, "options" | "ledger" | "dependencies">,
  features: readonly Feature<object, Options>[],
  lateBound: LateBound<Options>,
): Kernel<Options> {
  const now = dependencies.now ?? Date.now;
  const { contributed } = lateBound;
  const ownLogger = createSafeLogger(options.logger ?? consoleLogger);
  const { observation, openDelivery = createRecordDelivery } = joinParts(
    features.map((feature) => ({
      observation: feature.observe?.(ownLogger, now),
      openDelivery: feature.openDelivery,
    })),
  );
  const logger = observation?.logger ?? ownLogger;
  const context = {
    ledger,
    logger,
    openDelivery,
    shareCooldown: (id: string, cooldown: Cooldown | undefined) =>
      contributed().shareCooldown?.(id, cooldown),
    // Only an admission has limits on requests at once.
    createCrowdedError: (concurrent: number) =>
      contributed().admission?.createCrowdedError(concurrent) ?? overloaded(),
  };
  return {
    ...createKernelParts(options, { ...dependencies, now }, context),
    ...lateBound,
    observation,
    basePath: options.basePath ?? "",
    refused: (failed) => contributed().refused?.(failed),
  };
}

/** Creates the function that makes of a set of options what depends on it. */
function createConfigure<Options extends RelatedOptions>(
  kernel: Kernel<Options>,
  contributions: readonly Contribution<object, Options>[],
  contributed: Contributed,
): (checked: CheckedOptions<Options>) => Configured<Options> {
  const { countsPeriods = false } = contributed;
  const { pauses, admission, images, marks, requireMarks, history, rankChannels } = contributed;
  const checks = [...contributions.map(({ beforeSend }) => beforeSend), kernel.beforeSend];
  const permanent = {
    ...kernel,
    beforeSend: chain(checks),
    pauses,
    admission,
    images,
    marks,
    requireMarks,
    history,
    rankChannels,
  };
  return ({ options, families }) => {
    const { authenticate, callers = [], billing } = options;
    const own = configureKernel(options, families, contributed);
    const transport = own.openTransport(kernel.transport, kernel.now);
    const callerRules = { hasBilling: billing !== undefined, canKeepPeriods: countsPeriods };
    const configured = { ...permanent, ...own, options, callerRules, transport };
    const { submissions, openStoredJobs, findCaller, findSignedIn } = joinParts(
      contributions.map(({ configure }) => configure?.(configured) ?? {}),
    );
    const find = authenticate === undefined ? findByHash(callers) : findByOperator(authenticate, callerRules);
    return {
      ...configured,
      submissions,
      openStoredJobs,
      authenticate: createAuthenticator({
        find: findCaller === undefined ? find : findInTurn(find, findCaller),
        findSignedIn,
        rules: callerRules,
        now: kernel.now,
      }),
    };
  };
}

/** Joins the contributions that a gateway can have only once, such as its admission. */
function joinContributions<Options extends RelatedOptions>(
  contributions: readonly Contribution<object, Options>[],
): Contributed {
  return joinParts(
    contributions.map(
      ({
        routes: _routes,
        chores: _chores,
        beforeSend: _check,
        changeResponse: _change,
        configure: _configure,
        api: _api,
        ...parts
      }) => parts,
    ),
  );
}

/** @throws TypeError if two features contribute the same part */
function joinParts<Parts extends object>(contributed: readonly Parts[]): Partial<Parts> {
  const joined: Partial<Parts> = {};
  for (const parts of contributed) {
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
