import type { TaskLedger } from "@calotype/core/stores";
import { type Bench, type OpenLedger, useLedger } from "../ledger-suite/open-ledger.js";

/** Opens a new, empty ledger with tasks. */
export type OpenTaskLedger = OpenLedger<TaskLedger>;

/** Opens a new ledger for each test of the `describe` that calls this. */
export function useTaskLedger(open: OpenTaskLedger): () => Bench<TaskLedger> & Pick<TaskLedger, "tasks"> {
  const bench = useLedger(open);
  return () => ({ ...bench(), tasks: bench().ledger.tasks });
}
