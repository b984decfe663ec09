import { checkExchange } from "./check-exchanges.js";
import { checkFailure, checkUnknownFailures } from "./check-failures.js";
import { checkJob } from "./check-jobs.js";
import { checkUploads } from "./check-uploads.js";
import type { FamilyCheck, FamilySubject } from "./subject.js";

/**
 * Creates the checks that every family must pass: its images are charged once and as reported, a request is sent again only
 * if nothing can have been made, streams may be cut, files and masks arrive unchanged or are refused, and the key is in
 * headers only. A request that the provider accepted as a job is never submitted again, whatever becomes of the job. Each
 * check runs a gateway with this family, whose provider responds as recorded. Nothing is sent to a network.
 *
 * @example
 * ```ts
 * import type { Family } from "@calotype/core/families";
 * import { createFamilyChecks } from "@calotype/core/testing";
 *
 * declare const family: Family;
 * declare function it(name: string, run: () => Promise<void>): void; // of your test runner
 *
 * const exchange = {
 *   name: "one image",
 *   request: { fields: { prompt: "a red fox" } },
 *   response: { body: { data: [{ b64_json: "aGVsbG8=" }] } },
 *   expects: { images: 1, usage: { generated_images: 1 } },
 * };
 * const failures = [{ status: 400, body: { error: { code: "blocked" } }, kind: "content" as const }];
 * const checks = createFamilyChecks({ family, model: "painter-1", exchanges: [exchange], failures });
 * for (const { name, run } of checks) it(name, run);
 * ```
 */
export function createFamilyChecks(subject: FamilySubject): readonly FamilyCheck[] {
  return [
    ...subject.exchanges.flatMap((exchange) => [
      ...checkExchange(subject, exchange),
      ...checkJob(subject, exchange),
    ]),
    ...subject.failures.flatMap((failure) => [...checkFailure(subject, failure)]),
    ...checkUnknownFailures(subject),
    ...checkUploads(subject),
  ];
}
