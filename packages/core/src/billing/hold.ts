import { GatewayError, unavailable } from "../errors.js";
import type { Logger } from "../logger.js";
import { callStore } from "../util/async.js";
import { createLinkedList, type Link, type LinkedList, removeOldest } from "../util/collections.js";
import { addDecimals, formatDecimal, readDecimal, subtractDecimal } from "../util/decimal.js";
import { haveSameFields } from "../util/json.js";
import { readBudget } from "./budget.js";
import type { Price, RequestBounds } from "./charge.js";
import { type Balance, KEPT_HOLDS, type MinimalLedger, type SettleResult } from "./ledger.js";
import { findAbility } from "./ledger-ability.js";
import type { Outcome, SentTo } from "./outcome.js";
import {
  type BilledRequest,
  copyFacts,
  type HoldRecord,
  type LostPolicy,
  type SettledRecord,
  toSettledRecord,
  type UsageRecord,
} from "./records.js";

/**
 * Money that is set aside for one request. The first of `settle`, `release` and `abandon` ends the hold; calls after
 * that change nothing. `settle` and `release` return how the hold ended, when the ledger has the outcome or after its last
 * retry. They do not reject.
 */
export interface Hold {
  /** Ends the hold of a request that reached a provider: charges it, and keeps its record. */
  settle(sentTo: SentTo, outcome: Outcome): Promise<HoldEnd>;
  /** Ends the hold of a request that reached no provider. Nothing is charged or recorded. */
  release(): Promise<HoldEnd>;
  /** Ends the hold of a request whose outcome will never be known. The ledger keeps the money until a sweep. */
  abandon(): void;
  /** How the hold ended, whether or not the ledger accepted it. */
  readonly ended: Promise<HoldEnd>;
  /** The same. `undefined` if it has not ended. */
  readonly end: HoldEnd | undefined;
  /** True if the hold was abandoned, because the gateway closed before its request had ended. */
  readonly isAbandoned: boolean;
  /** The record with which the hold was settled. `undefined` if it was released, or has not ended. */
  readonly record: SettledRecord | undefined;
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
  /**
   * Takes over the hold of a task, which a task store keeps. Its end is not written to the ledger: it is returned, so that
   * it can be written together with the end of the task. The hold of a probe is not written anywhere.
   */
  adopt(request: BilledRequest): Hold;
  /** Takes over the hold of a request that another process sent. It is in the ledger. */
  resume(request: BilledRequest): Hold;
  /** Stores with a hold what another process needs to continue its request. `undefined` if the ledger cannot do that. */
  readonly keepUpstream: ((id: string, upstream: string) => Promise<void>) | undefined;
  /**
   * Repeats a write until the ledger accepts it. If the ledger fails for too long, the write is logged, and repeated later.
   *
   * @param fields what is written, for the log
   */
  write(write: () => Promise<void>, fields: object): Promise<void>;
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
  readonly ledger: MinimalLedger;
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
  const lateWrites = createLateWrites(logger);
  const kept = findAbility(ledger, KEPT_HOLDS);
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
    open(request, { ttlMs, keepAlive }) {
      let hold: HoldRecord | undefined;
      const make = (): ReturnType<MinimalLedger["hold"]> => {
        hold = toHoldRecord(request, ttlMs, now());
        return ledger.hold(hold);
      };
      return callStore(make).then(
        (result) => {
          if (result.ok) return new OpenHold(holdParts, request, hold?.amount ?? undefined);
          throw budgetError(hold, result.balance);
        },
        (cause: unknown) => {
          logger.error({ requestId: request.id, err: cause }, "The ledger failed; the request was not sent.");
          keepAlive(releaseUnsure(request.id));
          throw unavailable(
            "This server cannot reach its billing ledger at the moment: try again. Nothing was sent or charged.",
            cause,
          );
        },
      );
    },
    adopt: (request) => new OpenHold({ ...holdParts, ledger: NOT_WRITTEN }, request),
    resume: (request) => new OpenHold(holdParts, request),
    keepUpstream: kept && (async (id, upstream) => await kept.keepUpstream(id, upstream)),
    write: (write, fields) => {
      const startedAt = performance.now();
      return callStore(write).catch((error: unknown) =>
        lateWrites.repeat(write, { error, fields, startedAt }),
      );
    },
    abandonAll() {
      for (const hold of openHolds) hold.abandon();
    },
    retryLateWrites: () => lateWrites.run(),
  };
}

