import { array, assert, asyncProperty, boolean, constantFrom, integer, oneof, record } from "fast-check";
import { describe, expect, it } from "vitest";
import type { Cooldown } from "../../types.js";
import { createMemoryAdmissionStore } from "./memory-store.js";
import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  IdempotencyOutcome,
  WindowState,
} from "./store.js";

const LEASE_MS = 50;
const WINDOW_MS = 100;
const TTL_MS = 200;

/** A simple model of the store. It remembers everything that happened and looks at all of it each time. */
function createNaiveStore(now: () => number): AdmissionStore {
  const counted: { key: string; at: number; cost: number }[] = [];
  const slots: { key: string; id: string; until: number }[] = [];
  const keys: {
    key: string;
    fingerprint: string;
    id: string;
    until: number;
    outcome?: IdempotencyOutcome;
  }[] = [];
  const cooldowns: { channel: string; cooldown: Cooldown | undefined }[] = [];

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
      const cooling = request.channels.flatMap((channel): [string, Cooldown][] => {
        const last = cooldowns.findLast((entry) => entry.channel === channel)?.cooldown;
        return last !== undefined && last.until > now() ? [[channel, last]] : [];
      });
      return {
        kind: "admitted",
        windows: request.windows.map(({ key, limit }) => stateOf(key, limit)),
        cooldowns: Object.fromEntries(cooling),
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
      cooldowns.push({ channel, cooldown });
    },
  };
}

const name = constantFrom("a", "b", "__proto__");
const window = record({
  name: constantFrom("requests" as const, "images" as const),
  key: name,
  limit: integer({ min: 1, max: 4 }),
  windowMs: constantFrom(WINDOW_MS),
  cost: integer({ min: 1, max: 3 }),
});
const concurrency = record({
  key: name,
  limit: integer({ min: 1, max: 3 }),
  leaseMs: constantFrom(LEASE_MS),
});
const idempotency = record({
  key: name,
  fingerprint: constantFrom("x", "y"),
  leaseMs: constantFrom(LEASE_MS),
});
const outcome = constantFrom<IdempotencyOutcome["kind"][]>("keep", "mark", "forget");
const command = oneof(
  record({
    kind: constantFrom("admit" as const),
    windows: array(window, { maxLength: 2 }),
    concurrency: array(concurrency, { maxLength: 1 }),
    idempotency,
    isKeyed: boolean(),
  }),
  record({ kind: constantFrom("finish" as const), index: integer({ min: 0, max: 9 }), outcome }),
  record({ kind: constantFrom("cool" as const), channel: name, ms: integer({ min: -20, max: 200 }) }),
  record({ kind: constantFrom("advance" as const), ms: constantFrom(1, 10, 25, 49, 50, 100) }),
);
type Command = typeof command extends { generate(...args: never[]): { value: infer Value } } ? Value : never;

describe("createMemoryAdmissionStore", () => {
  it("decides like a store that remembers everything", async () => {
    const kinds = new Set<string>();
    await assert(
      asyncProperty(array(command, { maxLength: 60, size: "max" }), async (commands) => {
        const decisions = await run(commands, createMemoryAdmissionStore);
        expect(decisions).toEqual(await run(commands, ({ now }) => createNaiveStore(now)));
        for (const { kind } of decisions) kinds.add(kind);
      }),
      { numRuns: 2_000 },
    );
    expect([...kinds].toSorted()).toEqual([
      "admitted",
      "conflict",
      "crowded",
      "limited",
      "not_replayable",
      "replay",
      "running",
    ]);
  });
});

/** Returns the decisions of a new store on the commands. */
async function run(
  commands: readonly Command[],
  open: (options: { now: () => number }) => AdmissionStore,
): Promise<AdmissionDecision[]> {
  let now = 1_000;
  const store = open({ now: () => now });
  const admitted: AdmissionRequest[] = [];
  const decisions: AdmissionDecision[] = [];
  for (const [index, step] of commands.entries()) {
    if (step.kind === "advance") now += step.ms;
    if (step.kind === "cool") {
      await store.setCooldown(
        step.channel,
        step.ms < 0 ? undefined : { until: now + step.ms, reason: "rate" },
      );
    }
    if (step.kind === "admit") {
      const request = toRequest(String(index), step);
      const decision = await store.admit(request);
      decisions.push(decision);
      if (decision.kind === "admitted") admitted.push(request);
    }
    if (step.kind === "finish") {
      const [request] = admitted.splice(step.index % Math.max(1, admitted.length), 1);
      const response = { status: 200, headers: {}, body: String(index) };
      if (request) await store.finish(request, { kind: step.outcome, response, ttlMs: TTL_MS });
    }
  }
  return decisions;
}

function toRequest(id: string, step: Extract<Command, { kind: "admit" }>): AdmissionRequest {
  // A request has each key once.
  const windows = step.windows.filter(
    ({ key }, index, all) => all.findIndex((other) => other.key === key) === index,
  );
  return {
    id,
    caller: "me",
    windows,
    concurrency: step.concurrency,
    idempotency: step.isKeyed ? step.idempotency : undefined,
    channels: ["a", "b", "__proto__"],
  };
}
