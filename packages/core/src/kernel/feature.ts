import type { FindCaller, FindSignedIn } from "../auth/authenticate.js";
import type { CallerRules } from "../auth/check-caller.js";
import type { Delivery, DeliveryParts } from "../billing/delivery.js";
import type { AttemptHistory } from "../channels/attempt-history.js";
import type { ChangeDialect } from "../channels/channel.js";
import type { Pauses } from "../channels/pauses.js";
import type { RankChannels } from "../channels/select.js";
import type { Chore } from "../contract/chore.js";
import type { Cors } from "../contract/cors.js";
import type { KeySources } from "../contract/key-source.js";
import type { CallObservation } from "../contract/observer.js";
import type { BeforeSend } from "../events.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import type { Logger } from "../logger.js";
import type { RelatedOptions } from "../options/options.js";
import type { Endpoint, GatewayRoute } from "../request/route.js";
import type { ImageStage, RequireMarks } from "../responses/image-stage.js";
import type { Cooldown } from "../types.js";
import type { ImageMarking } from "../upstream/image-marks.js";
import type { Admission } from "./admission.js";
import type { configureKernel, ReadCosts } from "./kernel-configuration.js";
import type { createKernelParts } from "./kernel-parts.js";
import type { Maintenance } from "./lifecycle.js";
import type { PipelineParts } from "./pipeline.js";
import type { RouteHost } from "./route-host.js";

/**
 * A part of a gateway that can be left out, for `composeGateway` and for the option `features` of `createGateway`.
 *
 * @typeParam Api what it adds to the object of the gateway
 * @typeParam Options the options that can be reloaded
 */
export interface Feature<Api extends object = object, Options extends RelatedOptions = RelatedOptions> {
  /** Names it in messages. */
  readonly name: string;
  /** Observes calls. Called before the features are set up. A gateway can have one feature with it. */
  observe?(logger: Logger, now: () => number): CallObservation | undefined;
  /** Delivers the usage records in place of `onUsage`. Called as `observe` is. A gateway can have one feature with it. */
  readonly openDelivery?: ((parts: DeliveryParts) => Delivery) | undefined;
  /** Called once, when the gateway is created. Throws for wrong options. */
  setup(kernel: Kernel<Options>): Contribution<Api, Options>;
}

/** The options of the moment, and what depends on them. */
export interface Configured<Options extends RelatedOptions = RelatedOptions>
  extends PipelineParts,
    Omit<ReturnType<typeof configureKernel>, keyof PipelineParts> {
  readonly options: Options;
  /** What they allow for callers. */
  readonly callerRules: CallerRules;
}

/** What a feature can use of the kernel. */
export interface Kernel<Options extends RelatedOptions = RelatedOptions>
  extends ReturnType<typeof createKernelParts>,
    Pick<PipelineParts, "refused" | "track" | "observation">,
    Pick<Maintenance, "start"> {
  /** The beginning of every path of the gateway; `""` if there is none. */
  readonly basePath: string;
  /** `undefined` until the options were loaded, and while features are set up. */
  readonly current: () => Configured<Options> | undefined;
  /** Loads the options, if they were not loaded. Rejects if they cannot be loaded. */
  readonly load: () => Promise<Configured<Options>>;
  /** Loads them again. Rejects if they cannot be loaded or are wrong; then nothing changes. */
  readonly reload: () => Promise<void>;
  /** What all features have contributed. Not while features are set up. */
  readonly contributed: () => Contributed;
  /** Whether `close` was called. */
  readonly isClosing: () => boolean;
}

/** What a feature adds to a gateway. Of those with one value, a gateway can have one feature. */
export interface Contribution<Api extends object = object, Options extends RelatedOptions = RelatedOptions> {
  /** Paths of its own, matched before anything is read. The paths at which images are made come first. */
  readonly routes?: ((host: RouteHost<Configured<Options>>) => readonly GatewayRoute[]) | undefined;
  /**
   * Responds to a request for a native endpoint that asks for a task in the way of the provider. `undefined`: the endpoint
   * responds as usual.
   */
  readonly asTask?:
    | ((endpoint: Endpoint, request: GatewayRequest) => Promise<GatewayResponse> | undefined)
    | undefined;
  /** Background work. */
  readonly chores?: readonly Chore[] | undefined;
  /**
   * Called with each valid request when its hold is open, before anything is sent. A rejection with a `GatewayError` refuses the
   * request, and nothing is charged. Those of several features are called in their order, and then that of the options.
   */
  readonly beforeSend?: BeforeSend | undefined;
  /**
   * Returns a response in place of another one, such as with a further header. Called for every response but that to a preflight of CORS,
   * before a streamed body begins. Those of several features are called in their order. If it throws, the response stays as it was.
   */
  readonly changeResponse?: ResponseChange | undefined;
  /** Added to the object of the gateway. */
  readonly api?: Api;
  /** Called with each set of options that is loaded. */
  readonly configure?: ((configured: Configuring<Options>) => ConfiguredContribution) | undefined;
  /** Decides whether a valid call may run. */
  readonly admission?: Admission | undefined;
  /** Learns of cooldowns, to share them with other processes. `undefined`: it has ended. */
  readonly shareCooldown?: ((id: string, cooldown: Cooldown | undefined) => void) | undefined;
  /** Responds to web pages of other origins. */
  readonly cors?: Cors | undefined;
  /** Lets functions return the keys of channels. */
  readonly keySources?: KeySources | undefined;
  /** Changes the calls of a channel. Called with each set of options that is loaded. */
  readonly changeDialect?: ChangeDialect | undefined;
  /** Reads what channels cost the operator. Called with each set of options that is loaded. */
  readonly readCosts?: ReadCosts | undefined;
  /** Puts the channels of a call into an order. Default: that of their priorities. */
  readonly rankChannels?: RankChannels | undefined;
  /** Which channels get no requests. */
  readonly pauses?: Pauses | undefined;
  /** Remembers the latest attempts of each channel. */
  readonly history?: AttemptHistory | undefined;
  /** Stores, changes or refuses the images of responses. */
  readonly images?: ImageStage | undefined;
  /** Marks the images of responses. */
  readonly marks?: ImageMarking | undefined;
  /** Refuses images without a mark. */
  readonly requireMarks?: RequireMarks | undefined;
  /** Learns of requests that got an error and have no usage record. Does not throw. */
  readonly refused?: PipelineParts["refused"] | undefined;
  /** Whether the ledger counts what callers spend by period. */
  readonly countsPeriods?: boolean | undefined;
}

/** See {@link Contribution.changeResponse}. */
export type ResponseChange = (
  request: Pick<GatewayRequest, "method" | "url" | "headers">,
  response: GatewayResponse,
) => GatewayResponse;

/** What the features of a gateway have contributed together. */
export type Contributed = Omit<
  Contribution,
  "routes" | "beforeSend" | "changeResponse" | "api" | "configure"
>;

/** What depends on the options of the moment before the features have added to it. */
export type Configuring<Options extends RelatedOptions> = Omit<
  Configured<Options>,
  "authenticate" | "submissions" | "openStoredJobs"
>;

/** What a feature adds that depends on options that can be reloaded. */
interface ConfiguredContribution extends Partial<Pick<PipelineParts, "submissions" | "openStoredJobs">> {
  /** Finds callers that are not among those of the options. */
  readonly findCaller?: FindCaller | undefined;
  /** Finds the app's own signed-in users. */
  readonly findSignedIn?: FindSignedIn | undefined;
}
