import type { Slot } from "../admission/slot.js";
import type { BilledRequest } from "../billing/records.js";
import { findLeaseMs } from "../channels/channel.js";
import type { SafeCallObserver } from "../contract/observer.js";
import type { RequestReport } from "../events.js";
import type { GatewayRequest } from "../http.js";
import type { Logger } from "../logger.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Call, CallReport } from "../responses/call.js";
import type { Caller, CallerLimits, ImageRequest, ResultImage } from "../types.js";
import type { Probe } from "../upstream/dispatch.js";
import type { LoadReferences } from "../upstream/references.js";
import type { StoredJobs } from "../upstream/stored-jobs.js";
import type { ByteCount } from "../util/held-bytes.js";

/** Creates the stored jobs of a call. `undefined` if its providers do not work with jobs. */
export type OpenStoredJobs = (
  call: Pick<NormalizedCall, "billed" | "model" | "request">,
  /** Links the continued call to this one, for telemetry. */
  link: string | undefined,
) => StoredJobs | undefined;

/** What a call is created from. */
export type NewCall = Pick<
  NormalizedCall,
  "billed" | "caller" | "callerLimits" | "model" | "request" | "logger" | "keepAlive" | "linkBase"
> &
  Partial<Pick<NormalizedCall, "slot" | "client" | "loadReferences" | "storedJobs" | "onImage" | "probe">> & {
    /** Absent: the call is reported when it is sent. */
    readonly report?: RequestReport | undefined;
  };

/**
 * A valid request for images in progress: of a client that waits, of a task, or of a client that is gone. It is created
 * once and passed on. `run` checks its limits, opens its hold, sends it, charges it and releases what it has.
 */
export class NormalizedCall implements Call {
  /** The request's id. */
  readonly id: string;
  /** What the ledger and the usage record say of the call. */
  readonly billed: BilledRequest;
  readonly caller: Caller;
  /** The caller's own limits merged with those of the gateway. */
  readonly callerLimits: CallerLimits;
  readonly model: ResolvedModel;
  readonly request: ImageRequest;
  /** Adds the request's id to each line. */
  readonly logger: Logger;
  /** Keeps the host and the gateway from ending before the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** The URL of the gateway before `/v1/…`, for links to its images. Empty without a stage for images. */
  readonly linkBase: string;
  /** The call's share of this process. `undefined`: the call has none, because its client is gone. */
  readonly slot: Slot | undefined;
  /** Counts the bytes of the response while they are held. */
  readonly bytes: ByteCount;
  /** Loads the reference images for services that take only bytes. */
  readonly loadReferences: LoadReferences;
  /** Stores the provider's jobs with the hold. `undefined`: only this process can wait for them. */
  readonly storedJobs: StoredJobs | undefined;
  /** Set for the probe of one key of a channel. */
  readonly probe: Probe | undefined;
  /** Learns of images with a link before the response is complete, in the order in which they are delivered. */
  readonly onImage: ((image: ResultImage) => void) | undefined;
  /** Tells whether the client has disconnected. */
  client: Pick<GatewayRequest, "signal">;
  /** Reports to the operator. */
  report: CallReport = UNREPORTED;
  /** Observes the call. `undefined` without telemetry. */
  observer: SafeCallObserver | undefined;
  /** A response of up to this many bytes must be complete, because it is stored for a repeat of the request. */
  keptBytes = 0;

  constructor(call: NewCall) {
    const { billed, report, slot } = call;
    this.id = billed.id;
    this.billed = billed;
    this.caller = call.caller;
    this.callerLimits = call.callerLimits;
    this.model = call.model;
    this.request = call.request;
    this.logger = call.logger;
    this.keepAlive = call.keepAlive;
    this.linkBase = call.linkBase;
    this.slot = slot;
    this.bytes = slot?.bytes ?? UNCOUNTED;
    this.loadReferences = call.loadReferences ?? loadNone;
    this.storedJobs = call.storedJobs;
    this.probe = call.probe;
    this.onImage = call.onImage;
    this.client = call.client ?? NEVER_LEAVES;
    if (report !== undefined) this.reportTo(report);
  }

  /** The lease of the slots, the idempotency key and the hold, in milliseconds. The model's is for one upstream call. */
  get leaseMs(): number {
    const { model, request } = this;
    const { upstreamCalls } = request;
    return upstreamCalls === undefined ? model.leaseMs : findLeaseMs(model.channels, upstreamCalls);
  }

  /** From now on the call is reported and observed. */
  reportTo(report: RequestReport): void {
    this.report = report;
    this.observer = report.observer;
  }
}

/** A task that was not sent is not reported. */
const UNREPORTED: CallReport = {
  setAttempts() {},
  refused(cause) {
    throw cause;
  },
  failed() {},
};

/** There is no client that can disconnect. */
const NEVER_LEAVES: Pick<GatewayRequest, "signal"> = { signal: { aborted: false } };

/** The response of a call without a slot does not count: there are few such calls, and their results are links. */
const UNCOUNTED: ByteCount = { addAnyway() {}, remove() {} };

const loadNone: LoadReferences = () =>
  Promise.reject(new TypeError("A request that is continued is not sent."));
