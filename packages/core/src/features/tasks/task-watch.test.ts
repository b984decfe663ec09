import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTask } from "../../testing/create-task.js";
import { createTaskStore, type TestTaskStore } from "../../testing/test-task-store.js";
import { repeatByTimer } from "../../util/async.js";
import type { Task } from "../task-store/task-store.js";
import { createTaskWatch, type FollowedTask, type TaskWatch } from "./task-watch.js";

const idOf = (number: number): string => `task_${number.toString(16).padStart(32, "0")}`;
const task = (number: number, members: Partial<Task> = {}): Task =>
  createTask({ id: idOf(number), ...members });

interface Watching {
  readonly watch: TaskWatch;
  readonly tasks: TestTaskStore;
  readonly errors: string[];
}

function startWatch(...tasks: readonly Task[]): Watching {
  const store = createTaskStore(...tasks);
  const errors: string[] = [];
  const logger = { warn: () => {}, error: (_fields: object, message: string) => void errors.push(message) };
  return {
    watch: createTaskWatch({ store: store.store, repeat: repeatByTimer, logger }),
    tasks: store,
    errors,
  };
}

/** Waits for a change, and says after how many milliseconds the wait was over. */
function timeWait(followed: FollowedTask, ms = 60_000): { endedAfter: number | undefined } {
  const begun = performance.now();
  const wait: { endedAfter: number | undefined } = { endedAfter: undefined };
  const run = async (): Promise<void> => {
    await followed.waitForChange(ms);
    wait.endedAfter = performance.now() - begun;
  };
  void run();
  return wait;
}

