import type {
  AdmissionRequest,
  AdmissionStore,
  ConcurrencyLimit,
  IdempotencyRequest,
  StoredResponse,
  WindowLimit,
} from "@calotype/core";

/** Windows of the tests, where time does not matter to them. Long, since a store's clock may be a real one. */
export const WINDOW_MS = 60_000;
/** Leases of the tests, where time does not matter to them. */
export const LEASE_MS = 60_000;
/** A time that passes in a test. Short, since a store's clock may be a real one. */
export const SHORT_MS = 600;

export const RESPONSE: StoredResponse = {
  status: 200,
  headers: { "content-type": "application/json", "x-calotype-ignored": "style" },
  body: '{"data":[{"url":"https://example.test/猫.png"}]}',
};

let count = 0;

/** A request of its own request, of which a test says what matters to it. */
export function requestOf(rest: Partial<AdmissionRequest> = {}): AdmissionRequest {
  count++;
  return { id: `req_${count}`, caller: "me", windows: [], concurrency: [], channels: [], ...rest };
}

export function windowOf(rest: Partial<WindowLimit> = {}): WindowLimit {
  return { name: "requests", key: "window", limit: 1, windowMs: WINDOW_MS, cost: 1, ...rest };
}

export function placeOf(rest: Partial<ConcurrencyLimit> = {}): ConcurrencyLimit {
  return { key: "place", limit: 1, leaseMs: LEASE_MS, ...rest };
}

export function claimOf(rest: Partial<IdempotencyRequest> = {}): IdempotencyRequest {
  return { key: "claim", fingerprint: "same", leaseMs: LEASE_MS, ...rest };
}

/** What becomes of a request of its own. */
export async function kindOf(store: AdmissionStore, rest: Partial<AdmissionRequest>): Promise<string> {
  return (await store.admit(requestOf(rest))).kind;
}

/** How many of so many requests at once are admitted. */
export async function countAdmitted(
  store: AdmissionStore,
  requests: number,
  rest: (index: number) => Partial<AdmissionRequest>,
): Promise<number> {
  const kinds = await Promise.all(Array.from({ length: requests }, (_, index) => kindOf(store, rest(index))));
  return kinds.filter((kind) => kind === "admitted").length;
}
