import { expect, it } from "vitest";
import type { Ledger } from "../../billing/ledger.js";
import { createMemoryLedger } from "../../billing/memory-ledger.js";
import { createTaskStore } from "../../testing/test-task-store.js";
import { findTaskStore } from "./find-task-store.js";

const withTasks = (tasks: unknown): Ledger => ({ ...createMemoryLedger(), tasks }) as Ledger;

it("finds the task store of a ledger", () => {
  const { store } = createTaskStore();
  expect(findTaskStore(withTasks(store))).toBe(store);
});

it.each([undefined, null, [], {}, "tasks", () => {}, { find: () => {} }])(
  "does not take %j for a task store",
  (tasks) => {
    expect(findTaskStore(withTasks(tasks))).toBeUndefined();
  },
);
