import { expect, it, vi } from "vitest";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import { createTaskSweep } from "./sweep.js";
import { writeTaskInput } from "./task-input.js";

const missing = (): never => {
  throw new Error("A sweep only deletes.");
};

it("a sweep deletes the requests of the tasks that it ends from the store of results", async () => {
  let now = 0;
  const { tasks } = createMemoryLedger({ now: () => now });
  const facts = { caller: "me", model: "seedream", operation: "generate" } as const;
  const input = writeTaskInput({
    endpoint: { operation: "generate", path: "/v1/images/generations" },
    receivedAt: 0,
    caller: { id: "me", group: "default" },
    group: "default",
    price: undefined,
    bounds: { maxImages: 1 },
    attribution: { endUser: undefined, tags: undefined },
    linkBase: "",
    isForm: false,
    body: { kind: "stored", id: "body_1", byteLength: 9 },
    trace: undefined,
  });
  await tasks.submit(
    { ...facts, id: "task_1", requestId: "req_1", input, webhooks: [], ttlMs: 1_000, keepMs: 1_000 },
    {
      ...facts,
      id: "req_1",
      time: new Date(0).toISOString(),
      group: "default",
      amount: "1",
      task: "task_1",
      ttlMs: 0,
    },
  );
  const removed: string[] = [];
  const tracked: Promise<unknown>[] = [];
  const sweep = createTaskSweep(
    {
      onLost: "release",
      logger: { warn: vi.fn<() => void>(), error: vi.fn<() => void>() },
      track: (work) => void tracked.push(work),
    },
    {
      store: tasks,
      objects: { put: missing, open: missing, remove: async (id) => void removed.push(id) },
    },
  );
  await sweep();
  await Promise.all(tracked);
  expect(removed).toEqual([]);
  now = 1_000;
  await sweep();
  await Promise.all(tracked);
  expect(removed).toEqual(["body_1"]);
  expect(await tasks.find("me", "task_1")).toMatchObject({ status: "failed" });
});
