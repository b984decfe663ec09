import { describe, expect, it } from "vitest";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
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

/** Submits tasks of several callers, whose names begin with those of the callers. */
async function submitMany(ledger: TaskLedger, counts: Readonly<Record<string, number>>): Promise<void> {
  for (const [caller, count] of Object.entries(counts)) {
    for (let at = 0; at < count; at++) {
      expect(await submit(ledger, `${caller}_${at}`, { caller })).toBe("submitted");
    }
  }
}

/** Submits tasks of a caller and ends each at once. */
async function endMany(ledger: TaskLedger, caller: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    expect(await submit(ledger, `${caller}_${at}`, { caller })).toBe("submitted");
    await ledger.tasks.cancel(caller, `${caller}_${at}`);
  }
}

const countOf = async ({ tasks }: TaskLedger, caller: string): Promise<number> => {
  let count = 0;
  let after: string | undefined;
  do {
    const page = await tasks.list(caller, { limit: 100, after });
    count += page.length;
    after = page.at(-1)?.id;
  } while (after !== undefined);
  return count;
};

const hasTask = async ({ tasks }: TaskLedger, id: string, caller = "me"): Promise<boolean> =>
  (await tasks.find(caller, id)) !== undefined;

describe("a memory ledger", () => {
  it("has no room for more than 500 open tasks of one caller, and still has some for others", async () => {
    const ledger = createMemoryLedger();
    await submitMany(ledger, { me: 500 });

    expect(await submit(ledger, "me_more")).toBe("full");
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "500" });
    expect(await hasTask(ledger, "me_more")).toBe(false);
    await submitMany(ledger, { a: 250, b: 125 });
    expect(await submit(ledger, "a_more", { caller: "a" })).toBe("full");
    await ledger.tasks.cancel("me", "me_0");
    // The others still leave too little for the first caller.
    expect(await submit(ledger, "me_more")).toBe("full");
    expect(await submit(ledger, "c_0", { caller: "c" })).toBe("submitted");
  });

  it("keeps the result of one caller while another ends 1,040 tasks, and at most 1,000 tasks in all", async () => {
    const ledger = createMemoryLedger();
    await endMany(ledger, "paid", 1);
    await endMany(ledger, "many", 1_040);

    expect(await hasTask(ledger, "paid_0", "paid")).toBe(true);
    expect(await countOf(ledger, "many")).toBe(999);
    expect(await hasTask(ledger, "many_40", "many")).toBe(false);
    expect(await hasTask(ledger, "many_41", "many")).toBe(true);
  });

  it("drops ended tasks of the caller that has most, until all have as many", async () => {
    const ledger = createMemoryLedger();
    await endMany(ledger, "first", 900);
    await endMany(ledger, "second", 700);

    expect(await countOf(ledger, "first")).toBe(500);
    expect(await countOf(ledger, "second")).toBe(500);
    expect(await hasTask(ledger, "second_199", "second")).toBe(false);
    expect(await hasTask(ledger, "second_200", "second")).toBe(true);
    // Open tasks count, but only ended ones are dropped.
    await submitMany(ledger, { third: 200 });
    expect(await countOf(ledger, "third")).toBe(200);
    expect(await countOf(ledger, "first")).toBe(400);
    expect(await countOf(ledger, "second")).toBe(400);
  });

  it("drops the task that ended longest ago, not the oldest one, and no open one", async () => {
    const ledger = createMemoryLedger();
    await endMany(ledger, "me", 600);
    for (let at = 0; at < 400; at++) await submit(ledger, `open_${at}`);
    for (const id of ["open_7", "open_3"]) await ledger.tasks.cancel("me", id);
    for (let at = 0; at < 400; at++) {
      await submit(ledger, `later_${at}`);
      await ledger.tasks.cancel("me", `later_${at}`);
    }
    // The 600 ended first, then 7 and 3, then the later ones: 400 of 600 were dropped.
    expect(await hasTask(ledger, "me_399")).toBe(false);
    expect(await hasTask(ledger, "me_400")).toBe(true);
    for (let at = 400; at < 601; at++) {
      await submit(ledger, `later_${at}`);
      await ledger.tasks.cancel("me", `later_${at}`);
    }
    expect(await hasTask(ledger, "open_7")).toBe(false);
    expect(await hasTask(ledger, "open_3")).toBe(true);
    expect(await hasTask(ledger, "open_0")).toBe(true);
  });

  it("drops no task for one that the budget refuses", async () => {
    const ledger = createMemoryLedger();
    await endMany(ledger, "me", 1_000);

    expect(await submit(ledger, "task_more", { budget: "0.5" })).toBe("refused");
    expect(await hasTask(ledger, "me_0")).toBe(true);
  });

  it("keeps tasks whose messages wait to be sent before others, and drops them with their messages if it must", async () => {
    const ledger = createMemoryLedger();
    for (const id of ["told_0", "told_1"]) await submit(ledger, id, { webhooks: ["shop"] });
    for (const id of ["told_0", "told_1"]) await ledger.tasks.cancel("me", id);
    await endMany(ledger, "me", 998);

    for (let at = 0; at < 500; at++) await submit(ledger, `open_${at}`);
    expect(await hasTask(ledger, "me_499")).toBe(false);
    expect(await hasTask(ledger, "told_0")).toBe(true);
    expect(await ledger.outbox.list({}, 9)).toHaveLength(2);
    // Another caller takes room from the one that has most.
    await endMany(ledger, "you", 499);
    expect(await hasTask(ledger, "me_997")).toBe(false);
    expect(await hasTask(ledger, "told_0")).toBe(false);
    expect(await hasTask(ledger, "told_1")).toBe(true);
    expect(await ledger.outbox.list({}, 9)).toHaveLength(1);
  });

  it("accepts others when a sweep has deleted ended tasks", async () => {
    let now = 0;
    const ledger = createMemoryLedger({ now: () => now });
    await submitMany(ledger, { me: 500 });
    now = 3_600_000;
    expect(await ledger.tasks.sweep(SWEEP)).toMatchObject({ lost: [], inputs: { length: 500 } });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    now *= 2;
    await ledger.tasks.sweep(SWEEP);

    expect(await hasTask(ledger, "me_0")).toBe(false);
    await submitMany(ledger, { me: 500 });
    expect(await submit(ledger, "me_more")).toBe("full");
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
