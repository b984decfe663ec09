import type { AdmissionDecision, AdmissionRequest, AdmissionStore, Turn, TurnStore } from "./store.js";

/** The place of a request that waits for a limit. */
interface Place {
  /** The key of the limit. */
  readonly key: string;
  /** Since when the request waits, and until when the place is kept: milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
}

/** The places of the requests that wait, by caller and by the request's id. Has no timer: places end when they are looked at. */
export class Turns {
  readonly #callers = new Map<string, Map<string, Place>>();

  /**
   * Returns the key of the first limit of the request at which another request has waited longer. `undefined`: it is the turn of
   * this one.
   */
  findBlocked(
    { id, caller, windows, concurrency }: AdmissionRequest,
    { waitedMs }: Turn,
    now: number,
  ): string | undefined {
    const places = this.#callers.get(caller);
    if (places === undefined) return undefined;
    const own = places.get(id);
    const since = own?.since ?? now - waitedMs;
    const blocked = new Set<string>();
    for (const [other, place] of places) {
      if (place.until <= now) this.leave({ id: other, caller });
      // Of two requests that came in the same millisecond, the one that has a place is first, then that with the smaller id.
      else if (place.since < since || (place.since === since && (own === undefined || other < id)))
        blocked.add(place.key);
    }
    return [...windows, ...concurrency].find(({ key }) => blocked.has(key))?.key;
  }

  /** Gives the request a place at a limit, in place of the one that it had. */
  take({ id, caller }: AdmissionRequest, { waitedMs, leaseMs }: Turn, key: string, now: number): void {
    const places = this.#callers.get(caller) ?? new Map<string, Place>();
    const since = places.get(id)?.since ?? now - waitedMs;
    places.set(id, { key, since, until: now + leaseMs });
    this.#callers.set(caller, places);
  }

  leave({ id, caller }: Pick<AdmissionRequest, "id" | "caller">): void {
    const places = this.#callers.get(caller);
    places?.delete(id);
    if (places?.size === 0) this.#callers.delete(caller);
  }
}

/** Gives a store without the ability {@link TurnStore} turns for the requests of this process. */
export function createOwnTurns(store: AdmissionStore, now: () => number): TurnStore {
  const turns = new Turns();
  /** The idempotency keys of the requests that wait. */
  const waiting = new Map<string, { readonly id: string; readonly fingerprint: string }>();

  const giveUp = ({ id, caller, idempotency }: AdmissionRequest): void => {
    turns.leave({ id, caller });
    if (idempotency !== undefined && waiting.get(idempotency.key)?.id === id) waiting.delete(idempotency.key);
  };
  const findRepeat = ({ id, idempotency }: AdmissionRequest): AdmissionDecision | undefined => {
    const other = idempotency && waiting.get(idempotency.key);
    if (other === undefined || other.id === id) return undefined;
    return { kind: other.fingerprint === idempotency?.fingerprint ? "running" : "conflict" };
  };
  return {
    async admitInTurn(request, turn) {
      const repeat = findRepeat(request);
      if (repeat !== undefined) return repeat;
      const blocked = turns.findBlocked(request, turn, now());
      const decision = blocked === undefined ? await store.admit(request) : toBlocked(request, blocked);
      if (turn.leaseMs === 0 || !isLimited(decision)) {
        giveUp(request);
        return decision;
      }
      turns.take(request, turn, decision.limit.key, now());
      const { id, idempotency } = request;
      if (idempotency !== undefined)
        waiting.set(idempotency.key, { id, fingerprint: idempotency.fingerprint });
      return decision;
    },
    async giveUpTurn(request) {
      giveUp(request);
    },
  };
}

/** A decision that a limit makes. */
type LimitedDecision = Extract<AdmissionDecision, { readonly kind: "limited" | "crowded" }>;

function isLimited(decision: AdmissionDecision): decision is LimitedDecision {
  return decision.kind === "limited" || decision.kind === "crowded";
}

/** The refusal of a request because another one is next at this limit. The state of the windows is not known. */
function toBlocked({ windows, concurrency }: AdmissionRequest, key: string): AdmissionDecision {
  const window = windows.find((limit) => limit.key === key);
  if (window !== undefined) return { kind: "limited", limit: window, windows: [] };
  const slots = concurrency.find((limit) => limit.key === key);
  if (slots !== undefined) return { kind: "crowded", limit: slots, windows: [] };
  throw new TypeError("A request is next to another one at a limit that it has.");
}
