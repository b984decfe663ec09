import { checkAccounts } from "./check-accounts.ts";
import { checkBudgets } from "./check-budgets.ts";
import { checkLists } from "./check-lists.ts";
import type { Checked } from "./checked.ts";
import type { History } from "./history.ts";
import { type Round, runRound } from "./run-round.ts";

/** Checks a history for one serial order. */
export function checkHistory(history: History): Checked {
  const all = [checkAccounts(history), checkBudgets(history), checkLists(history)];
  return {
    problems: all.flatMap(({ problems }) => problems),
    undecided: all.flatMap(({ undecided }) => undecided),
  };
}

/** Runs a round and checks its history. Empty if one order explains all results. */
export async function findProblems(round: Round): Promise<readonly string[]> {
  const { history, problems } = await runRound(round);
  return [...problems, ...checkHistory(history).problems];
}