const advance = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a followed task", () => {
  it("changes at once if the store tells the change", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    const wait = timeWait(followed);
    tasks.put(task(1, { status: "in_progress" }));
    await advance(0);
    expect(wait.endedAfter).toBe(0);
    expect(followed.task.status).toBe("in_progress");
    expect(followed.isOver).toBe(false);
  });

  it("is read once for all of its clients", async () => {
    const { watch, tasks } = startWatch(task(1));
    const waits = Array.from({ length: 100 }, () => timeWait(watch.follow(task(1))));
    tasks.put(task(1, { status: "completed" }));
    await advance(0);
    expect(waits.every(({ endedAfter }) => endedAfter === 0)).toBe(true);
    expect(tasks.calls.find).toBe(1);
    expect(tasks.watches()).toBe(1);
  });

  it("is read at growing intervals if nothing is told", async () => {
    const { watch, tasks } = startWatch(task(1));
    timeWait(watch.follow(task(1)));
    const reads: number[] = [];
    let before = 0;
    for (let second = 1; second <= 30; second++) {
      await advance(1_000);
      if (tasks.calls.find > before) reads.push(second);
      before = tasks.calls.find;
    }
    expect(reads).toEqual([1, 3, 6, 10, 15, 20, 25, 30]);
  });

  it("shows a change that was not told after at most five seconds, and is then read more often", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    await advance(15_000);
    const wait = timeWait(followed);
    tasks.put(task(1, { status: "in_progress" }), true);
    await advance(5_000);
    expect(wait.endedAfter).toBe(5_000);
    const { find } = tasks.calls;
    await advance(1_000);
    expect(tasks.calls.find).toBe(find + 1);
  });

  it("is read seldom once a change was told", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    tasks.put(task(1, { status: "in_progress" }));
    await advance(0);
    expect(tasks.calls.find).toBe(1);
    await advance(29_000);
    expect(tasks.calls.find).toBe(1);
    tasks.put(task(1, { status: "completed" }), true);
    await advance(1_000);
    expect(followed.task.status).toBe("completed");
  });

  it("is not read again after its end", async () => {
    const { watch, tasks } = startWatch(task(1, { status: "completed" }));
    watch.follow(task(1, { status: "completed" }));
    await advance(60_000);
    expect(tasks.calls.find).toBe(0);
  });

  it("does not go back to an older state that is read late", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    const reads: ((found: Task) => void)[] = [];
    tasks.interfere(() => new Promise((resolve) => reads.push(resolve)));
    tasks.tell({ kind: "changed", id: idOf(1) });
    await advance(0);
    // Another client has read the task in the meantime.
    watch.follow(task(1, { status: "completed" }));
    expect(followed.task.status).toBe("completed");
    reads[0]?.(task(1, { status: "in_progress", images: ["{}"] }));
    await advance(0);
    expect(followed.task.status).toBe("completed");
    // The same for a client that read the task before and follows it now.
    expect(watch.follow(task(1)).task.status).toBe("completed");
  });

  it("shows a change that was made between two waits", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    tasks.put(task(1, { status: "in_progress" }));
    await advance(0);
    const wait = timeWait(followed);
    await advance(0);
    expect(wait.endedAfter).toBe(0);
  });

  it("shows images that arrive", async () => {
    const { watch, tasks } = startWatch(task(1, { status: "in_progress" }));
    const followed = watch.follow(task(1, { status: "in_progress" }));
    const wait = timeWait(followed);
    tasks.put(task(1, { status: "in_progress", images: ["{}"] }));
    await advance(0);
    expect(wait.endedAfter).toBe(0);
    expect(followed.task.images).toEqual(["{}"]);
  });

  it("does not end a wait if nothing changed, and ends it when its time is over", async () => {
    const { watch, tasks } = startWatch(task(1));
    const wait = timeWait(watch.follow(task(1)), 7_500);
    for (let change = 0; change < 20; change++) tasks.tell({ kind: "changed", id: idOf(1) });
    tasks.tell({ kind: "changed", id: idOf(2) });
    tasks.tell({ kind: "queued" });
    await advance(7_499);
    expect(wait.endedAfter).toBeUndefined();
    await advance(1);
    expect(wait.endedAfter).toBe(7_500);
  });

  it("is read once more for all changes that are told during a read", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    tasks.put(task(1, { status: "in_progress" }));
    for (let image = 1; image <= 20; image++) {
      tasks.put(task(1, { status: "in_progress", images: Array.from({ length: image }, () => "{}") }));
    }
    await advance(0);
    expect(followed.task.images).toHaveLength(20);
    expect(tasks.calls.find).toBe(2);
  });

  it("survives a store that fails, with one line in the log", async () => {
    const { watch, tasks, errors } = startWatch(task(1), task(2));
    const followed = watch.follow(task(1));
    watch.follow(task(2));
    tasks.interfere(() => Promise.reject(new Error("down")));
    await advance(10_000);
    expect(errors).toEqual(["The task store failed while clients wait for tasks."]);
    tasks.interfere(undefined);
    tasks.put(task(1, { status: "completed" }), true);
    await advance(5_000);
    expect(followed.task.status).toBe("completed");
  });

  it("survives a store that hangs", async () => {
    const { watch, tasks, errors } = startWatch(task(1));
    const followed = watch.follow(task(1));
    tasks.interfere(() => new Promise(() => {}));
    for (let change = 0; change < 100; change++) tasks.tell({ kind: "changed", id: idOf(1) });
    await advance(9_000);
    expect(tasks.calls.find).toBe(1);
    tasks.interfere(undefined);
    tasks.put(task(1, { status: "completed" }));
    await advance(11_000);
    expect(followed.task.status).toBe("completed");
    expect(errors).toHaveLength(1);
  });

  it("that was deleted keeps its state", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    tasks.remove(idOf(1));
    await advance(10_000);
    expect(followed.task.status).toBe("queued");
  });
});

