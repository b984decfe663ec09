import { createParser, type EventSourceMessage } from "eventsource-parser";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTask } from "../../testing/create-task.js";
import { createScriptedSource, endedSource } from "../../testing/scripted-source.js";
import { createTaskStore, type TestTaskStore } from "../../testing/test-task-store.js";
import { repeatByTimer } from "../../util/async.js";
import type { Task } from "../task-store/task-store.js";
import { createTaskEvents, type TaskEventsOptions } from "./task-events.js";
import { createTaskWatch, type TaskWatch, toEndedTask } from "./task-watch.js";

const RUNNING = createTask({ status: "in_progress" });
const withImages = (count: number): Task => ({
  ...RUNNING,
  images: Array.from({ length: count }, (_, index) => `{"url":"https://x.test/${index}.png"}`),
});
const COMPLETED: Task = { ...RUNNING, status: "completed", result: '{\n  "data": [\r\n  ]\n}' };

const OPTIONS: TaskEventsOptions = {
  openResult: async ({ result }) => result,
  toEnvelope: (error) => ({
    error: { message: String(error), type: "server_error", code: "gateway_unavailable", param: null },
  }),
};

interface Streaming {
  readonly watch: TaskWatch;
  readonly tasks: TestTaskStore;
  readonly body: AsyncIterableIterator<Uint8Array, undefined>;
}

function startStream(task: Task, options: Partial<TaskEventsOptions> = {}): Streaming {
  const tasks = createTaskStore(task);
  const logger = { warn: () => {}, error: () => {} };
  const watch = createTaskWatch({ store: tasks.store, repeat: repeatByTimer, logger });
  return { watch, tasks, body: createTaskEvents(watch.follow(task), { ...OPTIONS, ...options }) };
}

/** Reads a body, and collects its text until now. */
function read(body: AsyncIterable<Uint8Array>): { text: string; isDone: boolean; error?: unknown } {
  const seen: { text: string; isDone: boolean; error?: unknown } = { text: "", isDone: false };
  const decoder = new TextDecoder();
  const run = async (): Promise<void> => {
    try {
      for await (const chunk of body) seen.text += decoder.decode(chunk, { stream: true });
    } catch (error) {
      seen.error = error;
    }
    seen.isDone = true;
  };
  void run();
  return seen;
}

/** What a client of server-sent events reads: the names and the data of the events, `:` for a comment. */
function parse(text: string): unknown[] {
  const events: unknown[] = [];
  const parser = createParser({
    onEvent: ({ event, data }: EventSourceMessage) => events.push([event, JSON.parse(data)]),
    onComment: () => events.push(":"),
    onRetry: (ms) => events.push(ms),
  });
  parser.feed(text);
  return events;
}