/** The error of a request whose hold the budget does not cover. */
export function budgetError(hold: HoldRecord | undefined, { settled, held }: Balance): GatewayError {
  const spent = addDecimals(readDecimal(settled), readDecimal(held));
  const left = subtractDecimal(readDecimal(hold?.budget ?? "0"), spent);
  return new GatewayError("insufficient_quota", "The budget does not cover what this request may cost.", {
    shouldRetry: false,
    limit: "budget",
    budget: { asked: hold?.amount ?? "0", left: left.units < 0n ? "0" : formatDecimal(left) },
  });
}

/** The last estimate of each price, because most requests for a model have the same bounds. */
const lastEstimates = new WeakMap<Price, { readonly bounds: RequestBounds; readonly amount: string }>();

function estimateAmount(price: Price, bounds: RequestBounds): string {
  const last = lastEstimates.get(price);
  if (last !== undefined && haveSameFields(last.bounds, bounds)) return last.amount;
  const { amount } = price.estimate(bounds);
  lastEstimates.set(price, { bounds: { ...bounds }, amount });
  return amount;
}

/** The hold of a request, for a ledger. */
export function toHoldRecord(
  request: BilledRequest,
  ttlMs: number,
  now: number,
): Parameters<MinimalLedger["hold"]>[0] {
  const { budget, bounds, price } = request;
  const amount = price === undefined ? null : estimateAmount(price, bounds);
  const facts = { ...copyFacts(request), amount };
  return { ...facts, ...(budget !== undefined && readBudget(budget)), ttlMs, expiresAt: now + ttlMs };
}

interface OpenHoldParts extends Omit<HoldParts, "ledger"> {
  readonly ledger: Pick<MinimalLedger, "settle" | "release">;
  readonly openHolds: LinkedList<Hold>;
  readonly lateWrites: LateWrites;
}

/** The hold of a task ends with the task, whose end has the record. A probe leaves none. */
const NOT_WRITTEN: OpenHoldParts["ledger"] = { settle: async () => undefined, release: async () => {} };

class OpenHold implements Hold {
  readonly #parts: OpenHoldParts;
  readonly #link: Link<Hold>;
  readonly #request: BilledRequest;
  readonly #amount: string | undefined;
  record: SettledRecord | undefined;
  end: HoldEnd | undefined;
  isAbandoned = false;
  /** Set by the first call that ends the hold. */
  #ending: Promise<HoldEnd> | undefined;
  /** Set once somebody waits for the end. */
  #waiting: PromiseWithResolvers<HoldEnd> | undefined;

  /** @param amount absent: it was computed by another process, or without `billing` */
  constructor(parts: OpenHoldParts, request: BilledRequest, amount?: string) {
    this.#parts = parts;
    this.#request = request;
    this.#amount = amount;
    this.#link = parts.openHolds.add(this);
    const { observer, price, bounds } = request;
    observer?.held(amount ?? price?.estimate(bounds).amount ?? null);
  }

