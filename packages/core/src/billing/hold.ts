import { GatewayError } from "../errors.js";
import type { Logger } from "../logger.js";
import type { SentTo } from "../types.js";
import { createLinkedList, type Link, type LinkedList } from "../util/linked-list.js";
import { toDecimalString } from "./decimal.js";
import type { Ledger } from "./ledger.js";
import {
  type BilledRequest,
  type LostPolicy,
  type Outcome,
  type SettledRecord,
  toSettledRecord,
  type UsageRecord,
} from "./records.js";

/**
 * Money that is set aside for one request. The first of `settle`, `release` and `abandon` ends the hold; calls after
 * that change nothing. `settle` and `release` resolve when the ledger has the outcome, or after its last retry. They
 * do not reject.
 */
export interface Hold {
  /** Ends the hold of a request that reached a provider: charges it, and keeps its record. */
  settle(sentTo: SentTo, outcome: Outcome): Promise<void>;
  /** Ends the hold of a request that reached no provider. Nothing is charged or recorded. */
  release(): Promise<void>;
  /** Ends the hold of a request whose outcome will never be known. The ledger keeps the money until a sweep. */
  abandon(): void;
  /** How the hold ended, whether or not the ledger accepted it. */
  readonly ended: Promise<HoldEnd>;
}

/** How a hold ended. */
export interface HoldEnd {
  /** The state of the request's record. `released`: there is no record. */
  readonly state: UsageRecord["state"];
  /** True if certainly nothing was made and nothing is charged. Then a repeat of the request may run. */
  readonly isNothingMade: boolean;
}

/** All holds of one gateway. */
export interface Holds {
  /**
   * Sets aside the most that a request can cost.
   *
   * @throws GatewayError `insufficient_quota` if the budget does not cover it, `gateway_unavailable` if the ledger fails
   */
  open(request: BilledRequest, options: OpenOptions): Promise<Hold>;
  /** Abandons all open holds, because the gateway ends before their requests. */
  abandonAll(): void;
  /** Repeats the writes that the ledger did not accept in time, up to the first that fails. Does not reject. */
  retryLateWrites(): Promise<void>;
}

/** Options of {@link Holds.open}. */
interface OpenOptions {
  /** The maximum duration of the hold, in milliseconds. */
  readonly ttlMs: number;
  /** Holds the host until the work is done. */
  readonly keepAlive: (work: Promise<unknown>) => void;
}

interface HoldParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  /** What a request costs if it is unknown what was made. */
  readonly onLost: LostPolicy;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Creates the holds of a gateway. */
export function createHolds(parts: HoldParts): Holds {
  const { ledger, logger, now } = parts;
  const openHolds = createLinkedList<Hold>();
  const lateWrites = createLateWrites();
  const holdParts: OpenHoldParts = { ...parts, openHolds, lateWrites };

  /** The hold may have been made although the ledger failed. The request is not sent, so it must not be charged. */
  async function releaseUnsure(id: string): Promise<void> {
    try {
      await ledger.release(id);
    } catch {
      // The failure of the ledger was logged. A sweep would not end the hold before its time, as this process lives.
      lateWrites.addUnsure(() => ledger.release(id));
    }
  }

  return {
    async open(request, { ttlMs, keepAlive }) {
      try {
        const { ok } = await ledger.hold(toHoldRecord(request, ttlMs, now()));
        if (ok) return new OpenHold(holdParts, request);
      } catch (cause) {
        logger.error({ requestId: request.id, err: cause }, "The ledger failed; the request was not sent.");
        keepAlive(releaseUnsure(request.id));
        throw new GatewayError(
          "gateway_unavailable",
          "This server cannot reach its billing ledger at the moment: try again. Nothing was sent or charged.",
          { retryAfterSeconds: 5, cause },
        );
      }
      throw new GatewayError(
        "insufficient_quota",
        "The budget of this API key does not cover what this request may cost.",
        { shouldRetry: false },
      );
    },
    abandonAll() {
      for (const hold of openHolds) hold.abandon();
    },
    retryLateWrites: () => lateWrites.run(),
  };
}

function toHoldRecord(request: BilledRequest, ttlMs: number, now: number): Parameters<Ledger["hold"]>[0] {
  const { id, time, caller, budget, group, model, operation, bounds, price } = request;
  return {
    id,
    time,
    caller,
    group,
    model,
    operation,
    amount: price?.estimate(bounds).amount ?? null,
    budget: budget === undefined ? undefined : toDecimalString(budget, "budget"),
    ttlMs,
    expiresAt: now + ttlMs,
  };
}

interface OpenHoldParts extends HoldParts {
  readonly openHolds: LinkedList<Hold>;
  readonly lateWrites: LateWrites;
}

class OpenHold implements Hold {
  readonly ended: Promise<HoldEnd>;
  readonly #parts: OpenHoldParts;
  readonly #link: Link<Hold>;
  readonly #request: BilledRequest;
  readonly #resolveEnded: (end: HoldEnd) => void;
  /** Set by the first call that ends the hold. */
  #ending: Promise<void> | undefined;

