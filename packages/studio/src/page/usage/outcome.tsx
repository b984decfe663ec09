import type { UsageRecord } from "../../wire.js";
import { Status } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";

export const OUTCOMES = ["succeeded", "refused", "failed", "unresolved", "released"] as const;
type Outcome = (typeof OUTCOMES)[number];

const TONES = {
  succeeded: "good",
  refused: "warn",
  failed: "bad",
  unresolved: "warn",
  released: "none",
} as const satisfies Record<Outcome, string>;

/** The filter for all results that are not what the client asked for. */
export const NOT_SUCCESSFUL = "refused,failed,unresolved";

/** How a request ended, by the rules of the ledger. */
function findOutcome(record: UsageRecord): Outcome {
  if (record.state !== "settled") return record.state;
  if (record.status >= 400 && record.status < 500) return "refused";
  return record.status >= 500 || record.errorCode !== undefined ? "failed" : "succeeded";
}

/** How a request ended, in words and color, and whether an attempt failed before it succeeded. */
export function OutcomeOf({ record }: { readonly record: UsageRecord }) {
  const { usage: text } = useMessages();
  const outcome = findOutcome(record);
  const status = <Status tone={TONES[outcome]}>{text.outcomes[outcome]}</Status>;
  const attempts = record.state === "settled" ? record.attempts : undefined;
  const isRetried = outcome === "succeeded" && attempts?.some(({ code }) => code !== undefined) === true;
  if (!isRetried) return status;
  return (
    <div>
      {status}
      <div class="small soft after">{text.afterFailure}</div>
    </div>
  );
}
