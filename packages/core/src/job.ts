import type { BackgroundReads } from "./background-reads.js";
import type { Order } from "./billing/settle.js";
import type { UsageRecord } from "./billing/usage-record.js";
import type { DispatchParts } from "./dispatch.js";
import type { ImageRequest } from "./image-request.js";
import type { ResolvedModel } from "./routing/resolve-model.js";

/** A request that was understood, on its way to a provider and back. */
export interface Job {
  /** The request's id. */
  readonly id: string;
  readonly request: ImageRequest;
  readonly model: ResolvedModel;
  readonly order: Order;
  /** Holds the host, and `gateway.close()`, until the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/** What a job needs of the gateway. */
export interface JobParts extends DispatchParts {
  readonly maxAnswerBytes: number;
  /** Comments in quiet streams; `undefined`: none. */
  readonly heartbeatMs: number | undefined;
  readonly backgroundReads: BackgroundReads;
  /** Hands a usage record to the operator. Never rejects. */
  readonly report: (record: UsageRecord) => Promise<void>;
}
