import type { MadeImage, Usage } from "../types.js";
import { addDecimals, formatDecimal, readDecimal } from "../util/decimal.js";
import type { RequestBounds } from "./charge.js";
import type { Outcome } from "./outcome.js";
import {
  cutUsage,
  INPUT_KINDS,
  keepCounts,
  OUTPUT_KINDS,
  RECORDED_COUNTS,
  splitTokens,
  sumTokens,
} from "./usage.js";

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
  const reported = outcomes.map(
    ({ images, made = [], usage }): ReportedCall => ({ images, made, usage: keepCounts(usage) }),
  );
  const cut = reported.map(
    (call): ReportedCall => ({ ...call, usage: call.usage && cutUsage(call.usage, bounds, call.images) }),
  );
  const wasCut = cut.some(({ usage }, index) => usage !== reported[index]?.usage);
  return {
    images: sum(outcomes.map(({ images }) => images)),
    made: cut.flatMap((call) => describeImages(call, bounds)),
    callsWithImages: cut.filter((call) => countCharged(call) > 0).length,
    usage: addReports(cut),
    reportedUsage: wasCut ? addReports(reported) : undefined,
    hasUnknownTokens: outcomes.some(({ hasUnknownTokens }) => hasUnknownTokens) || cut.some(lacksTokens),
    isConclusive: outcomes.every(({ isConclusive }) => isConclusive),
    isUnknown: outcomes.some(({ isUnknown }) => isUnknown),
    upstreamRequestIds: outcomes.flatMap(({ upstreamRequestId = [] }) => upstreamRequestId),
  };
}

interface ReportedCall {
  /** The images that came. */
  readonly images: number;
  /** What the response says about each image that was made. */
  readonly made: readonly MadeImage[];
  readonly usage: Usage | undefined;
}

/** Returns `undefined` if no image came and nothing was reported. A count that no call has stays absent. */
function addReports(reports: readonly ReportedCall[]): Usage | undefined {
  const images = reports.map(
    ({ images: came, usage }) => usage?.generated_images ?? (came > 0 ? 1 : undefined),
  );
  // Divided by kind, so that the sum has as many tokens of each kind as the calls have together.
  const tokens = reports.map(({ usage = {} }) => sumTokens(splitTokens(usage)));
  const outputs = tokens.map(({ output }) => output);
  const inputs = tokens.map(({ input }) => input);
  const hasOutput = reports.some(({ usage }) => usage?.output_tokens !== undefined);
  const hasTotal = reports.some(({ usage }) => usage?.total_tokens !== undefined);
  const hasImages = images.some((count) => count !== undefined);
  const usage = {
    ...(hasImages && { generated_images: sum(images) }),
    ...(hasOutput && { output_tokens: sum(outputs) }),
    ...(hasTotal && { total_tokens: sum([...outputs, ...inputs]) }),
    ...addOtherCounts(reports),
  };
  return Object.keys(usage).length === 0 ? undefined : usage;
}

/** The counts whose sum needs no rule. */
const ADDED_COUNTS = [...OUTPUT_KINDS, ...INPUT_KINDS, ...RECORDED_COUNTS] as const;

function addOtherCounts(reports: readonly ReportedCall[]): Usage {
  const counts = ADDED_COUNTS.flatMap((name) => {
    const known = reports.flatMap(({ usage }) => usage?.[name] ?? []);
    return known.length === 0 ? [] : [[name, sum(known)] as const];
  });
  const costs = reports.flatMap(({ usage }) => usage?.cost_usd ?? []);
  const tools = reports.flatMap(({ usage }) => Object.entries(usage?.tool_usage ?? {}));
  const byName = Map.groupBy(tools, ([name]) => name);
  const toolUsage = Array.from(byName, ([name, uses]) => [name, sum(uses.map(([, count]) => count))]);
  return {
    ...Object.fromEntries(counts),
    ...(tools.length > 0 && { tool_usage: Object.fromEntries(toolUsage) }),
    ...(costs.length > 0 && { cost_usd: formatDecimal(costs.map(readDecimal).reduce(addDecimals)) }),
  };
}

/** How many images of a call are charged: an explicit count of 0 stays 0. */
function countCharged({ images, usage }: ReportedCall): number {
  return usage?.generated_images ?? images;
}

/**
 * What is known of the images that a call is charged for. In the sum, an image that is not charged would take the place
 * of an image of another call; so would an image that was reported and did not come. Its size is unknown.
 */
function describeImages(
  call: ReportedCall,
  { maxImages, maxLayers = 0 }: RequestBounds,
): readonly MadeImage[] {
  const { made } = call;
  const charged = countCharged(call);
  if (charged === 0) return [];
  const images = made.filter(({ isLayer }) => isLayer !== true).length;
  const missing = Math.max(0, charged - made.length);
  const missingImages = maxLayers === 0 ? missing : Math.max(0, maxImages - maxLayers - images);
  const unknown = Array.from({ length: missing }, (_, at): MadeImage => ({ isLayer: at >= missingImages }));
  return [...made, ...unknown];
}

const OUTPUT_COUNTS = ["output_tokens", "total_tokens", ...OUTPUT_KINDS] as const;

/** True if an image was made whose tokens are not known. */
function lacksTokens({ images, usage }: ReportedCall): boolean {
  const hasImage = images > 0 || (usage?.generated_images ?? 0) > 0;
  return hasImage && OUTPUT_COUNTS.every((name) => usage?.[name] === undefined);
}

function sum(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((total, count = 0) => total + count, 0);
}