const advance = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const status = (name: string, more: object = {}): unknown => [
  "status",
  expect.objectContaining({ object: "image.task", status: name, ...more }),
];
const image = (index: number): unknown => [
  "image",
  { task_id: RUNNING.id, index, image: { url: `https://x.test/${index}.png` } },
];

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the events of a task", () => {
  it("tell each state and each image once, and end with the result", async () => {
    const { tasks, body } = startStream(createTask());
    const seen = read(body);
    await advance(0);
    expect(parse(seen.text)).toEqual([1000, status("queued")]);
    tasks.put(RUNNING);
    await advance(1_000);
    tasks.put(withImages(1));
    await advance(1_000);
    tasks.put(withImages(3));
    await advance(1_000);
    tasks.put(COMPLETED);
    await advance(0);
    expect(parse(seen.text)).toEqual([
      1000,
      status("queued"),
      status("in_progress"),
      image(0),
      image(1),
      image(2),
      status("completed", { result: { data: [] } }),
    ]);
    expect(seen.isDone).toBe(true);
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("begin with the current state, also for a client that comes again", async () => {
    const { body } = startStream(withImages(2));
    const seen = read(body);
    await advance(0);
    expect(parse(seen.text)).toEqual([1000, status("in_progress"), image(0), image(1)]);
    // Not twice.
    expect(seen.text).not.toContain('"images"');
    await body.return?.();
  });

  it.each<[string, Partial<Task>, object]>([
    ["completed", COMPLETED, { result: { data: [] } }],
    ["failed", { status: "failed", error: '{"code":\n"x"}' }, { error: { code: "x" } }],
    ["cancelled", { status: "cancelled" }, {}],
  ])("of a task that is %s are one event", async (name, members, more) => {
    const seen = read(createTaskEvents(toEndedTask(createTask(members)), OPTIONS));
    await advance(0);
    expect(parse(seen.text)).toEqual([1000, status(name, more)]);
    expect(seen.isDone).toBe(true);
  });

  it("have a comment after each fifteen seconds without an event", async () => {
    const { body, tasks } = startStream(createTask());
    const seen = read(body);
    await advance(31_000);
    expect(parse(seen.text)).toEqual([1000, status("queued"), ":", ":"]);
    tasks.put(RUNNING);
    await advance(14_000);
    expect(parse(seen.text)).toHaveLength(5);
    await advance(1_000);
    expect(parse(seen.text).slice(4)).toEqual([status("in_progress"), ":"]);
    await body.return?.();
  });

  it("end after ten minutes with a hint to come again", async () => {
    const { body, tasks } = startStream(createTask());
    const seen = read(body);
    await advance(599_000);
    expect(seen.isDone).toBe(false);
    await advance(1_000);
    expect(seen.isDone).toBe(true);
    expect(parse(seen.text).at(-1)).toEqual(["reconnect", expect.objectContaining({ status: "queued" })]);
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("end at once with the current state when the gateway closes", async () => {
    const { body, watch, tasks } = startStream(RUNNING);
    const seen = read(body);
    await advance(100);
    watch.close();
    await advance(0);
    expect(seen.isDone).toBe(true);
    expect(parse(seen.text)).toEqual([
      1000,
      status("in_progress"),
      ["reconnect", expect.objectContaining({ status: "in_progress" })],
    ]);
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("end at once when the client leaves during the silence", async () => {
    const { body, tasks } = startStream(createTask());
    const seen = read(body);
    await advance(100);
    await body.return?.();
    await advance(0);
    expect(seen).toMatchObject({ isDone: true });
    expect(parse(seen.text)).toEqual([1000, status("queued")]);
    expect([tasks.watches(), vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("end when the client leaves before it has read anything", async () => {
    const { body, tasks } = startStream(createTask());
    await body.return?.();
    expect(tasks.watches()).toBe(0);
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });

  it("wait for a client that reads slowly, which gets all images and the end", async () => {
    const { body, tasks } = startStream(createTask());
    const first = await body.next();
    tasks.put(RUNNING);
    for (let count = 1; count <= 15; count++) {
      tasks.put(withImages(count));
      await advance(1_000);
    }
    // Nothing was produced in the meantime, and no comment is late.
    const chunks: string[] = [Buffer.from(first.value ?? []).toString()];
    for (let index = 0; index < 16; index++) {
      const { value } = await body.next();
      chunks.push(Buffer.from(value ?? []).toString());
      await advance(20_000);
    }
    expect(parse(chunks.join(""))).toEqual([
      1000,
      status("queued"),
      status("in_progress"),
      ...Array.from({ length: 15 }, (_, index) => image(index)),
    ]);
    tasks.put(COMPLETED);
    await advance(0);
    const seen = read(body);
    await advance(0);
    expect(parse(seen.text)).toEqual([status("completed", { result: { data: [] } })]);
  });

  it("contain a result of bytes on one line, whatever its chunks", async () => {
    const result = endedSource('{"data":[\r', '\n"a",', '\n\n"ü"]', "}").body;
    const seen = read(
      createTaskEvents(toEndedTask(COMPLETED), { ...OPTIONS, openResult: async () => result }),
    );
    await advance(0);
    expect(parse(seen.text)).toEqual([1000, status("completed", { result: { data: ["a", "ü"] } })]);
  });

  it("end the result of bytes when the client leaves while it is sent", async () => {
    const source = createScriptedSource('{"data":');
    const returned = vi.fn<() => void>();
    const result: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]() {
        const chunks = source.body[Symbol.asyncIterator]();
        return {
          next: () => chunks.next(),
          async return() {
            returned();
            return { done: true, value: undefined };
          },
        };
      },
    };
    const body = createTaskEvents(toEndedTask(COMPLETED), { ...OPTIONS, openResult: async () => result });
    await body.next();
    await body.next();
    const pending = body.next();
    await body.return?.();
    expect(returned).toHaveBeenCalledTimes(1);
    source.end();
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  it("do not open a result for a client that left, or close it", async () => {
    const returned = vi.fn<() => void>();
    const opened = Promise.withResolvers<AsyncIterable<Uint8Array>>();
    const body = createTaskEvents(toEndedTask(COMPLETED), { ...OPTIONS, openResult: () => opened.promise });
    const pending = body.next();
    await body.return?.();
    opened.resolve({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        async return() {
          returned();
          return { done: true, value: undefined };
        },
      }),
    });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(returned).toHaveBeenCalledTimes(1);
  });

  it("fail with a result of bytes that breaks off", async () => {
    const source = createScriptedSource('{"data":');
    const seen = read(
      createTaskEvents(toEndedTask(COMPLETED), { ...OPTIONS, openResult: async () => source.body }),
    );
    await advance(0);
    source.fail(new Error("broken"));
    await advance(0);
    expect(seen).toMatchObject({ isDone: true, error: new Error("broken") });
    expect(parse(seen.text)).toEqual([1000]);
  });

  it("have an error if the result cannot be opened", async () => {
    const seen = read(
      createTaskEvents(toEndedTask(COMPLETED), {
        ...OPTIONS,
        openResult: () => Promise.reject(new Error("gone")),
      }),
    );
    await advance(0);
    expect(parse(seen.text)).toEqual([
      1000,
      ["error", { error: expect.objectContaining({ code: "gateway_unavailable" }) }],
    ]);
    expect(seen.isDone).toBe(true);
  });
});
