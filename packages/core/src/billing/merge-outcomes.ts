import type { Usage } from "../types.js";
import type { RequestBounds } from "./charge.js";
import { cutUsage, keepCounts, type Outcome } from "./records.js";

/** An outcome without the parts that describe the response of one call. */
type MergedOutcome = Omit<Outcome, "status" | "errorCode" | "upstreamRequestId">;

/**
 * What several upstream calls of one request made and used together. The report of each call is read by itself, before
 * the sum: it is cut to what one call can make; without a count of images it counts one image if one came. The charge for
 * the sum is the sum of what the calls would be charged, except that rounding happens once.
 *
 * @param outcomes in the order of the calls
 * @param bounds what one call can make
 */
export function mergeOutcomes(outcomes: readonly Outcome[], bounds: RequestBounds): MergedOutcome {
  const reported = outcomes.map(({ usage, images }): CallReport => ({ images, usage: keepCounts(usage) }));
  const cut = reported.map(
    ({ images, usage }): CallReport => ({ images, usage: usage && cutUsage(usage, bounds, images) }),
  );
  const wasCut = cut.some(({ usage }, index) => usage !== reported[index]?.usage);
  return {
    images: sum(outcomes.map(({ images }) => images)),
    usage: addReports(cut),
    reportedUsage: wasCut ? addReports(reported) : undefined,
    hasUnknownTokens: outcomes.some(({ hasUnknownTokens }) => hasUnknownTokens) || cut.some(lacksTokens),
    isConclusive: outcomes.every(({ isConclusive }) => isConclusive),
    isUnknown: outcomes.some(({ isUnknown }) => isUnknown),
    upstreamRequestIds: outcomes.flatMap(({ upstreamRequestId = [] }) => upstreamRequestId),
  };
}

interface CallReport {
  /** The images that came. */
  readonly images: number;
  readonly usage: Usage | undefined;
}

/** Returns `undefined` if no image came and nothing was reported. A count that no call has stays absent. */
function addReports(reports: readonly CallReport[]): Usage | undefined {
  const images = reports.map(
    ({ images: came, usage }) => usage?.generated_images ?? (came > 0 ? 1 : undefined),
  );
  const outputs = reports.map(({ usage }) => usage?.output_tokens ?? usage?.total_tokens);
  const totals = reports.map(({ usage }, index) =>
    atLeast(usage?.total_tokens ?? outputs[index], outputs[index]),
  );
  const hasOutput = reports.some(({ usage }) => usage?.output_tokens !== undefined);
  const hasTotal = reports.some(({ usage }) => usage?.total_tokens !== undefined);
  const hasImages = images.some((count) => count !== undefined);
  if (!hasImages && !hasOutput && !hasTotal) return undefined;
  return {
    ...(hasImages && { generated_images: sum(images) }),
    // As for one call: without a count of output tokens all tokens are output, and the total is never below the output.
    ...(hasOutput && { output_tokens: sum(outputs) }),
    ...(hasTotal && { total_tokens: sum(totals) }),
  };
}

/** True if an image was made whose tokens are not known. */
function lacksTokens({ images, usage }: CallReport): boolean {
  const isMade = images > 0 || (usage?.generated_images ?? 0) > 0;
  return isMade && usage?.output_tokens === undefined && usage?.total_tokens === undefined;
}

function atLeast(count: number | undefined, minimum = 0): number | undefined {
  return count === undefined ? undefined : Math.max(count, minimum);
}

function sum(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((total, count = 0) => total + count, 0);
}
