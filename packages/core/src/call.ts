import type { Hold } from "./billing/hold.js";
import type { RequestReport } from "./events.js";
import type { Logger } from "./logger.js";
import type { ResolvedModel } from "./models/resolve-model.js";
import type { BackgroundReads } from "./responses/relay.js";
import type { ImageRequest } from "./types.js";
import type { DispatchParts } from "./upstream/dispatch.js";
import type { ByteCount } from "./util/held-bytes.js";

/** A request that was understood and admitted, on its way to a provider and back. */
export interface Call {
  /** The request's id. */
  readonly id: string;
  readonly request: ImageRequest;
  readonly model: ResolvedModel;
  readonly hold: Hold;
  /** Names the request in each line. */
  readonly logger: Logger;
  /** Holds the host, and `gateway.close()`, until the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** An answer of up to so many bytes is wanted whole, to be kept for a repeat. */
  readonly keptBytes: number;
  /** Counts the bytes of an answer as long as they are held. */
  readonly bytes: ByteCount;
  /** Reports the attempts, and a failure after the response began, to the operator. */
  readonly report: Pick<RequestReport, "failed" | "tried">;
}

/** What a job needs of the gateway. */
export interface CallParts extends DispatchParts {
  readonly logger: Logger;
  readonly maxResponseBytes: number;
  /** Comments in quiet streams; `undefined`: none. */
  readonly heartbeatMs: number | undefined;
  readonly backgroundReads: BackgroundReads;
}