  get ended(): Promise<HoldEnd> {
    if (this.end !== undefined) return Promise.resolve(this.end);
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  settle(sentTo: SentTo, outcome: Outcome): Promise<HoldEnd> {
    if (this.#ending !== undefined) return this.#ending;
    const { ledger, logger, now, onLost } = this.#parts;
    const chargesHold = outcome.isUnknown === true && onLost === "charge";
    const record = toSettledRecord(this.#request, sentTo, {
      ...outcome,
      chargesHold,
      held: this.#amount,
      endedAt: now(),
    });
    // The last response says nothing about what an earlier attempt made.
    const isKnown = outcome.isConclusive === true && sentTo.isRepeated !== true;
    report(record, logger);
    const end: HoldEnd = { state: "settled", isNothingMade: isKnown && isNothingMade(record) };
    this.record = record;
    this.#ending = this.#write(end, () => ledger.settle(record));
    return this.#ending;
  }

  release(): Promise<HoldEnd> {
    const { ledger } = this.#parts;
    const { id } = this.#request;
    const end: HoldEnd = { state: "released", isNothingMade: true };
    this.#ending ??= this.#write(end, () => ledger.release(id));
    return this.#ending;
  }

  abandon(): void {
    if (this.#ending !== undefined) return;
    this.#ending = this.ended;
    this.isAbandoned = true;
    this.#end({ state: "unresolved", isNothingMade: false });
  }

  /** The client gets its images although the ledger fails. */
  #write(end: HoldEnd, write: () => Promise<SettleResult | undefined | void>): Promise<HoldEnd> {
    const startedAt = performance.now();
    return callStore(write).then(
      (result) => {
        this.#noteLate(result);
        return this.#end(end);
      },
      (error: unknown) => {
        const { record } = this;
        const again = (): Promise<void> => write().then((result) => this.#noteLate(result));
        const fields = { requestId: this.#request.id, ...(record !== undefined && { record }) };
        return this.#parts.lateWrites.repeat(again, { error, fields, startedAt }).then(() => this.#end(end));
      },
    );
  }

  #noteLate(result: SettleResult | undefined | void): void {
    if (result?.isLate === true && this.record !== undefined) reportLate(this.record, this.#parts.logger);
  }

  #end(end: HoldEnd): HoldEnd {
    this.#request.observer?.holdEnded({ state: end.state, record: this.record });
    this.#parts.openHolds.delete(this.#link);
    this.end = end;
    this.#waiting?.resolve(end);
    return end;
  }
}

type LedgerWrite = () => Promise<void>;

/** The waits before each retry. Their sum is shorter than clients wait for the end of a response. */
const RETRY_MS: readonly number[] = [50, 250, 1_000, 4_000];
/** No retry begins later than this after the first try. A ledger that does not respond fails only after its own time limit. */
const PATIENCE_MS = 10_000;

const MAX_WAITING = 10_000;
const MAX_UNSURE = 1_000;

/** Writes that the ledger did not accept while their clients waited. They are lost if the process dies. */
interface LateWrites {
  /**
   * Repeats a write that has failed. After the last retry, or if the ledger takes too long, it is kept for `run`. If there are
   * too many, the oldest is dropped, and its hold is left to a sweep. Does not reject.
   *
   * @param first how the first try failed, and when it began by `performance.now()`; `fields` are for the log
   */
  repeat(write: LedgerWrite, first: { error: unknown; fields: object; startedAt: number }): Promise<void>;
  /** Adds the release of a hold that may not exist. If there are too many, the release is not kept. */
  addUnsure(release: LedgerWrite): void;
  run(): Promise<void>;
}

function createLateWrites(logger: Logger): LateWrites {
  const waiting = new Set<LedgerWrite>();
  const unsure = new Set<LedgerWrite>();
  return {
    async repeat(write, { error, fields, startedAt }) {
      let last = error;
      for (const waitMs of RETRY_MS) {
        if (performance.now() + waitMs > startedAt + PATIENCE_MS) break;
        await new Promise((resolve) => {
          setTimeout(resolve, waitMs);
        });
        try {
          return await write();
        } catch (failure) {
          last = failure;
        }
      }
      logger.error(
        { ...fields, err: last },
        "The ledger did not accept a write in time, such as a charge; it is retried every 10 s.",
      );
      waiting.add(write);
      removeOldest(waiting, MAX_WAITING);
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

function reportLate({ id: requestId, model, caller, charge }: SettledRecord, logger: Logger): void {
  logger.error(
    { requestId, model, caller, charge },
    "A request was charged after a sweep had ended its hold: its caller can be above its budget by this charge.",
  );
}

/** Reports a charge that the operator should check. */
function report(record: SettledRecord, logger: Logger): void {
  const { id: requestId, model, channel, charge, usage, reportedUsage, reportedPixels } = record;
  if (record.unpriced === true) {
    logger.warn(
      { requestId, model, charge },
      "The provider did not report all tokens; the charge does not include them.",
    );
  }
  if (reportedUsage === undefined && reportedPixels === undefined) return;
  logger.error(
    { requestId, model, channel, reportedUsage, reportedPixels, usage },
    "The provider reported more than the request could make: the report was cut, and so was the charge.",
  );
}
