import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  ChannelPause,
  Cooldown,
  IdempotencyOutcome,
  WindowState,
} from "@calotype/core/stores";
import { LEASE_MS, WINDOW_MS } from "./requests.js";

/** A simple model of a store. It remembers everything that happened and looks at all of it each time. */
export function createNaiveStore(now: () => number): AdmissionStore {
  const counted: { key: string; at: number; cost: number }[] = [];
  const slots: { key: string; id: string; until: number }[] = [];
  const keys: {
    key: string;
    fingerprint: string;
    id: string;
    until: number;
    outcome?: IdempotencyOutcome;
  }[] = [];
  const cooldowns = new Map<string, Cooldown>();
  const pauses = new Map<string, ChannelPause>();

  /** Goes through all counts of the key from the first one on, window after window. */
  const stateOf = (key: string, limit: number): WindowState => {
    let start = Number.NEGATIVE_INFINITY;
    let count = 0;
    for (const entry of counted.filter((other) => other.key === key)) {
      if (entry.at >= start + WINDOW_MS) {
        start = entry.at;
        count = 0;
      }
      count += entry.cost;
    }
    const isOver = now() >= start + WINDOW_MS;
    return isOver
      ? { remaining: limit, resetMs: 0 }
      : { remaining: Math.max(0, limit - count), resetMs: start + WINDOW_MS - now() };
  };
  const findRepeat = ({ idempotency }: AdmissionRequest): AdmissionDecision | undefined => {
    if (idempotency === undefined) return undefined;
    const last = keys.findLast(({ key, until }) => key === idempotency.key && until > now());
    if (last === undefined || last.outcome?.kind === "forget") return undefined;
    if (last.fingerprint !== idempotency.fingerprint) return { kind: "conflict" };
    if (last.outcome === undefined) return { kind: "running" };
    return last.outcome.kind === "keep"
      ? { kind: "replay", response: last.outcome.response }
      : { kind: "not_replayable" };
  };

  return {
    async admit(request) {
      const repeat = findRepeat(request);
      if (repeat !== undefined) return repeat;
      const before = request.windows.map(({ key, limit }) => stateOf(key, limit));
      const reached = request.windows.find(({ cost }, index) => cost > (before[index]?.remaining ?? 0));
      if (reached !== undefined) return { kind: "limited", limit: reached, windows: before };
      const full = request.concurrency.find(
        ({ key, limit }) => slots.filter((slot) => slot.key === key && slot.until > now()).length >= limit,
      );
      if (full !== undefined) return { kind: "crowded", limit: full, windows: before };
      counted.push(...request.windows.map(({ key, cost }) => ({ key, at: now(), cost })));
      slots.push(...request.concurrency.map(({ key }) => ({ key, id: request.id, until: now() + LEASE_MS })));
      if (request.idempotency !== undefined) {
        keys.push({ ...request.idempotency, id: request.id, until: now() + LEASE_MS });
      }
      return {
        kind: "admitted",
        windows: request.windows.map(({ key, limit }) => stateOf(key, limit)),
        cooldowns: Object.fromEntries([...cooldowns].filter(([, { until }]) => until > now())),
        pauses: Object.fromEntries(pauses),
      };
    },
    async finish({ id, idempotency }, outcome) {
      for (const slot of slots) if (slot.id === id) slot.until = 0;
      if (idempotency === undefined) return;
      const { key, fingerprint } = idempotency;
      const last = keys.findLast((entry) => entry.key === key && entry.until > now());
      const isTaken = last !== undefined && last.id !== id && last.outcome?.kind !== "forget";
      if (isTaken) return;
      const until = outcome.kind === "forget" ? Number.POSITIVE_INFINITY : now() + outcome.ttlMs;
      keys.push({ key, fingerprint, id, until, outcome });
    },
    async setCooldown(channel, cooldown) {
      if (cooldown === undefined) cooldowns.delete(channel);
      else cooldowns.set(channel, cooldown);
    },
    async setPause(channel, pause) {
      if (pause === undefined) pauses.delete(channel);
      else pauses.set(channel, pause);
    },
  };
}
