import type { AdmissionRequest } from "@calotype/core";

/** Keeps what running requests took, since Redis has it for a short time only. */
export interface LeaseRenewal {
  /** The request was admitted. It is renewed until it is ended, or its own lease is over. */
  begin(request: AdmissionRequest): void;
  /** Nothing of the request is renewed any more. Comes before its end is told to Redis. */
  end(request: AdmissionRequest): void;
  /** Whether it is renewed. */
  isRunning(request: AdmissionRequest): boolean;
  /** Renews all at once, as after an absence of Redis. */
  renewAll(): void;
}

/** A request, and for how long it has run. */
export interface RunningRequest {
  readonly request: AdmissionRequest;
  readonly ageMs: number;
}

export interface LeaseRenewalOptions {
  /** For so long Redis has what is not renewed. */
  readonly leaseMs: number;
  /** Renews requests of one caller. May reject: they are renewed again soon. */
  readonly renew: (caller: string, batch: readonly RunningRequest[]) => Promise<void>;
}

interface Lease {
  readonly request: AdmissionRequest;
  readonly begunAt: number;
  /** When it was taken or renewed last. */
  readonly takenAt: number;
}

/** A script holds Redis up for as long as it takes. */
const BATCH_REQUESTS = 200;
const CALLS_AT_ONCE = 16;

/** One timer for all, which keeps no process alive and runs only while there is something to renew. */
export function createLeaseRenewal({ leaseMs, renew }: LeaseRenewalOptions): LeaseRenewal {
  const leases = new Map<string, Lease>();
  let timer: NodeJS.Timeout | undefined;
  let isRenewing = false;

  const renewBatch = async (batch: readonly Lease[]): Promise<void> => {
    const now = performance.now();
    // Some ended while others were renewed.
    const running = batch.filter(({ request }) => leases.has(request.id));
    const [first] = running;
    if (first === undefined) return;
    try {
      await renew(
        first.request.caller,
        running.map(({ request, begunAt }) => ({ request, ageMs: now - begunAt })),
      );
    } catch {
      // That Redis is away is told once, by who watches it, and the next round tries again.
      return;
    }
    for (const lease of running) {
      if (leases.has(lease.request.id)) leases.set(lease.request.id, { ...lease, takenAt: now });
    }
  };
  const renewOlderThan = async (ageMs: number): Promise<void> => {
    if (isRenewing) return;
    isRenewing = true;
    const now = performance.now();
    for (const [id, { request, begunAt }] of leases)
      if (now - begunAt >= longestLeaseOf(request)) leases.delete(id);
    const due = [...leases.values()].filter(({ takenAt }) => now - takenAt >= ageMs);
    const batches = toBatches(due);
    for (let index = 0; index < batches.length; index += CALLS_AT_ONCE) {
      await Promise.all(batches.slice(index, index + CALLS_AT_ONCE).map(renewBatch));
    }
    isRenewing = false;
    stopWhereIdle();
  };
  const stopWhereIdle = (): void => {
    if (leases.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    begin(request) {
      if (longestLeaseOf(request) <= leaseMs) return;
      const now = performance.now();
      leases.set(request.id, { request, begunAt: now, takenAt: now });
      // Renewed between a third and a half of the lease, so that there is time for two more tries.
      timer ??= setInterval(() => void renewOlderThan(leaseMs / 3), leaseMs / 6).unref();
    },
    end({ id }) {
      leases.delete(id);
      stopWhereIdle();
    },
    isRunning: ({ id }) => leases.has(id),
    renewAll: () => void renewOlderThan(0),
  };
}

/** Of one caller each. */
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
  return Math.max(idempotency?.leaseMs ?? 0, ...concurrency.map((place) => place.leaseMs));
}