describe("clients that wait", () => {
  it("share a timer and a subscription, which end with the last of them", async () => {
    const { watch, tasks } = startWatch(task(1), task(2));
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
    const followed = [watch.follow(task(1)), watch.follow(task(1)), watch.follow(task(2))];
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([1, 1]);
    for (const one of followed) {
      expect(tasks.watches()).toBe(1);
      one.end();
      one.end();
    }
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
    await advance(10_000);
    expect(tasks.calls.find).toBe(0);
    watch.follow(task(1));
    expect(tasks.watches()).toBe(1);
  });

  it("are at most a hundred for each caller", () => {
    const { watch } = startWatch();
    const followed = Array.from({ length: 100 }, (_, index) => watch.follow(task(index)));
    expect(() => watch.follow(task(100))).toThrow(
      expect.objectContaining({ code: "rate_limit_exceeded", retryAfterSeconds: 5 }),
    );
    watch.follow(task(101, { caller: "other" }));
    followed[7]?.end();
    followed[7]?.end();
    watch.follow(task(100));
    expect(() => watch.follow(task(102))).toThrow(/At most 100 requests/);
  });

  it("are at most ten thousand, for which the store is read a hundred times a second, each task in its turn", async () => {
    const all = Array.from({ length: 10_000 }, (_, index) =>
      task(index, { caller: `caller ${index % 100}` }),
    );
    const { watch, tasks } = startWatch(...all);
    const followed = all.map((one) => watch.follow(one));
    expect(() => watch.follow(task(10_001))).toThrow(
      expect.objectContaining({ code: "overloaded", retryAfterSeconds: 5 }),
    );
    const read = new Set<string>();
    tasks.interfere(async (_caller, id) => {
      read.add(id);
      return all[Number.parseInt(id.slice(5), 16)];
    });
    await advance(10_000);
    expect(tasks.calls.find).toBe(1_000);
    expect(read.size).toBe(1_000);
    await advance(95_000);
    expect(read.size).toBe(10_000);
    for (const one of followed) one.end();
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("do not count any more when they have left, however many have waited before", () => {
    const { watch } = startWatch(task(1));
    for (let client = 0; client < 20_002; client++)
      watch.follow(task(1, { caller: `caller ${client}` })).end();
    const followed = watch.follow(task(1));
    expect(followed.isOver).toBe(false);
    followed.end();
  });

  it("get the ends of a thousand tasks at once with few reads at the same time", async () => {
    const all = Array.from({ length: 1_000 }, (_, index) => task(index, { caller: `caller ${index % 10}` }));
    const { watch, tasks } = startWatch(...all);
    const waits = all.map((one) => timeWait(watch.follow(one)));
    let reading = 0;
    let most = 0;
    tasks.interfere(async (_caller, id) => {
      most = Math.max(most, ++reading);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
      reading--;
      return task(Number.parseInt(id.slice(5), 16), { status: "completed" });
    });
    for (const { id } of all) tasks.tell({ kind: "changed", id });
    await advance(700);
    expect(most).toBe(8);
    expect(tasks.calls.find).toBe(1_000);
    expect(waits.every(({ endedAfter }) => endedAfter !== undefined)).toBe(true);
  });

  it("are released at once when they disconnect", async () => {
    const { watch, tasks } = startWatch(task(1));
    const client = new AbortController();
    const followed = watch.follow(task(1), client);
    const wait = timeWait(followed);
    client.abort();
    await advance(0);
    expect(wait.endedAfter).toBe(0);
    expect(followed.isOver).toBe(true);
    expect(tasks.watches()).toBe(0);
  });

  it("are released within a second if the host only says whether they are there", async () => {
    const { watch, tasks } = startWatch(task(1));
    const signal = { aborted: false };
    const wait = timeWait(watch.follow(task(1), { signal }));
    await advance(500);
    signal.aborted = true;
    await advance(500);
    expect(wait.endedAfter).toBe(1_000);
    expect(tasks.watches()).toBe(0);
  });

  it("leaves no listener at the signal of its client", async () => {
    const { watch } = startWatch(task(1));
    const listeners = new Set<unknown>();
    const signal = {
      aborted: false,
      addEventListener: (_type: "abort", listener: () => void) => void listeners.add(listener),
      removeEventListener: (_type: "abort", listener: () => void) => void listeners.delete(listener),
    };
    const followed = watch.follow(task(1), { signal });
    expect(listeners.size).toBe(1);
    followed.end();
    expect(listeners.size).toBe(0);
  });

  it("do not wait if they have left before", async () => {
    const { watch } = startWatch(task(1));
    const followed = watch.follow(task(1), { signal: AbortSignal.abort() });
    expect(followed.isOver).toBe(true);
    await followed.waitForChange(60_000);
    followed.end();
  });

  it("are released at once when the gateway closes, also those that come later", async () => {
    const { watch, tasks } = startWatch(task(1));
    const followed = watch.follow(task(1));
    const wait = timeWait(followed);
    watch.close();
    await advance(0);
    expect(wait.endedAfter).toBe(0);
    expect(followed).toMatchObject({ isOver: true, task: { status: "queued" } });
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
    const late = watch.follow(task(1));
    expect(late.isOver).toBe(true);
    await late.waitForChange(60_000);
    late.end();
    followed.end();
    watch.close();
    expect(tasks.watches()).toBe(0);
  });
});
