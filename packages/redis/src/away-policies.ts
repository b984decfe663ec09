import type { AdmissionRequest } from "@calotype/core";

/**
 * What becomes of requests while Redis is away. `closed`: they are refused with a 503. `open`: each process counts
 * for itself, in its own memory, from nothing.
 */
export type AwayPolicy = "open" | "closed";

/** A policy for each thing that is kept in Redis. A request is refused when something that it needs is closed. */
export interface AwayPolicies {
  /** Limits on requests, images and requests at once. Default `closed`. */
  readonly limits?: AwayPolicy | undefined;
  /**
   * Idempotency keys. Default `closed`; with `open` a repeat of a request that another process has, or that was
   * answered before, runs again and is charged again.
   */
  readonly idempotency?: AwayPolicy | undefined;
  /** Cooldowns of channels, which every request asks for. Default `open`: the last ones known go on. */
  readonly cooldowns?: AwayPolicy | undefined;
}

/** Whether a request must be refused while Redis is away. One word holds for all three. */
export function isRefusedAway(policy: AwayPolicy | AwayPolicies, request: AdmissionRequest): boolean {
  if (typeof policy === "string") return policy === "closed";
  const { limits = "closed", idempotency = "closed", cooldowns = "open" } = policy;
  const { windows, concurrency } = request;
  return (
    (limits === "closed" && windows.length + concurrency.length > 0) ||
    (idempotency === "closed" && request.idempotency !== undefined) ||
    (cooldowns === "closed" && request.channels.length > 0)
  );
}
