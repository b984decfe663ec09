import { findAbility } from "../../billing/ledger-ability.js";
import type { OptionsProblem } from "../../options/options.js";
import { RECORDS_IN_ORDER } from "../outbox/outbox.js";

const NOT_BOTH = "cannot be used together with onUsage: each record is delivered to one of them";
const NEEDS_OUTBOX =
  "needs a ledger whose outbox has leaseInOrder, such as those in memory, of @calotype/sqlite and of @calotype/postgres";

/** Why `onUsageBatch` cannot be used with these options. The ledger in memory, which is the default, has an outbox. */
export function findBatchProblems({
  onUsage,
  ledger,
}: {
  readonly onUsage?: unknown;
  readonly ledger?: object | undefined;
}): OptionsProblem[] {
  const messages = [
    ...(onUsage === undefined ? [] : [NOT_BOTH]),
    ...(ledger === undefined || findAbility(ledger, RECORDS_IN_ORDER) !== undefined ? [] : [NEEDS_OUTBOX]),
  ];
  return messages.map((message) => ({ path: "onUsageBatch", message }));
}
