import { type Outcome, settle } from "./billing/settle.js";
import type { SentTo } from "./image-request.js";
import type { Job, JobParts } from "./job.js";

/**
 * Settles a job that reached a provider and hands its record to the operator. Called once for each.
 *
 * @returns resolves, and never rejects, when the operator's function is done with the record
 */
export function settleJob(
  parts: JobParts,
  job: Job,
  sentTo: SentTo,
  outcome: Omit<Outcome, "endedAt">,
): Promise<void> {
  return parts.report(settle(job.order, sentTo, { ...outcome, endedAt: parts.now() }));
}
