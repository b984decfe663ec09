import type { Channel } from "../../channels/channel.js";
import { GatewayError, invalidRequest } from "../../errors.js";
import { closedError, type Maintenance, type Tracker } from "../../kernel/lifecycle.js";
import type { Reloadable } from "../../kernel/reloadable.js";
import { settlesWithin } from "../../util/async.js";
import { isJsonObject } from "../../util/json.js";
import {
  type ChannelProbe,
  type ChannelProbeOptions,
  type ChannelProbeParts,
  estimateProbe,
  type ProbeEstimate,
  probeChannel,
} from "../channel-probe/probe-channel.js";
import { CHECK_LIMIT_MS, type HealthCheckStatus, type HealthChecks } from "../health/healthz-endpoint.js";
import type { ChannelPauses, PauseOptions, ResumeOptions } from "./pauses.js";
import { type ChannelStatus, type ChannelStatusParts, describeChannel, describeChannels } from "./status.js";

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

type ProbeParts = ChannelProbeParts & Parameters<typeof estimateProbe>[1];

/** What {@link createChannelControl} needs. */
export interface ChannelControlParts extends ChannelStatusParts {
  readonly pauses: ChannelPauses;
  readonly reloadable: Reloadable<ProbeParts & { readonly channels: readonly Channel[] }>;
  readonly tracker: Pick<Tracker, "track">;
  readonly maintenance: Pick<Maintenance, "start">;
  readonly checks: HealthChecks;
  /** Whether `close` was called. */
  readonly isClosing: () => boolean;
}

/** Shows, probes, pauses and resumes the channels of a gateway. */
export function createChannelControl(parts: ChannelControlParts): ChannelControl {
  const { pauses, reloadable, tracker, maintenance, checks, isClosing } = parts;

  const status: ChannelControl["status"] = () => ({
    channels: describeChannels(reloadable.current?.channels ?? [], parts),
    ledger: checks.ledger.status(),
    store: checks.store.status(),
  });

  const change = async (id: string, write: () => Promise<void>): Promise<ChannelStatus> => {
    if (isClosing()) throw closedError();
    // Other processes may change it too, so this one has to ask from now on.
    maintenance.start();
    const channel = findChannel((await reloadable.get()).channels, id);
    await write();
    return describeChannel(channel, parts);
  };

  return {
    status,
    async checkStatus() {
      const refreshed = pauses.refresh(reloadable.current?.channels ?? []);
      await Promise.all([checks.ledger.run(), checks.store.run(), settlesWithin(refreshed, CHECK_LIMIT_MS)]);
      return status();
    },
    probeChannel(id, options = {}) {
      if (isClosing()) return Promise.reject(closedError());
      const isObject: boolean = isJsonObject(options);
      if (!isObject) return Promise.reject(invalidRequest("The options must be an object."));
      const probe = reloadable
        .get()
        .then((current) => probeChannel(findChannel(current.channels, id), options, current));
      tracker.track(probe);
      return probe;
    },
    async estimateProbe(id) {
      const current = await reloadable.get();
      return estimateProbe(findChannel(current.channels, id), current);
    },
    pauseChannel: (id, options = {}) => change(id, () => pauses.pause(id, options)),
    resumeChannel: (id, options = {}) => change(id, () => pauses.resume(id, options)),
  };
}

/** @throws GatewayError `channel_not_found` */
function findChannel(channels: readonly Channel[], id: string): Channel {
  const channel = channels.find((other) => other.id === id);
  if (channel !== undefined) return channel;
  throw new GatewayError("channel_not_found", `There is no channel with the id ${id}.`);
}
