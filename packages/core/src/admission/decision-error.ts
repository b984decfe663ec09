import type { GatewayError } from "../errors.js";
import type { AdmissionDecision } from "./admission-store.js";
import { createConflictError, createNotReplayableError, createRunningError } from "./idempotency.js";
import { createCrowdedError, createLimitedError } from "./limit-errors.js";
import type { TicketLimits } from "./ticket-limits.js";

/** A decision by which a request neither runs nor is answered again. */
export type Refusal = Exclude<AdmissionDecision, { kind: "admitted" | "replay" }>;

/**
 * What the client is told of a refusal.
 *
 * @param limits those of the ticket
 */
export function toDecisionError(refusal: Refusal, limits: TicketLimits): GatewayError {
  switch (refusal.kind) {
    case "limited":
      return createLimitedError(limits, refusal.limit, refusal.windows);
    case "crowded":
      return createCrowdedError(limits, refusal.limit, refusal.windows);
    case "conflict":
      return createConflictError();
    case "running":
      return createRunningError();
    case "not_replayable":
      return createNotReplayableError();
  }
}
