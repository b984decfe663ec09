import type { OutboxLedger, TaskLedger } from "@calotype/core/stores";
import { type Bench, type OpenLedger, useLedger } from "../ledger-suite/open-ledger.js";

/** A ledger with tasks. The end of a task is sent by messages. */
export type TestedTaskLedger = TaskLedger & OutboxLedger;

/** Opens a new, empty ledger with tasks. */
export type OpenTaskLedger = OpenLedger<TestedTaskLedger>;

/** Opens a new ledger for each test of the `describe` that calls this. */
export function useTaskLedger(
  open: OpenTaskLedger,
): () => Bench<TestedTaskLedger> & Pick<TestedTaskLedger, "tasks" | "outbox"> {
  const bench = useLedger(open);
  return () => {
    const { tasks, outbox } = bench().ledger;
    return { ...bench(), tasks, outbox };
  };
}
