import { type AttemptHistory, createAttemptHistory } from "../../channels/attempt-history.js";
import type { Channel } from "../../channels/channel.js";
import { type ChannelStatus, describeChannel, describeChannels } from "../../channels/channel-status.js";
import { GatewayError, invalidRequest } from "../../errors.js";
import type { Feature, Kernel } from "../../kernel/feature.js";
import { closedError } from "../../kernel/lifecycle.js";
import { settlesWithin } from "../../util/async.js";
import { isJsonObject } from "../../util/json.js";
import {
  type ChannelProbe,
  type ChannelProbeOptions,
  estimateProbe,
  type ProbeEstimate,
  probeChannel,
} from "../channel-probe/probe-channel.js";
import {
  CHECK_LIMIT_MS,
  findHealthChecks,
  type HealthCheckStatus,
  type HealthChecks,
} from "../health/health-feature.js";
import { createMemoryAdmissionStore } from "../limits/memory-store.js";
import type { AdmissionStore } from "../limits/store.js";
import { type ChannelInfo, describeConfigured } from "./channel-info.js";
import { type ChannelPauses, createPauses, type PauseOptions, type ResumeOptions } from "./pauses.js";

/** What `gateway.status()` returns. */
export interface GatewayStatus {
  /** In the order of the options. Empty until the options were loaded. */
  readonly channels: readonly ChannelStatus[];
  /** The last check of the ledger, by `GET {base}/healthz` or `gateway.checkStatus()`. */
  readonly ledger: HealthCheckStatus;
  /** The last check of the admission store, by `GET {base}/healthz` or `gateway.checkStatus()`. */
  readonly store: HealthCheckStatus;
}

/** The part of a gateway that shows and changes its channels. */
export interface ChannelControl {
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
  /** What the channels are configured for, in the order of the options: family, models, priority, weight, and hints of the keys. */
  listChannels(): Promise<readonly ChannelInfo[]>;
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
   * @throws GatewayError as {@link ChannelControl.pauseChannel}
   */
  resumeChannel(channel: string, options?: ResumeOptions): Promise<ChannelStatus>;
}

/** The options of {@link channelControl}. */
export interface ChannelControlOptions {
  /** Stores the pauses of channels: the store of `limits`. Default: in the memory of this process. */
  readonly admission?: AdmissionStore | undefined;
}

/** Shows, probes, pauses and resumes channels. */
export function channelControl(options: ChannelControlOptions = {}): Feature<ChannelControl> {
  return {
    name: "channel-control",
    setup(kernel) {
      const { now, logger, current } = kernel;
      const { admission = createMemoryAdmissionStore({ now }) } = options;
      const pauses = createPauses(admission, now, logger);
      const history = createAttemptHistory(now);
      const refresh = (): Promise<void> | undefined => {
        const configured = current();
        return configured && pauses.refresh(idsOf(configured.channels));
      };
      return {
        pauses,
        history,
        chores: [{ begin: refresh }],
        api: createChannelControl(kernel, { pauses, history, checks: findHealthChecks(kernel, admission) }),
      };
    },
  };
}

/** What the channels of a gateway are shown by. */
interface ControlSources {
  readonly pauses: ChannelPauses;
  readonly history: AttemptHistory;
  readonly checks: HealthChecks;
}

/** Shows, probes, pauses and resumes the channels of a gateway. */
function createChannelControl(
  { current, load, track, start, isClosing, health }: Kernel,
  { pauses, history, checks }: ControlSources,
): ChannelControl {
  const known = { health, history, pauses };

  const status: ChannelControl["status"] = () => ({
    channels: describeChannels(current()?.channels ?? [], known),
    ledger: checks.ledger.status(),
    store: checks.store.status(),
  });

  const change = async (id: string, write: () => Promise<void>): Promise<ChannelStatus> => {
    if (isClosing()) throw closedError();
    // Other processes may change it too, so this one has to ask from now on.
    start();
    const channel = findChannel((await load()).channels, id);
    await write();
    return describeChannel(channel, known);
  };

  return {
    status,
    async checkStatus() {
      const refreshed = pauses.refresh(idsOf(current()?.channels ?? []));
      await Promise.all([checks.ledger.run(), checks.store.run(), settlesWithin(refreshed, CHECK_LIMIT_MS)]);
      return status();
    },
    async listChannels() {
      const configured = await load();
      return configured.channels.map((channel) => describeConfigured(channel, configured));
    },
    probeChannel(id, options = {}) {
      if (isClosing()) return Promise.reject(closedError());
      const isObject: boolean = isJsonObject(options);
      if (!isObject) return Promise.reject(invalidRequest("The options must be an object."));
      const probe = load().then((configured) =>
        probeChannel(findChannel(configured.channels, id), options, configured),
      );
      track(probe);
      return probe;
    },
    async estimateProbe(id) {
      const configured = await load();
      return estimateProbe(findChannel(configured.channels, id), configured);
    },
    pauseChannel: (id, options = {}) => change(id, () => pauses.pause(id, options)),
    resumeChannel: (id, options = {}) => change(id, () => pauses.resume(id, options)),
  };
}

function idsOf(channels: readonly Channel[]): readonly string[] {
  return channels.map(({ id }) => id);
}

/** @throws GatewayError `channel_not_found` */
function findChannel(channels: readonly Channel[], id: string): Channel {
  const channel = channels.find((other) => other.id === id);
  if (channel !== undefined) return channel;
  throw new GatewayError("channel_not_found", `There is no channel with the id ${id}.`);
}
