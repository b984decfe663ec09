import { TASK_STORE } from "@calotype/core/stores";
import { describe } from "vitest";
import { itIsFound, type LedgerStore } from "./ledger-suite/open-ledger.js";
import { describeContinuedTasks } from "./task-suite/describe-continued-tasks.js";
import { describeQueue } from "./task-suite/describe-queue.js";
import { describeRandomTasks } from "./task-suite/describe-random-tasks.js";
import { describeReopenedTasks } from "./task-suite/describe-reopened-tasks.js";
import { describeRepeats } from "./task-suite/describe-repeats.js";
import { describeSharedTasks } from "./task-suite/describe-shared-tasks.js";
import { describeTakenTasks } from "./task-suite/describe-taken-tasks.js";
import { describeTaskEnds } from "./task-suite/describe-task-ends.js";
import { describeTaskLists } from "./task-suite/describe-task-lists.js";
import { describeTaskMoney } from "./task-suite/describe-task-money.js";
import { describeTaskShares } from "./task-suite/describe-task-shares.js";
import { describeTaskStrings } from "./task-suite/describe-task-strings.js";
import { describeTaskSweeps } from "./task-suite/describe-task-sweeps.js";
import { describeWatching } from "./task-suite/describe-watching.js";
import type { OpenTaskLedger } from "./task-suite/open-tasks.js";

/** The tests that apply to a ledger with tasks. */
export interface TaskSuiteOptions extends LedgerStore {
  /** The number of random sequences of steps, each on a new ledger. Default 300; fewer if opening a ledger is slow. */
  readonly randomRuns?: number | undefined;
  /** True if its tasks have `keepUpstream`. Default false. */
  readonly canContinue?: boolean | undefined;
  /** The length of a long queue. Default 10,000; fewer if the store has no room for them. */
  readonly queueLength?: number | undefined;
  /** True for the random sequences alone, if the same code passes all tests on another store. Default false. */
  readonly onlyRandom?: boolean | undefined;
}

/** The tests that the tasks of every ledger pass. Each ledger calls it once, in a short file: see `ledgers/`. */
export function describeTasks(
  name: string,
  open: OpenTaskLedger,
  {
    queueLength = 10_000,
    isDurable = false,
    canContinue = false,
    isShared = false,
    randomRuns = 300,
    onlyRandom = false,
  }: TaskSuiteOptions = {},
): void {
  describe(`the tasks of a ledger ${name}`, () => {
    describeRandomTasks(open, randomRuns);
    if (onlyRandom) return;
    itIsFound(open, TASK_STORE);
    describeTaskEnds(open);
    describeTaskMoney(open);
    describeQueue(open, queueLength);
    describeTaskShares(open);
    describeTakenTasks(open);
    if (canContinue) describeContinuedTasks(open);
    describeRepeats(open);
    describeTaskLists(open);
    describeTaskSweeps(open);
    describeWatching(open);
    describeTaskStrings(open);
    if (isDurable) describeReopenedTasks(open);
    if (isShared) describeSharedTasks(open);
  });
}
