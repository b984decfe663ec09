import { GatewayError, overloaded } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { RequestSpool, Spool } from "../images/spool.js";
import { CallerCounts } from "../util/fair-share.js";
import type { ByteBudget, TakenBytes } from "./byte-budget.js";

/** A call's share of the concurrency and of the bytes in flight of this process. */
export interface Slot {
  /** The bytes that are held for the call. */
  readonly bytes: TakenBytes;
  /** Keeps the files of the call's form until `release`. */
  readonly spool: RequestSpool;
  /** Releases the slot and its bytes. A second call does nothing. */
  release(): void;
}

/**
 * Takes a slot before the body of a request is read. The admission store is asked only after the body was read, so
 * without this limit a caller could send any number of bodies at once. Nothing is reserved for a body: its bytes count
 * as they arrive. A body that declares more bytes than there is room for is refused before it is read.
 *
 * @param caller `concurrent`: the largest number of slots of the caller; absent or `null`: no limit, and the slot does not
 *   count. `waiting`: how many more it may have, because some of its requests may wait for others; default 0
 * @throws GatewayError `overloaded`, `rate_limit_exceeded`, or `request_too_large` for a body that can never fit
 */
export type TakeSlot = (
  request: Pick<GatewayRequest, "headers">,
  caller: {
    readonly id: string;
    readonly concurrent?: number | null | undefined;
    readonly waiting?: number | undefined;
  },
) => Slot;

/** Creates a {@link TakeSlot} without any slots taken. */
export function createSlots(
  budget: ByteBudget,
  spool: Spool,
  createCrowdedError: (concurrent: number) => GatewayError,
): TakeSlot {
  /** The number of slots that count, of each caller that has one. */
  const counts = new CallerCounts();
  return ({ headers }, { id, concurrent, waiting = 0 }) => {
    const length = readLength(headers);
    if (length !== undefined && length > budget.maxBytes) {
      throw new GatewayError("request_too_large", `The body is larger than ${budget.maxBytes} bytes.`);
    }
    const isCounted = typeof concurrent === "number";
    if (isCounted && counts.of(id) >= concurrent + waiting) throw createCrowdedError(concurrent);
    const bytes = budget.open(id, length ?? 0);
    if (bytes === undefined) throw overloaded();
    if (!isCounted) return new OpenSlot(bytes, spool, () => undefined);
    counts.add(id, 1);
    return new OpenSlot(bytes, spool, () => counts.add(id, -1));
  };
}

/** A class, because each of thousands of open streams has one. */
class OpenSlot implements Slot {
  readonly bytes: TakenBytes;
  readonly #spools: Spool;
  readonly #onRelease: () => void;
  #spool: RequestSpool | undefined;
  #isReleased = false;

  constructor(bytes: TakenBytes, spool: Spool, onRelease: () => void) {
    this.bytes = bytes;
    this.#spools = spool;
    this.#onRelease = onRelease;
  }

  /** Opened when a form needs it, because most requests have no files. */
  get spool(): RequestSpool {
    this.#spool ??= this.#spools.open(this.bytes);
    if (this.#isReleased) this.#spool.close();
    return this.#spool;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#onRelease();
    this.#spool?.close();
    this.bytes.release();
  }
}

/** Returns the declared length of a body, if it is written in digits. */
function readLength(headers: GatewayRequest["headers"]): number | undefined {
  const header = headers.get("content-length");
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}
