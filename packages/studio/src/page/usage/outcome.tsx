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

/** How a request ended, by the rules of the ledger. */
function findOutcome(record: UsageRecord): Outcome {
  if (record.state !== "settled") return record.state;
  if (record.status >= 400 && record.status < 500) return "refused";
  return record.status >= 500 || record.errorCode !== undefined ? "failed" : "succeeded";
}

/** How a request ended, in words and color. */
export function OutcomeOf({ record }: { readonly record: UsageRecord }) {
  const { usage: text } = useMessages();
  const outcome = findOutcome(record);
  return <Status tone={TONES[outcome]}>{text.outcomes[outcome]}</Status>;
}
