import { describe, expect, it } from "vitest";
import { createMemoryLedger } from "./memory-ledger.js";
import type { TaskLedger, TaskSubmission } from "./task-store.js";

// What every task store does is tested in packages/conformance; here, what is this one's own.

const SWEEP = { onLost: "release", lostError: "lost", expiredError: "expired" } as const;

/** Submits a task whose hold is 1. */
async function submit(
  { tasks }: TaskLedger,
  id: string,
  rest: { readonly caller?: string; readonly webhooks?: readonly string[]; readonly budget?: string } = {},
): Promise<TaskSubmission["kind"]> {
  const { caller = "me", webhooks = [], budget } = rest;
  const facts = { caller, model: "seedream", operation: "generate" } as const;
  const requestId = `req_${id}`;
  const { kind } = await tasks.submit(
    { ...facts, id, requestId, input: `input of ${id}`, webhooks, ttlMs: 3_600_000, keepMs: 3_600_000 },
    {
      ...facts,
      id: requestId,
      time: "2026-01-31T12:00:00.000Z",
      group: "default",
      amount: "1",
      budget,
      task: id,
      ttlMs: 0,
    },
  );
  return kind;
}

async function submitMany(ledger: TaskLedger, count: number): Promise<void> {
  for (let at = 0; at < count; at++) expect(await submit(ledger, `task_${at}`)).toBe("submitted");
}

const hasTask = async ({ tasks }: TaskLedger, id: string): Promise<boolean> =>
  (await tasks.find("me", id)) !== undefined;

describe("a memory ledger with 1,000 tasks", () => {
  it("has no room for another one before a task has ended, and changes nothing", async () => {
    const ledger = createMemoryLedger();
    await submitMany(ledger, 1_000);

    expect(await submit(ledger, "task_more")).toBe("full");
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "1000" });
    expect(await hasTask(ledger, "task_more")).toBe(false);
  });

  it("drops the task that ended longest ago, not the oldest one", async () => {
    const ledger = createMemoryLedger();
    await submitMany(ledger, 1_000);
    for (const id of ["task_7", "task_3"]) await ledger.tasks.cancel("me", id);

    expect(await submit(ledger, "task_more")).toBe("submitted");
    expect(await hasTask(ledger, "task_7")).toBe(false);
    expect(await hasTask(ledger, "task_3")).toBe(true);
    expect(await submit(ledger, "task_most")).toBe("submitted");
    expect(await submit(ledger, "task_last")).toBe("full");
  });

  it("drops no task for one that the budget refuses", async () => {
    const ledger = createMemoryLedger();
    await submitMany(ledger, 1_000);
    await ledger.tasks.cancel("me", "task_0");

    expect(await submit(ledger, "task_more", { budget: "999.5" })).toBe("refused");
    expect(await hasTask(ledger, "task_0")).toBe(true);
  });

  it("keeps tasks whose messages wait to be sent before others, and drops them with their messages if it must", async () => {
    const ledger = createMemoryLedger();
    await submit(ledger, "task_told", { webhooks: ["shop"] });
    await submitMany(ledger, 999);
    for (const id of ["task_told", "task_0"]) await ledger.tasks.cancel("me", id);

    await submit(ledger, "task_more");
    expect(await hasTask(ledger, "task_told")).toBe(true);
    await submit(ledger, "task_most");
    expect(await hasTask(ledger, "task_told")).toBe(false);
    expect(await ledger.tasks.webhooks.list({}, 9)).toEqual([]);
  });

  it("accepts others when a sweep has deleted ended tasks", async () => {
    let now = 0;
    const ledger = createMemoryLedger({ now: () => now });
    await submitMany(ledger, 1_000);
    now = 3_600_000;
    expect(await ledger.tasks.sweep(SWEEP)).toMatchObject({ lost: [], inputs: { length: 1_000 } });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    now *= 2;
    await ledger.tasks.sweep(SWEEP);

    expect(await hasTask(ledger, "task_0")).toBe(false);
    expect(await submit(ledger, "task_0")).toBe("submitted");
  });
});

it("a listener is called after the method, and may call the store", async () => {
  const ledger = createMemoryLedger();
  const taken: string[] = [];
  const stop = ledger.tasks.watch(({ kind }) => {
    if (kind !== "queued") return;
    void ledger.tasks
      .take({ limit: 1, except: [] })
      .then((tasks) => taken.push(...tasks.map(({ id }) => id)));
  });
  await submit(ledger, "task_1");
  await submit(ledger, "task_2");
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(taken).toEqual(["task_1", "task_2"]);
  stop();
  await submit(ledger, "task_3");
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(taken).toHaveLength(2);
});