  constructor(parts: OpenHoldParts, request: BilledRequest) {
    this.#parts = parts;
    this.#request = request;
    ({ promise: this.ended, resolve: this.#resolveEnded } = Promise.withResolvers());
    this.#link = parts.openHolds.add(this);
  }

  settle(sentTo: SentTo, outcome: Outcome): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    const { ledger, logger, now, onLost } = this.#parts;
    const chargesHold = outcome.isUnknown === true && onLost === "charge";
    const record = toSettledRecord(this.#request, sentTo, { ...outcome, chargesHold, endedAt: now() });
    // The last response says nothing about what an earlier attempt made.
    const isKnown = outcome.isConclusive === true && sentTo.isRepeated !== true;
    if (record.unpriced === true) reportUnpriced(record, logger);
    if (record.reportedUsage !== undefined || record.reportedPixels !== undefined) reportCut(record, logger);
    const end: HoldEnd = { state: "settled", isNothingMade: isKnown && isNothingMade(record) };
    this.#ending = this.#write(end, () => ledger.settle(record), { record });
    return this.#ending;
  }

  release(): Promise<void> {
    const { ledger } = this.#parts;
    const { id } = this.#request;
    const end: HoldEnd = { state: "released", isNothingMade: true };
    this.#ending ??= this.#write(end, () => ledger.release(id), { requestId: id });
    return this.#ending;
  }

  abandon(): void {
    if (this.#ending !== undefined) return;
    this.#ending = Promise.resolve();
    this.#end({ state: "unresolved", isNothingMade: false });
  }

  /**
   * Repeats a write until the ledger accepts it. If the ledger fails for too long, the client gets its images anyway:
   * the write is logged, and repeated later.
   *
   * @param fields what is written, for the log
   */
  async #write(end: HoldEnd, write: LedgerWrite, fields: object): Promise<void> {
    const { lateWrites, logger } = this.#parts;
    const failure = await tryWrite(write);
    if (failure !== undefined) {
      logger.error(
        { ...fields, err: failure.error },
        "The ledger did not accept a charge or release in time; it is retried every 10 s.",
      );
      lateWrites.add(write);
    }
    this.#end(end);
  }

  #end(end: HoldEnd): void {
    this.#parts.openHolds.delete(this.#link);
    this.#resolveEnded(end);
  }
}

type LedgerWrite = () => Promise<void>;

/** The waits before each retry. Their sum is shorter than clients wait for the end of a response. */
const RETRY_MS: readonly number[] = [50, 250, 1_000, 4_000];

/** Returns the last failure if the ledger accepted the write in none of the attempts. */
async function tryWrite(write: LedgerWrite): Promise<{ readonly error: unknown } | undefined> {
  for (let attempt = 0; ; attempt++) {
    try {
      await write();
      return undefined;
    } catch (error) {
      const waitMs = RETRY_MS[attempt];
      if (waitMs === undefined) return { error };
      await new Promise((resolve) => {
        setTimeout(resolve, waitMs);
      });
    }
  }
}

/** Writes that the ledger did not accept while their clients waited. They are lost if the process dies. */
interface LateWrites {
  /** Adds the end of a hold. If there are too many, the oldest is dropped, and its hold is left to a sweep. */
  add(write: LedgerWrite): void;
  /** Adds the release of a hold that may not exist. If there are too many, the release is not kept. */
  addUnsure(release: LedgerWrite): void;
  run(): Promise<void>;
}

const MAX_WAITING = 10_000;
const MAX_UNSURE = 1_000;

function createLateWrites(): LateWrites {
  const waiting = new Set<LedgerWrite>();
  const unsure = new Set<LedgerWrite>();
  return {
    add(write) {
      const [oldest] = waiting;
      if (waiting.size >= MAX_WAITING && oldest !== undefined) waiting.delete(oldest);
      waiting.add(write);
    },
    addUnsure(release) {
      // The first ones are kept: they are the ones that may exist if the ledger stays unreachable.
      if (unsure.size < MAX_UNSURE) unsure.add(release);
    },
    async run() {
      await runAll(waiting);
      await runAll(unsure);
    },
  };
}

async function runAll(writes: Set<LedgerWrite>): Promise<void> {
  for (const write of writes) {
    writes.delete(write);
    try {
      await write();
    } catch {
      // Moved to the end, so that a write that the ledger never accepts does not block the others.
      writes.add(write);
      return;
    }
  }
}

/** True if no image came or was reported, and nothing was charged. */
function isNothingMade({ images, usage, charge }: SettledRecord): boolean {
  const isCharged = charge !== null && charge !== "0";
  return images === 0 && !isCharged && !usage?.generated_images;
}

function reportUnpriced({ id, model, charge }: SettledRecord, logger: Logger): void {
  logger.warn(
    { requestId: id, model, charge },
    "The provider did not report all tokens; the charge does not include them.",
  );
}

function reportCut(record: SettledRecord, logger: Logger): void {
  const { id, model, channel, usage, reportedUsage, reportedPixels } = record;
  logger.error(
    { requestId: id, model, channel, reportedUsage, reportedPixels, usage },
    "The provider reported more than the request could make: the report was cut, and so was the charge.",
  );
}
