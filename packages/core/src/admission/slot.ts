import { GatewayError } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { RequestSpool, Spool } from "../images/spool.js";
import { overloaded } from "../request/body.js";
import type { ByteBudget, TakenBytes } from "./byte-budget.js";
import { createCrowdedError } from "./rate-limit-headers.js";

/** What is checked in this process before a body is read: what is held, and how much the caller has running. */
export interface Entrance {
  /**
   * Nothing is reserved for the body: its bytes count as they arrive. A body that declares more than there is room for
   * is refused before it is read.
   *
   * @param caller `concurrent`: how many of its requests may run at once; none: any number
   * @throws GatewayError `overloaded`, `rate_limit_exceeded`, or `request_too_large` for a body that never fits
   */
  enter(
    request: GatewayRequest,
    caller: { readonly id: string; readonly concurrent?: number | null | undefined },
  ): Visit;
}

/** One request that was let in. */
export interface Visit {
  /** The bytes that are held for it. */
  readonly bytes: TakenBytes;
  /** Where the files of its form are kept until it leaves. */
  readonly spool: RequestSpool;
  /** Gives its place and its bytes back. */
  leave(): void;
}

/** An entrance that nobody has passed. */
export function createEntrance(budget: ByteBudget, concurrency: LocalConcurrency, spool: Spool): Entrance {
  const parts = { concurrency, spool };
  return {
    enter(request, { id, concurrent }) {
      const length = readLength(request.headers);
      if (length !== undefined && length > budget.maxBytes) throw tooLarge(budget.maxBytes);
      if (!concurrency.enter(id, concurrent ?? Infinity)) throw crowded(concurrent ?? 0);
      const bytes = budget.open(id, length ?? 0);
      if (bytes === undefined) {
        concurrency.leave(id);
        throw overloaded();
      }
      return new OpenVisit(id, bytes, parts);
    },
  };
}

/** What a visit needs to open and to leave; the same for all. */
interface VisitParts {
  readonly concurrency: LocalConcurrency;
  readonly spool: Spool;
}

/** A class, as it is held as long as a stream is open, and thousands may be. */
class OpenVisit implements Visit {
  readonly bytes: TakenBytes;
  readonly #caller: string;
  readonly #parts: VisitParts;
  #spool: RequestSpool | undefined;
  #hasLeft = false;

  constructor(caller: string, bytes: TakenBytes, parts: VisitParts) {
    this.bytes = bytes;
    this.#caller = caller;
    this.#parts = parts;
  }

  /** Opened for the first form that needs it: most requests bring none. */
  get spool(): RequestSpool {
    this.#spool ??= this.#parts.spool.open(this.bytes);
    if (this.#hasLeft) this.#spool.close();
    return this.#spool;
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#parts.concurrency.leave(this.#caller);
    this.#spool?.close();
    this.bytes.giveBack();
  }
}

/** The length that the request declares, if it is written in digits. */
function readLength(headers: GatewayRequest["headers"]): number | undefined {
  const header = headers.get("content-length");
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("request_too_large", `The body is larger than ${maxBytes} bytes.`);
}

function crowded(limit: number): GatewayError {
  const place = { key: "concurrent", limit, leaseMs: 0 };
  return createCrowdedError({ windows: [], concurrency: [place] }, place, []);
}

/**
 * Counts the requests of each caller in this process, before their bodies are read: the shared count is
 * asked only once a request is understood, and until then a caller could send any number of bodies.
 */
export interface LocalConcurrency {
  /** Enters a request, unless `limit` others of this caller are there. */
  enter(caller: string, limit: number): boolean;
  /** Takes out one that was entered. */
  leave(caller: string): void;
}

/** A count that begins with nobody. */
export function createLocalConcurrency(): LocalConcurrency {
  const counts = new Map<string, number>();
  return {
    enter(caller, limit) {
      const others = counts.get(caller) ?? 0;
      if (others >= limit) return false;
      counts.set(caller, others + 1);
      return true;
    },
    leave(caller) {
      const rest = (counts.get(caller) ?? 1) - 1;
      if (rest > 0) counts.set(caller, rest);
      else counts.delete(caller);
    },
  };
}
