import type { Ledger, LostPolicy } from "../billing/ledger.js";
import { type Order, type Outcome, toSettledRecord } from "../billing/settled-record.js";
import type { SettledRecord } from "../billing/usage-record.js";
import type { SentTo } from "../image-request.js";
import type { Link, LinkedList } from "../linked-list.js";
import type { Logger } from "../logger.js";
import { type Awaitable, isPromiseLike } from "../promise-like.js";
import type { LateWrites } from "./late-writes.js";

/**
 * How a job ended, whether or not the ledger accepted it. An idempotency key is kept after `settled` and `lost` only.
 *
 * - `settled`: images were made or charged, or the outcome is unknown.
 * - `refused`: the job reached a provider, and nothing was made or charged.
 * - `released`: the job reached no provider.
 * - `lost`: the outcome is unknown, and the hold is left to a sweep of the ledger.
 */
export type BookingEnd = "settled" | "refused" | "released" | "lost";

/** How a job that reached a provider ended. */
export interface Ending extends Omit<Outcome, "endedAt" | "chargesHold"> {
  /**
   * True if the upstream response was read and parsed to its end, so that images it does not report were not made.
   * Absent: an image may have been made even if none was reported, as after a timeout.
   */
  readonly isConclusive?: boolean | undefined;
  /** True if images may have been made and their number is unknown. `billing.onLost` says what is charged. */
  readonly isUnknown?: boolean | undefined;
}

/**
 * The books of one job: a hold that ends once, whoever ends it first. No method throws or rejects, and where the
 * books are closed at once there is nothing to wait for.
 */
export interface Booking {
  /** The job reached a provider. Resolves when its record is durable. */
  settle(sentTo: SentTo, ending: Ending): Promise<void> | undefined;
  /** The same, where certainly nothing was made. */
  refuse(sentTo: SentTo, ending: Ending): Promise<void> | undefined;
  /** The job reached nobody. */
  release(): Promise<void> | undefined;
  /** Nobody will know how it ended. */
  lose(): void;
  /** When the books are closed: when the ledger has it, or was asked for it long enough. */
  readonly ended: Awaitable<BookingEnd>;
}

/** What booking needs of the gateway. */
export interface BookingParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  /** The books that are open, for a gateway that must end before they are closed. */
  readonly openBookings: LinkedList<Booking>;
  /** What the ledger does not take while the client waits. */
  readonly lateWrites: LateWrites;
  /** What is charged if it is unknown what was made. */
  readonly onLost: LostPolicy;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Opens the books of a job whose hold was made. */
export function openBooking(parts: BookingParts, order: Order): Booking {
  return new OpenBooking(parts, order);
}

/** A class, as each request has one. */
class OpenBooking implements Booking {
  readonly #parts: BookingParts;
  readonly #order: Order;
  readonly #link: Link<Booking>;
  #isClosing = false;
  /** While the ledger is waited for. */
  #closing: Promise<void> | undefined;
  #end: BookingEnd | undefined;
  /** Made for who asks before the end. */
  #awaited: PromiseWithResolvers<BookingEnd> | undefined;

  constructor(parts: BookingParts, order: Order) {
    this.#parts = parts;
    this.#order = order;
    this.#link = parts.openBookings.add(this);
  }

  get ended(): Awaitable<BookingEnd> {
    if (this.#end !== undefined) return this.#end;
    this.#awaited ??= Promise.withResolvers();
    return this.#awaited.promise;
  }

  settle(sentTo: SentTo, ending: Ending): Promise<void> | undefined {
    return this.#isClosing ? this.#closing : this.#record(sentTo, ending);
  }

  refuse(sentTo: SentTo, ending: Ending): Promise<void> | undefined {
    return this.settle(sentTo, { ...ending, isConclusive: true });
  }

  release(): Promise<void> | undefined {
    if (this.#isClosing) return this.#closing;
    const { id } = this.#order;
    return this.#commit("released", () => this.#parts.ledger.release(id), { requestId: id });
  }

  lose(): void {
    if (!this.#isClosing) this.#close("lost");
  }

  #record(sentTo: SentTo, { isConclusive, isUnknown, ...ending }: Ending): Promise<void> | undefined {
    const { ledger, logger, now, onLost } = this.#parts;
    const chargesHold = isUnknown === true && onLost === "charge";
    const record = toSettledRecord(this.#order, sentTo, { ...ending, chargesHold, endedAt: now() });
    // What the last response says does not hold for an attempt before it.
    const isKnown = isConclusive === true && sentTo.isRepeated !== true;
    const end = isKnown && isNothingMade(record) ? "refused" : "settled";
    if (record.unpriced === true) reportUnpriced(record, logger);
    if (record.reportedUsage !== undefined) reportCut(record, logger);
    return this.#commit(end, () => ledger.settle(record), { record });
  }

  /**
   * Writes to the ledger until it takes it. One that stays away must not take the images from the
   * client: the record is logged, and written later.
   */
  #commit(end: BookingEnd, write: LedgerWrite, fields: object): Promise<void> | undefined {
    this.#isClosing = true;
    let written: Awaitable<void>;
    try {
      written = write();
    } catch (error) {
      written = Promise.reject(error);
    }
    if (isPromiseLike(written)) this.#closing = this.#wait(end, { written, write, fields });
    else this.#close(end);
    return this.#closing;
  }

  async #wait(end: BookingEnd, { written, write, fields }: Writing): Promise<void> {
    try {
      await written;
    } catch {
      await writeAgain(this.#parts, write, fields);
    }
    this.#close(end);
  }

  #close(end: BookingEnd): void {
    this.#isClosing = true;
    this.#parts.openBookings.delete(this.#link);
    this.#end = end;
    this.#awaited?.resolve(end);
  }
}

type LedgerWrite = () => Awaitable<void>;

/** A write that is waited for. */
interface Writing {
  readonly written: PromiseLike<void>;
  readonly write: LedgerWrite;
  /** Name what is written, for the operator. */
  readonly fields: object;
}

/** Waits before each further attempt; in all less than clients wait for the end of an answer. */
const RETRY_MS: readonly number[] = [50, 250, 1_000, 4_000];

/** @param fields name what is written, for the operator */
async function writeAgain(
  { lateWrites, logger }: BookingParts,
  write: LedgerWrite,
  fields: object,
): Promise<void> {
  let err: unknown;
  for (const waitMs of RETRY_MS) {
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
    try {
      return await write();
    } catch (error) {
      err = error;
    }
  }
  logger.error(
    { ...fields, err },
    "The ledger took a charge or a release not in time; it is asked again now and then.",
  );
  lateWrites.add(write);
}

/** True if no image came or was reported, and nothing was charged. */
function isNothingMade({ images, usage, charge }: SettledRecord): boolean {
  const isCharged = charge !== null && charge !== "0";
  return images === 0 && !isCharged && !usage?.generated_images;
}

function reportUnpriced({ id, model, charge }: SettledRecord, logger: Logger): void {
  logger.warn(
    { requestId: id, model, charge },
    "The provider did not report all tokens: the charge lacks them.",
  );
}

function reportCut({ id, model, channel, usage, reportedUsage }: SettledRecord, logger: Logger): void {
  logger.error(
    { requestId: id, model, channel, reportedUsage, usage },
    "The provider reported more than the request could make: the report was cut, and so was the charge.",
  );
}
