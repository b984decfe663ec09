import { expect, it } from "vitest";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { TakenTask } from "../task-store/task-store.js";
import { createTakenTasks } from "./taken-tasks.js";

it("a task to be continued goes back if an earlier write may have put it back after it was taken", async () => {
  const { tasks } = createMemoryLedger();
  const firstWrite = Promise.withResolvers<void>();
  let writes = 0;
  const putBack = async (): Promise<void> => {
    writes += 1;
    if (writes === 1) await firstWrite.promise;
  };
  const taken = createTakenTasks({ ...tasks, putBack }, { write: (write) => write() });
  const task = { id: "task_a", caller: "me", upstream: "{}" } as TakenTask;
  let begun = 0;

  const first = taken.begin(task, () => Promise.resolve({ kind: "crowded" }));
  const second = taken.begin({ ...task }, () => {
    begun += 1;
    return Promise.resolve({ kind: "ended" });
  });
  firstWrite.resolve();

  expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
  expect([begun, writes]).toEqual([0, 2]);
});
