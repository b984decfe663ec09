import type { AdmissionRequest } from "@calotype/core/stores";

/** Renews the leases of running requests, because Redis keeps a lease for a short time only. */
export interface LeaseRenewal {
  /** Renews the leases of an admitted request until `end`, or until the request's own lease is over. */
  begin(request: AdmissionRequest): void;
  /** Stops the renewal. Call it before Redis is told that the request has finished. */
  end(request: AdmissionRequest): void;
  /** True between `begin` and `end`. */
  isRunning(request: AdmissionRequest): boolean;
  /** Renews all leases at once, as after an absence of Redis. */
  renewAll(): void;
}

/** A running request, and for how long it has run. */
export interface RunningRequest {
  readonly request: AdmissionRequest;
  readonly ageMs: number;
}

export interface LeaseRenewalOptions {
  /** How long Redis keeps a lease that is not renewed. */
  readonly leaseMs: number;
  /** Renews requests of one caller. May reject: they are renewed again soon. */
  readonly renew: (caller: string, batch: readonly RunningRequest[]) => Promise<void>;
}

interface Lease {
  readonly request: AdmissionRequest;
  readonly begunAt: number;
  /** When the lease began or was last renewed. */
  readonly renewedAt: number;
}

/** A script blocks Redis while it runs. */
const BATCH_REQUESTS = 200;
const CONCURRENT_BATCHES = 16;

/** One timer for all leases. It does not keep the process alive, and runs only while there are leases. */
export function createLeaseRenewal({ leaseMs, renew }: LeaseRenewalOptions): LeaseRenewal {
  const leases = new Map<string, Lease>();
  let timer: NodeJS.Timeout | undefined;
  let isRenewing = false;

  const renewBatch = async (batch: readonly Lease[]): Promise<void> => {
    const now = performance.now();
    // Some requests ended during the renewal of others.
    const running = batch.filter(({ request }) => leases.has(request.id));
    const [first] = running;
    if (first === undefined) return;
    try {
      await renew(
        first.request.caller,
        running.map(({ request, begunAt }) => ({ request, ageMs: now - begunAt })),
      );
    } catch {
      // `createAvailability` reports that Redis is away. The next round tries again.
      return;
    }
    for (const lease of running) {
      if (leases.has(lease.request.id)) leases.set(lease.request.id, { ...lease, renewedAt: now });
    }
  };
  const renewOlderThan = async (ageMs: number): Promise<void> => {
    if (isRenewing) return;
    isRenewing = true;
    const now = performance.now();
    for (const [id, { request, begunAt }] of leases)
      if (now - begunAt >= longestLeaseOf(request)) leases.delete(id);
    const due = [...leases.values()].filter(({ renewedAt }) => now - renewedAt >= ageMs);
    const batches = toBatches(due);
    for (let index = 0; index < batches.length; index += CONCURRENT_BATCHES) {
      await Promise.all(batches.slice(index, index + CONCURRENT_BATCHES).map(renewBatch));
    }
    isRenewing = false;
    stopIfIdle();
  };
  const stopIfIdle = (): void => {
    if (leases.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    begin(request) {
      if (longestLeaseOf(request) <= leaseMs) return;
      const now = performance.now();
      leases.set(request.id, { request, begunAt: now, renewedAt: now });
      // A lease is renewed after a third to a half of its time, so that there is time for two more tries.
      timer ??= setInterval(() => void renewOlderThan(leaseMs / 3), leaseMs / 6).unref();
    },
    end({ id }) {
      leases.delete(id);
      stopIfIdle();
    },
    isRunning: ({ id }) => leases.has(id),
    renewAll: () => void renewOlderThan(0),
  };
}

/** Each batch has requests of one caller. */
function toBatches(leases: readonly Lease[]): Lease[][] {
  const batches: Lease[][] = [];
  for (const ofCaller of Map.groupBy(leases, ({ request }) => request.caller).values()) {
    for (let index = 0; index < ofCaller.length; index += BATCH_REQUESTS) {
      batches.push(ofCaller.slice(index, index + BATCH_REQUESTS));
    }
  }
  return batches;
}

function longestLeaseOf({ concurrency, idempotency }: AdmissionRequest): number {
  return Math.max(idempotency?.leaseMs ?? 0, ...concurrency.map((limit) => limit.leaseMs));
}
