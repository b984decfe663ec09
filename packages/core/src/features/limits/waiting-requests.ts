import { GatewayError } from "../../errors.js";
import type { ClientSignal } from "../../http.js";
import { closedError } from "../../kernel/lifecycle.js";
import type { Logger } from "../../logger.js";
import { CallerCounts } from "../../util/fair-share.js";
import type { CallLimits, LimitScope } from "./rate-limits.js";
import type {
  AdmissionDecision,
  AdmissionRequest,
  ConcurrencyLimit,
  TurnStore,
  WindowLimit,
} from "./store.js";

/** How many requests may wait for their limits in one process. */
export interface WaitingOptions {
  /** Of all callers. A whole number of at least 1. Default 1,000. */
  readonly maxRequests: number;
  /** Of one caller. A whole number of at least 1. Default 100. */
  readonly maxRequestsPerCaller: number;
}

export const DEFAULT_WAITING: WaitingOptions = { maxRequests: 1_000, maxRequestsPerCaller: 100 };

/** What {@link WaitingRequests} needs. */
export interface WaitingContext extends WaitingOptions {
  readonly store: TurnStore;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A request that waits, and its client. */
export interface NewWait {
  readonly request: AdmissionRequest;
  readonly limits: CallLimits;
  readonly client: { readonly signal: ClientSignal };
  /** Tries to get the request admitted. */
  readonly ask: TurnStore["admitInTurn"];
}

/** At which limit a request waits, and when to try again. */
export interface Wait {
  /** The key of the limit. */
  readonly key: string;
  /** How long the request waits there in all. */
  readonly waitMs: number;
  /** The time until the next try. */
  readonly retryMs: number;
}

/** How often the first request of a line looks for slots that other processes have released. */
const POLL_MS = 250;
/** The lease of a place. A process that has died can delay other processes for this time. */
const LEASE_MS = 5_000;
/**
 * Renews a place in time. Some hosts report a disconnect only by `aborted`, and on Workers it is not certain that one request can
 * wake another one.
 */
const MAX_SLEEP_MS = 1_000;
/** A window may end some milliseconds later than the store says. */
const MIN_RETRY_MS = 10;

/**
 * How a request that the store refused waits. `undefined`: it does not, because it has waited long enough, or because the limit
 * cannot have room for it in the time that is left.
 */
export function findWait(
  decision: AdmissionDecision,
  limits: CallLimits,
  waitedMs: number,
): Wait | undefined {
  if (decision.kind !== "limited" && decision.kind !== "crowded") return undefined;
  const { key } = decision.limit;
  const { waitMs = 0 } = findLimit(limits, key);
  const leftMs = waitMs - waitedMs;
  if (leftMs <= 0) return undefined;
  if (decision.kind === "crowded") return { key, waitMs, retryMs: POLL_MS };
  const { limit, cost } = decision.limit;
  const { remaining = limit, resetMs = 0 } =
    decision.windows[limits.windows.findIndex((window) => window.key === key)] ?? {};
  // If it has room, another request is next.
  const isFull = cost > remaining;
  if (cost > limit || (isFull && resetMs > leftMs)) return undefined;
  const retryMs = isFull ? Math.max(resetMs, MIN_RETRY_MS) : POLL_MS;
  return { key, waitMs, retryMs };
}

function findLimit(
  { windows, concurrency }: CallLimits,
  key: string,
): (WindowLimit | ConcurrencyLimit) & LimitScope {
  const found = [...windows, ...concurrency].find((limit) => limit.key === key);
  if (found === undefined) throw new TypeError("The admission store named a limit that the call has not.");
  return found;
}

/**
 * The requests of this process that wait for a limit: a line for each limit of each caller, in the order in which they came. Only the
 * first one of a line asks the store for its turn, so callers do not keep each other waiting. Each request waits with timers of its own.
 */
export class WaitingRequests {
  /** How many wait. */
  count = 0;
  readonly #context: WaitingContext;
  /** By the key of the limit. The first one is next. */
  readonly #lines = new Map<string, Waiter[]>();
  readonly #callers = new CallerCounts();
  #isClosed = false;

  constructor(context: WaitingContext) {
    this.#context = context;
  }

  /** Whether a request of the caller may wait. */
  hasRoom(caller: string): boolean {
    const { maxRequests, maxRequestsPerCaller } = this.#context;
    return this.count < maxRequests && this.#callers.of(caller) < maxRequestsPerCaller;
  }

  /** Finds a limit at which others wait: a new request goes to the end of that line. */
  findLine({ windows, concurrency }: CallLimits): Wait | undefined {
    const found = [...windows, ...concurrency].find(
      ({ key, waitMs }) => waitMs !== undefined && this.#lines.has(key),
    );
    return found && { key: found.key, waitMs: found.waitMs ?? 0, retryMs: 0 };
  }

  /** Slots of these limits were released. */
  wake(limits: readonly Pick<ConcurrencyLimit, "key">[]): void {
    for (const { key } of limits) this.#lines.get(key)?.[0]?.wake();
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) for (const waiter of line) waiter.wake();
  }

