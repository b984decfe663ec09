import { type Outcome, settle } from "./billing/settle.js";
import type { SentTo } from "./image-request.js";
import type { Job, JobParts } from "./job.js";

/** Settles a job that reached a provider and hands its record to the operator. Called once for each. */
export function settleJob(
  parts: JobParts,
  job: Job,
  sentTo: SentTo,
  outcome: Omit<Outcome, "endedAt">,
): void {
  const record = settle(job.order, sentTo, { ...outcome, endedAt: parts.now() });
  job.keepAlive(parts.report(record));
}
