import { expect, it } from "vitest";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { TakenTask, TaskStore } from "../task-store/task-store.js";
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

it("ends a task that an earlier time marked as sent without sending it", async () => {
  const { tasks } = createMemoryLedger();
  const ends: unknown[] = [];
  let writes = 0;
  const find: TaskStore["find"] = async () => {
    // The first write fails. Before it is tried again, the task is taken once more.
    writes += 1;
    if (writes === 1) throw new Error("The store failed.");
    return { status: "in_progress" } as Awaited<ReturnType<TaskStore["find"]>>;
  };
  const end: TaskStore["end"] = async (ended) => void ends.push(ended);
  const retries: (() => Promise<void>)[] = [];
  const write = (attempt: () => Promise<void>): Promise<void> =>
    attempt().catch(() => void retries.push(attempt));
  const taken = createTakenTasks({ ...tasks, find, end }, { write });
  const task = { id: "task_a", caller: "me" } as TakenTask;

  await taken.begin(task, () => Promise.resolve({ kind: "unsure", error: '{"code":"internal"}' }));
  await taken.begin({ ...task }, () => Promise.resolve({ kind: "ended" }));
  for (const retry of retries) await retry();

  expect(ends).toEqual([{ id: "task_a", status: "failed", error: '{"code":"internal"}' }]);
});
