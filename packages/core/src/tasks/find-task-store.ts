import type { Ledger } from "../billing/ledger.js";
import type { TaskStore } from "../billing/task-store.js";

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

/**
 * Returns the task store of a ledger, its member `tasks`. `undefined` if the ledger has none, or something else under this
 * name: a ledger of an operator's own may have a member `tasks` for its own purposes.
 */
export function findTaskStore(ledger: Ledger): TaskStore | undefined {
  const tasks: unknown = Reflect.get(ledger, "tasks");
  return isTaskStore(tasks) ? tasks : undefined;
}

function isTaskStore(value: unknown): value is TaskStore {
  if (typeof value !== "object" || value === null) return false;
  return METHODS.every((name) => typeof Reflect.get(value, name) === "function");
}
