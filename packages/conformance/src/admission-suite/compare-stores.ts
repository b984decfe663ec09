import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  IdempotencyOutcome,
} from "@calotype/core/stores";
import { array, assert, asyncProperty, boolean, constantFrom, integer, oneof, record } from "fast-check";
import { expect } from "vitest";
import { SEED } from "../support/test-run.js";
import { LEASE_MS, requestOf, WINDOW_MS } from "./requests.js";

const name = constantFrom("a", "b", "__proto__");
const window = record({
  name: constantFrom("requests" as const, "images" as const),
  key: name,
  limit: integer({ min: 1, max: 6 }),
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
const step = oneof(
  record({
    kind: constantFrom("admit" as const),
    windows: array(window, { maxLength: 2 }),
    concurrency: array(concurrency, { maxLength: 2 }),
    idempotency,
    isKeyed: boolean(),
  }),
  record({ kind: constantFrom("finish" as const), index: integer({ min: 0, max: 9 }), outcome }),
  record({
    kind: constantFrom("cool" as const),
    channel: name,
    isWell: boolean(),
    leases: integer({ min: 1, max: 10 }),
  }),
  record({ kind: constantFrom("pause" as const), channel: name, isOver: boolean() }),
  record({
    kind: constantFrom("advance" as const),
    ms: constantFrom(1, LEASE_MS / 2, LEASE_MS - 1, LEASE_MS),
  }),
);
type StoreStep = typeof step extends { generate(...args: never[]): { value: infer Value } } ? Value : never;

/** Opens a new, empty store. */
type OpenWithClock = (now: () => number) => AdmissionStore;

/**
 * Runs random steps on two stores, and throws if the decisions differ. Returns the kinds of the decisions.
 *
 * @param options.isVirtual whether both stores use the clock that they are given. Otherwise no time passes: all times are
 * long.
 */
export async function compareStores(
  openOne: OpenWithClock,
  openOther: OpenWithClock,
  { runs, isVirtual = false }: { readonly runs: number; readonly isVirtual?: boolean },
): Promise<ReadonlySet<string>> {
  const kinds = new Set<string>();
  const start = Date.now();
  await assert(
    asyncProperty(array(step, { maxLength: 60, size: "max" }), async (all) => {
      const steps = isVirtual ? all : all.filter(({ kind }) => kind !== "advance");
      const precisionMs = isVirtual ? 1 : WINDOW_MS;
      const decisions = await take(steps, openOne, { start, precisionMs });
      expect(await take(steps, openOther, { start, precisionMs })).toEqual(decisions);
      for (const { kind } of decisions) kinds.add(kind);
    }),
    { numRuns: runs, seed: SEED },
  );
  return kinds;
}

/** Returns the decisions of a new store. */
async function take(
  steps: readonly StoreStep[],
  open: OpenWithClock,
  { start, precisionMs }: { readonly start: number; readonly precisionMs: number },
): Promise<readonly AdmissionDecision[]> {
  let at = start;
  const store = open(() => at);
  const admitted: AdmissionRequest[] = [];
  const decisions: AdmissionDecision[] = [];
  for (const [index, made] of steps.entries()) {
    if (made.kind === "advance") at += made.ms;
    if (made.kind === "cool") {
      const cooldown = made.isWell
        ? undefined
        : { until: at + made.leases * LEASE_MS, reason: String(index) };
      await store.setCooldown(made.channel, cooldown);
    }
    if (made.kind === "pause") {
      const pause = { since: new Date(at).toISOString(), by: String(index) };
      await store.setPause?.(made.channel, made.isOver ? undefined : pause);
    }
    if (made.kind === "admit") {
      const request = toRequest(String(index), made);
      const decision = await store.admit(request);
      decisions.push(roundTimes(decision, precisionMs));
      if (decision.kind === "admitted") admitted.push(request);
    }
    if (made.kind === "finish") {
      const [request] = admitted.splice(made.index % Math.max(1, admitted.length), 1);
      const response = { status: 200, headers: {}, body: String(index) };
      if (request) await store.finish(request, { kind: made.outcome, response, ttlMs: LEASE_MS });
    }
  }
  return decisions;
}

function toRequest(id: string, made: Extract<StoreStep, { kind: "admit" }>): AdmissionRequest {
  return requestOf({
    id,
    windows: dropRepeats(made.windows),
    concurrency: dropRepeats(made.concurrency),
    idempotency: made.isKeyed ? made.idempotency : undefined,
    channels: ["a", "b", "__proto__"],
    pausesOf: ["a", "b", "__proto__"],
  });
}

/** A request has each key once. */
function dropRepeats<Limit extends { readonly key: string }>(limits: readonly Limit[]): Limit[] {
  return limits.filter(({ key }, index) => limits.findIndex((other) => other.key === key) === index);
}

/** A window that has begun ends within its length. Another window has no time left. */
function roundTimes(decision: AdmissionDecision, precisionMs: number): AdmissionDecision {
  if (!("windows" in decision)) return decision;
  const pauses = decision.kind === "admitted" ? { pauses: { ...decision.pauses } } : {};
  const windows = decision.windows.map(({ remaining, resetMs }) => {
    expect(resetMs).toBeLessThanOrEqual(WINDOW_MS);
    return { remaining, resetMs: Math.ceil(resetMs / precisionMs) };
  });
  return { ...decision, ...pauses, windows };
}
