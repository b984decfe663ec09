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
  record({ kind: constantFrom("cool" as const), channel: name, isWell: boolean() }),
);
type Step = typeof step extends { generate(...args: never[]): { value: infer Value } } ? Value : never;

/**
 * Runs random steps on two stores, and throws if the decisions differ. All times are long, so that the clocks may be
 * real. Returns the kinds of the decisions.
 */
export async function compareStores(
  openOne: () => AdmissionStore,
  openOther: () => AdmissionStore,
  { runs }: { readonly runs: number },
): Promise<ReadonlySet<string>> {
  const kinds = new Set<string>();
  const until = Date.now() + 10 * LEASE_MS;
  await assert(
    asyncProperty(array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const decisions = await take(steps, openOne(), until);
      expect(await take(steps, openOther(), until)).toEqual(decisions);
      for (const { kind } of decisions) kinds.add(kind);
    }),
    { numRuns: runs, seed: SEED },
  );
  return kinds;
}

/** Returns the decisions of the store, without exact times. */
async function take(
  steps: readonly Step[],
  store: AdmissionStore,
  until: number,
): Promise<readonly AdmissionDecision[]> {
  const admitted: AdmissionRequest[] = [];
  const decisions: AdmissionDecision[] = [];
  for (const [index, made] of steps.entries()) {
    if (made.kind === "cool") {
      const cooldown = made.isWell ? undefined : { until, reason: String(index) };
      await store.setCooldown(made.channel, cooldown);
    }
    if (made.kind === "admit") {
      const request = toRequest(String(index), made);
      const decision = await store.admit(request);
      decisions.push(withoutTimes(decision));
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

function toRequest(id: string, made: Extract<Step, { kind: "admit" }>): AdmissionRequest {
  return requestOf({
    id,
    windows: dropRepeats(made.windows),
    concurrency: dropRepeats(made.concurrency),
    idempotency: made.isKeyed ? made.idempotency : undefined,
    channels: ["a", "b", "__proto__"],
  });
}

/** A request has each key once. */
function dropRepeats<Limit extends { readonly key: string }>(limits: readonly Limit[]): Limit[] {
  return limits.filter(({ key }, index) => limits.findIndex((other) => other.key === key) === index);
}

/** A window that has begun ends within its length. Another window has no time left. */
function withoutTimes(decision: AdmissionDecision): AdmissionDecision {
  if (!("windows" in decision)) return decision;
  const windows = decision.windows.map(({ remaining, resetMs }) => {
    expect(resetMs).toBeLessThanOrEqual(WINDOW_MS);
    return { remaining, resetMs: Math.ceil(resetMs / WINDOW_MS) };
  });
  return { ...decision, windows };
}
