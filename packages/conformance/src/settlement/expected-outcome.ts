import type { Usage } from "@calotype/core";
import { usageOf } from "./making.js";
import type { Outcome } from "./observe-case.js";
import type { RecordFacts } from "./record-facts.js";
import { recordOf, UNPRICED } from "./row.js";
import type { Case } from "./start-case.js";

/** What the row says of the case. */
export function toExpectedOutcome(played: Case): Outcome {
  const { row } = played;
  const record = toRecord(played);
  return {
    sees: row.sees,
    records: record === undefined ? [] : [record],
    balance: { settled: record?.charge ?? "0", held: "0" },
    calls: row.provider.length,
    next: { status: row.next ?? 200, held: "0" },
  };
}

function toRecord({ row, way, pricing }: Case): RecordFacts | undefined {
  const facts = recordOf(row);
  if (facts === "none") return undefined;
  const { state = "settled", images, status, errorCode, channel = "channel 1", usage, reportedUsage } = facts;
  const isUnpriced = row.charges[pricing] === UNPRICED;
  const charge = isUnpriced ? "0" : row.charges[pricing];
  if (state === "unresolved") return { state, images, charge };
  const reported = usage ?? (images > 0 ? usageOf(images) : "none");
  return {
    state,
    images,
    charge,
    status,
    channel,
    usage: reported === "none" ? undefined : asReportedBy(way, reported),
    reportedUsage: reportedUsage && asReportedBy(way, reportedUsage),
    errorCode,
    unpriced: isUnpriced || undefined,
  };
}

/** Qwen-Image reports images alone. */
function asReportedBy(way: Case["way"], usage: Usage): Usage | undefined {
  if (way !== "Qwen-Image") return usage;
  const { generated_images } = usage;
  return generated_images === undefined ? undefined : { generated_images };
}
