import type {
  AdmissionRequest,
  AdmissionStore,
  ConcurrencyLimit,
  IdempotencyRequest,
  StoredResponse,
  WindowLimit,
} from "@calotype/core/stores";

/** For tests in which time does not matter. Long, because the clock of a store may be real. */
export const WINDOW_MS = 60_000;
/** For tests in which time does not matter. */
export const LEASE_MS = 60_000;
/** A time that passes in a test. Short, because the clock of a store may be real. */
export const SHORT_MS = 1_000;

export const RESPONSE: StoredResponse = {
  status: 200,
  headers: { "content-type": "application/json", "x-calotype-ignored": "style" },
  body: '{"data":[{"url":"https://example.test/猫.png"}]}',
};

let count = 0;

/** Creates a request with its own id. */
export function requestOf(rest: Partial<AdmissionRequest> = {}): AdmissionRequest {
  count++;
  return { id: `req_${count}`, caller: "me", windows: [], concurrency: [], channels: [], ...rest };
}

export function windowOf(rest: Partial<WindowLimit> = {}): WindowLimit {
  return { name: "requests", key: "window", limit: 1, windowMs: WINDOW_MS, cost: 1, ...rest };
}

export function slotOf(rest: Partial<ConcurrencyLimit> = {}): ConcurrencyLimit {
  return { key: "slot", limit: 1, leaseMs: LEASE_MS, ...rest };
}

export function idempotencyOf(rest: Partial<IdempotencyRequest> = {}): IdempotencyRequest {
  return { key: "key", fingerprint: "same", leaseMs: LEASE_MS, ...rest };
}

/** Returns the kind of the decision on a new request. */
export async function kindOf(store: AdmissionStore, rest: Partial<AdmissionRequest>): Promise<string> {
  return (await store.admit(requestOf(rest))).kind;
}

/** Sends requests at the same time, and returns how many are admitted. */
export async function countAdmitted(
  store: AdmissionStore,
  requests: number,
  rest: (index: number) => Partial<AdmissionRequest>,
): Promise<number> {
  const kinds = await Promise.all(Array.from({ length: requests }, (_, index) => kindOf(store, rest(index))));
  return kinds.filter((kind) => kind === "admitted").length;
}
