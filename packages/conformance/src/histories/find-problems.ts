import { checkHistory } from "./check-history.ts";
import { type Round, runRound } from "./run-round.ts";

/** Runs a round and checks its history. Empty if one order explains all results. */
export async function findProblems(round: Round): Promise<readonly string[]> {
  const { history, problems } = await runRound(round);
  return [...problems, ...checkHistory(history).problems];
}
