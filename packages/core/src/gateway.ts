import type { UsageReports } from "./billing/ledger.js";
import type { ChannelStatus } from "./channels/status.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import type { ChannelProbe, ChannelProbeOptions } from "./upstream/probe-channel.js";

/** An image-generation gateway. */
export interface Gateway {
  /** What stands before every path of the gateway; `""` when nothing does. */
  readonly basePath: string;
  /**
   * Responds to any request; with 404 if the path is not one of the gateway's. Never rejects.
   *
   * @param host `waitUntil` of hosts that stop a process after its response, such as Workers; `mountPath` if the
   * host has a path of its own before the gateway's. Default mount path: `/`.
   */
  fetch(request: Request, host?: Pick<GatewayRequest, "waitUntil" | "mountPath">): Promise<Response>;
  /**
   * For adapters: responds to a request for one of the gateway's paths. For any other path it returns `null` at once
   * and has read nothing, so that the host can call its next handler. The promise never rejects.
   */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** Returns the 404 for a path that no route serves, for hosts without a 404 of their own. */
  notFound(request: Pick<GatewayRequest, "method" | "url" | "headers">): GatewayResponse;
  /** How the channels are, in the order of the options; none before options that take time are read. */
  status(): GatewayStatus;
  /**
   * Asks a channel for one small picture with each of its keys, which the provider charges. A success ends a
   * cooldown, so that an account that was mended is used again at once.
   *
   * @throws GatewayError `model_not_found` where the channel or its model is not known, `invalid_request_error`,
   * `gateway_closed`
   */
  probeChannel(channel: string, options?: ChannelProbeOptions): Promise<ChannelProbe>;
  /** What was used and charged, and what callers have under way: the ledger, for reading. */
  readonly usage: UsageReports;
  /**
   * Reads the options anew that were given as functions, and takes them over where all are right; requests under
   * way go on with what they began with. Called once at start it also tells whether such options are right.
   *
   * @throws GatewayOptionsError, or what a function threw; then everything stays as it was
   */
  reload(): Promise<void>;
  /**
   * Takes no new request, waits until those under way are settled, hands the records that wait to `onUsage`, and
   * ends the connections to the providers. A ledger or a store of yours stays open.
   *
   * @throws RangeError for a deadline that is no number of at least 0; then nothing is closed
   */
  close(options?: CloseOptions): Promise<void>;
}

/** How long a gateway may take to close. */
export interface CloseOptions {
  /**
   * After so many seconds what is still under way is cut off: its holds become unresolved records, charged as
   * `billing.onLost` says. `onUsage` then has three seconds for the records that wait. Default: no deadline.
   */
  readonly deadlineSeconds?: number | undefined;
}

/** What `gateway.status()` tells. */
export interface GatewayStatus {
  readonly channels: readonly ChannelStatus[];
}
