import type { Ledger } from "../billing/ledger.js";
import { type Order, type Outcome, toSettledRecord } from "../billing/settled-record.js";
import type { SettledRecord } from "../billing/usage-record.js";
import type { SentTo } from "../image-request.js";
import type { LinkedList } from "../linked-list.js";
import type { Logger } from "../logger.js";
import type { LateWrites } from "./late-writes.js";

/**
 * How a job ended, whether or not the ledger took it. `refused`: it reached a provider, and no image can have been
 * made. `released`: it reached nobody. `lost`: nobody knows; the hold is left to a sweep of the ledger.
 */
export type BookingEnd = "settled" | "refused" | "released" | "lost";

type Ending = Omit<Outcome, "endedAt">;

/** The books of one job: a hold that ends once, whoever ends it first. No method rejects. */
export interface Booking {
  /** The job reached a provider. Resolves when its record is durable. */
  settle(sentTo: SentTo, ending: Ending): Promise<void>;
  /** The same, where certainly nothing was made. */
  refuse(sentTo: SentTo, ending: Ending): Promise<void>;
  /** The job reached nobody. */
  release(): Promise<void>;
  /** Nobody will know how it ended. */
  lose(): void;
  /** Resolves when the books are closed: when the ledger has it, or was asked for it long enough. */
  readonly ended: Promise<BookingEnd>;
}

/** What booking needs of the gateway. */
export interface BookingParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  /** The books that are open, for a gateway that must end before they are closed. */
  readonly openBookings: LinkedList<Booking>;
  /** What the ledger does not take while the client waits. */
  readonly lateWrites: LateWrites;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Opens the books of a job whose hold was made. */
export function openBooking(parts: BookingParts, order: Order): Booking {
  const { promise: ended, resolve } = Promise.withResolvers<BookingEnd>();
  let closing: Promise<void> | undefined;
  const closeAs = async (end: BookingEnd, write: () => Promise<void>): Promise<void> => {
    await write();
    parts.openBookings.delete(link);
    resolve(end);
  };
  const close = (end: BookingEnd, write: () => Promise<void>): Promise<void> => {
    closing ??= closeAs(end, write);
    return closing;
  };
  const record = (sentTo: SentTo, ending: Ending): Promise<void> => {
    const settled = toSettledRecord(order, sentTo, { ...ending, endedAt: parts.now() });
    if (settled.unpriced === true) reportUnpriced(settled, parts.logger);
    return commit(parts, () => parts.ledger.settle(settled), { record: settled });
  };
  const { id } = order;
  const booking: Booking = {
    ended,
    settle: (sentTo, ending) => close("settled", () => record(sentTo, ending)),
    refuse: (sentTo, ending) => close("refused", () => record(sentTo, ending)),
    release: () => close("released", () => commit(parts, () => parts.ledger.release(id), { requestId: id })),
    lose: () => void close("lost", () => Promise.resolve()),
  };
  const link = parts.openBookings.add(booking);
  return booking;
}

/** Waits between attempts; in all less than clients wait for the end of an answer. */
const RETRY_MS: readonly number[] = [50, 250, 1_000, 4_000];

/**
 * Writes to the ledger until it takes it. One that stays away must not take the images from the
 * client: the record is logged, and written later.
 */
async function commit(
  { lateWrites, logger }: BookingParts,
  write: () => Promise<void>,
  fields: object,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      const waitMs = RETRY_MS[attempt];
      if (waitMs === undefined) {
        logger.error(
          { ...fields, err: error },
          "The ledger took a charge or a release not in time; it is asked again now and then.",
        );
        return lateWrites.add(write);
      }
      await new Promise((resolve) => {
        setTimeout(resolve, waitMs);
      });
    }
  }
}

function reportUnpriced({ id, model }: SettledRecord, logger: Logger): void {
  logger.warn({ requestId: id, model }, "No tokens were reported: the charge is 0.");
}
