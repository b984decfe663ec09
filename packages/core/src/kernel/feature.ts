import type { MinimalLedger } from "../billing/ledger.js";
import type { ChannelHealth } from "../channels/health.js";
import type { Chore } from "../contract/chore.js";
import type { Cors } from "../contract/cors.js";
import type { BeforeSend } from "../events.js";
import type { Logger } from "../logger.js";
import type { GatewayRoute } from "../request/route.js";
import type { Cooldown } from "../types.js";
import type { Admission } from "./admission.js";
import type { PipelineParts } from "./pipeline.js";
import type { RouteHost } from "./route-host.js";

/** A part of a gateway that can be left out, for `composeGateway`. */
export interface Feature {
  /** Names it in messages. */
  readonly name: string;
  /** Called once, when the gateway is created. Throws for wrong options. */
  setup(kernel: Kernel): Contribution;
}

/** What a feature can use of the kernel. */
export interface Kernel {
  readonly ledger: MinimalLedger;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The beginning of every path of the gateway; `""` if there is none. */
  readonly basePath: string;
  /** Which channels, keys and models cool down. */
  readonly health: ChannelHealth;
  /** Keeps `close()` waiting until the work is done. */
  readonly track: (work: Promise<unknown>) => void;
}

/** What a feature adds to a gateway. Of those with one value, a gateway can have one feature. */
export interface Contribution {
  /** Paths of its own, matched before anything is read. The paths at which images are made come first. */
  readonly routes?: ((host: RouteHost<PipelineParts>) => readonly GatewayRoute[]) | undefined;
  /** Background work. */
  readonly chores?: readonly Chore[] | undefined;
  /**
   * Called with each valid request when its hold is open, before anything is sent. A rejection with a `GatewayError` refuses the
   * request, and nothing is charged. Those of several features are called in their order, and then that of the options.
   */
  readonly beforeSend?: BeforeSend | undefined;
  /** Decides whether a valid call may run. */
  readonly admission?: Admission | undefined;
  /** Learns of cooldowns, to share them with other processes. `undefined`: it has ended. */
  readonly shareCooldown?: ((id: string, cooldown: Cooldown | undefined) => void) | undefined;
  /** Responds to web pages of other origins. */
  readonly cors?: Cors | undefined;
}