  /**
   * Waits until the request is admitted, or until its time is over. Returns the last decision of the store.
   *
   * @param wait where it waits first
   * @throws GatewayError if the client leaves, if the gateway is closed, and what the store throws
   */
  async wait(waiting: NewWait, wait: Wait): Promise<AdmissionDecision> {
    const { request, client } = waiting;
    const waiter = new Waiter(waiting, wait, this.#context.now());
    const onLeft = (): void => waiter.wake();
    client.signal.addEventListener?.("abort", onLeft);
    this.count += 1;
    this.#callers.add(request.caller, 1);
    this.#join(waiter);
    try {
      return await this.#waitForTurn(waiter);
    } finally {
      client.signal.removeEventListener?.("abort", onLeft);
      this.count -= 1;
      this.#callers.add(request.caller, -1);
      // The store forgets the place first, because the next request is refused as long as it knows it.
      if (waiter.hasPlace) await this.#giveUp(request);
      this.#leave(waiter);
    }
  }

  async #waitForTurn(waiter: Waiter): Promise<AdmissionDecision> {
    const { now, sleep } = this.#context;
    const { waiting } = waiter;
    for (;;) {
      waiter.isWoken = false;
      if (this.#isClosed) throw closedError();
      if (waiting.client.signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
      const waitedMs = Math.max(0, now() - waiter.since);
      const isLast = waitedMs >= waiter.wait.waitMs;
      if (this.#mayAsk(waiter)) {
        waiter.isDue = false;
        waiter.hasPlace = true;
        const decision = await waiting.ask(waiting.request, { waitedMs, leaseMs: isLast ? 0 : LEASE_MS });
        const wait = isLast ? undefined : findWait(decision, waiting.limits, waitedMs);
        if (wait === undefined) {
          waiter.hasPlace = !isLast && decision.kind !== "admitted";
          return decision;
        }
        this.#move(waiter, wait);
      }
      // Those before it came earlier, so their time ends earlier too, and they wake it.
      const leftMs = waiter.wait.waitMs - Math.max(0, now() - waiter.since);
      const sleepMs = this.#isFirst(waiter)
        ? Math.max(0, Math.min(waiter.wait.retryMs, leftMs))
        : MAX_SLEEP_MS;
      if (!waiter.isWoken) await waiter.sleep((signal) => sleep(Math.min(sleepMs, MAX_SLEEP_MS), signal));
    }
  }

  /** The first one of a line asks for its turn. Others ask once, if they have an idempotency key, so that no repeat of them runs. */
  #mayAsk(waiter: Waiter): boolean {
    const isNew = !waiter.hasPlace && waiter.waiting.request.idempotency !== undefined;
    return isNew || (waiter.isDue && this.#isFirst(waiter));
  }

  #isFirst(waiter: Waiter): boolean {
    return this.#lines.get(waiter.wait.key)?.[0] === waiter;
  }

  #join(waiter: Waiter): void {
    const { key } = waiter.wait;
    const line = this.#lines.get(key) ?? [];
    const after = line.findIndex(({ order }) => order > waiter.order);
    line.splice(after < 0 ? line.length : after, 0, waiter);
    this.#lines.set(key, line);
  }

  #leave(waiter: Waiter): void {
    const { key } = waiter.wait;
    const line = this.#lines.get(key) ?? [];
    const index = line.indexOf(waiter);
    line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(key);
    else if (index === 0) line[0]?.wake();
  }

  #move(waiter: Waiter, wait: Wait): void {
    if (wait.key === waiter.wait.key) {
      waiter.wait = wait;
      return;
    }
    this.#leave(waiter);
    waiter.wait = wait;
    this.#join(waiter);
  }

  async #giveUp(request: AdmissionRequest): Promise<void> {
    const { store, logger } = this.#context;
    try {
      await store.giveUpTurn(request);
    } catch (err) {
      logger.error(
        { requestId: request.id, err },
        "The admission store failed; a request that no longer waits keeps its idempotency key until its lease ends.",
      );
    }
  }
}

let waiters = 0;

/** One request that waits. */
class Waiter {
  readonly waiting: NewWait;
  readonly since: number;
  /** Smaller for those that came earlier. */
  readonly order = ++waiters;
  wait: Wait;
  /** True if it is to ask the store as soon as it is the first of its line. */
  isDue = true;
  /** True if it was woken since it last looked at its turn. */
  isWoken = false;
  /** True if the store may know its place. */
  hasPlace = false;
  #sleep: AbortController | undefined;

  constructor(waiting: NewWait, wait: Wait, since: number) {
    this.waiting = waiting;
    this.wait = wait;
    this.since = since;
  }

  /** Ends its sleep. If it asks the store at the moment, it asks again at once. */
  wake(): void {
    this.isDue = true;
    this.isWoken = true;
    this.#sleep?.abort();
  }

  async sleep(start: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#sleep = new AbortController();
    await start(this.#sleep.signal);
    this.#sleep = undefined;
    this.isDue = true;
  }
}
