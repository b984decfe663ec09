import { findStore } from "../../billing/find-store.js";
import type { Ledger } from "../../billing/ledger.js";
import type { TaskStore } from "../../billing/task-store.js";

/** The methods of a {@link TaskStore} without which the gateway could not run tasks. */
const METHODS = [
  "submit",
  "take",
  "markSent",
  "putBack",
  "addImages",
  "end",
  "cancel",
  "find",
  "list",
  "sweep",
  "watch",
] as const satisfies readonly (keyof TaskStore)[];

/** Returns the task store of a ledger, its member `tasks`. `undefined` if the ledger has none. */
export function findTaskStore(ledger: Ledger): TaskStore | undefined {
  return findStore(ledger, "tasks", METHODS);
}
