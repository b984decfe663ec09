import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { measureHeap } from "../../testing/measure-heap.js";
import { MemoryResults } from "../../testing/memory-results.js";
import { ASYNC, BILLING, openTaskGateway as open } from "../../testing/task-gateway.js";
import { ARK_RESPONSE, type Provider } from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { ResultStore } from "../results/store.js";
import type { TaskLedger, TaskStore } from "../task-store/task-store.js";

const SEEDREAM = "seedream-4-5-251128";
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
const LONG_IMAGE = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(400_000, 7)]).toString("base64")}`;
const LONG = { model: SEEDREAM, prompt: "a cat", image: LONG_IMAGE };

/** A ledger whose task store calls other methods. */
function withTasks(ledger: TaskLedger, changed: Partial<TaskStore>): TaskLedger {
  return { ...ledger, tasks: { ...ledger.tasks, ...changed } };
}

function fail(): never {
  throw new Error("The store is away.");
}

/** Calls the functions that the gateway repeats, as its timer would. */
function createManualRepeat() {
  const repeated = new Set<() => void>();
  return {
    repeat: (work: () => void) => {
      repeated.add(work);
      return () => void repeated.delete(work);
    },
    tick: () => {
      for (const work of repeated) work();
    },
  };
}

/** A store of results in memory that other methods replace. */
function resultsWith(changed: Partial<ResultStore>): MemoryResults & ResultStore {
  return Object.assign(new MemoryResults(), changed);
}

describe("a task store that fails", () => {
  it("after it has marked a task as sent: the task fails, and nothing is charged", async () => {
    const ledger = createMemoryLedger();
    const markSent: TaskStore["markSent"] = async (id) => {
      await ledger.tasks.markSent(id);
      fail();
    };
    const { post, calls } = open(undefined, { ledger: withTasks(ledger, { markSent }) });
    const { body } = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    await vi.waitFor(async () => {
      const task = await ledger.tasks.find("me", String(body["id"]));
      expect(task?.status).toBe("failed");
      expect(JSON.parse(task?.error ?? "")).toMatchObject({ code: "gateway_unavailable" });
    });
    expect(calls).toHaveLength(0);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("before it has marked a task as sent: the task runs later, after a pause, by a timer of its own", async () => {
    const ledger = createMemoryLedger();
    const times: number[] = [];
    const markSent: TaskStore["markSent"] = async (id) => {
      if (times.push(performance.now()) === 1) fail();
      return ledger.tasks.markSent(id);
    };
    const { repeat } = createManualRepeat();
    const { post, calls } = open(undefined, { ledger: withTasks(ledger, { markSent }) }, { repeat });
    const { body } = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    await vi.waitFor(
      async () => {
        const task = await ledger.tasks.find("me", String(body["id"]));
        expect(task?.status).toBe("completed");
      },
      { timeout: 20_000 },
    );
    expect(calls).toHaveLength(1);
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_900);
  });

  it("and puts a task back late: the task that is sent meanwhile completes, although it was taken twice", async () => {
    const ledger = createMemoryLedger();
    const takenTwice = Promise.withResolvers<void>();
    const provided = Promise.withResolvers<Response>();
    let takenCount = 0;
    let markedCount = 0;
    const take: TaskStore["take"] = async (options) => {
      const taken = await ledger.tasks.take(options);
      takenCount += taken.length;
      if (takenCount === 2) takenTwice.resolve();
      return taken;
    };
    const markSent: TaskStore["markSent"] = async (id) => {
      if (markedCount++ > 0) fail();
      await ledger.tasks.putBack([id]);
      await takenTwice.promise;
      return ledger.tasks.markSent(id);
    };
    const { post, calls } = open(() => provided.promise, {
      ledger: withTasks(ledger, { take, markSent }),
    });
    const submitted = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    for (let at = 0; at < 20; at++) await turn();
    provided.resolve(Response.json(ARK_RESPONSE));
    await vi.waitFor(async () => {
      const task = await ledger.tasks.find("me", String(submitted.body["id"]));
      expect(task?.status).toBe("completed");
    });
    expect(calls).toHaveLength(1);
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
  });

  it("after it has stored a submission: with an idempotency key, a repeat gets the task", async () => {
    const ledger = createMemoryLedger();
    let count = 0;
    const submit: TaskStore["submit"] = async (...args) => {
      const submitted = await ledger.tasks.submit(...args);
      return count++ === 0 ? fail() : submitted;
    };
    const { post, calls } = open(undefined, { ledger: withTasks(ledger, { submit }) });
    const headers = { ...ASYNC, "idempotency-key": "one" };
    const first = await post({ model: SEEDREAM, prompt: "a cat" }, headers);
    expect(first.status).toBe(503);
    const second = await post({ model: SEEDREAM, prompt: "a cat" }, headers);
    expect(second.status).toBe(202);
    await vi.waitFor(async () => {
      const task = await ledger.tasks.find("me", String(second.body["id"]));
      expect(task?.status).toBe("completed");
    });
    expect(calls).toHaveLength(1);
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
  });

  it("after it has stored a submission without a key: the task is cancelled, and its request deleted", async () => {
    const ledger = createMemoryLedger();
    const submit: TaskStore["submit"] = async (...args) => {
      await ledger.tasks.submit(...args);
      fail();
    };
    const store = new MemoryResults();
    const remove = async (id: string): Promise<void> => void store.images.delete(id);
    const { post, calls } = open(undefined, {
      ledger: withTasks(ledger, { submit }),
      tasks: { concurrency: 0 },
      results: { store: Object.assign(store, { remove }) },
    });
    expect((await post(LONG, ASYNC)).status).toBe(503);
    await vi.waitFor(() => expect(store.images.size).toBe(0));
    expect(await ledger.tasks.list("me", { limit: 10 })).toMatchObject([{ status: "cancelled" }]);
    expect(calls).toHaveLength(0);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("when a task ends: the log has its record, and not its images", async () => {
    const ledger = createMemoryLedger();
    let isDown = true;
    const end: TaskStore["end"] = async (ended) => (isDown ? fail() : ledger.tasks.end(ended));
    const { repeat, tick } = createManualRepeat();
    const { post, logs } = open(undefined, { ledger: withTasks(ledger, { end }) }, { repeat });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { body } = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    for (let at = 0; at < 100; at++) await vi.advanceTimersByTimeAsync(100);
    vi.useRealTimers();
    await vi.waitFor(() => expect(logs).toHaveLength(1));
    expect(logs[0]?.fields).toMatchObject({ task: body["id"], record: { charge: "0.3" } });
    expect(JSON.stringify(logs)).not.toContain("ark.test");
    isDown = false;
    tick();
    await vi.waitFor(async () => {
      const task = await ledger.tasks.find("me", String(body["id"]));
      expect(task?.status).toBe("completed");
    });
  });

  it("when a task ends, until the gateway closes: the known end counts, not that of a lost task", async () => {
    const ledger = createMemoryLedger();
    let isDown = true;
    const end: TaskStore["end"] = async (ended) => (isDown ? fail() : ledger.tasks.end(ended));
    const never = Promise.withResolvers<Response>();
    let count = 0;
    const provider: Provider = () => (count++ === 0 ? Response.json(ARK_RESPONSE) : never.promise);
    const { gateway, post, logs } = open(provider, {
      ledger: withTasks(ledger, { end }),
      billing: { ...BILLING, onLost: "charge" },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { body } = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    for (let at = 0; at < 100; at++) await vi.advanceTimersByTimeAsync(100);
    vi.useRealTimers();
    expect(logs).toHaveLength(1);
    // A second task keeps the gateway from closing before its deadline.
    await post({ model: SEEDREAM, prompt: "a dog" }, ASYNC);
    await vi.waitFor(() => expect(count).toBe(2));
    isDown = false;
    await gateway.close({ deadlineSeconds: 0.05 });
    const task = await ledger.tasks.find("me", String(body["id"]));
    expect(task?.status).toBe("completed");
  });
});

describe("a store of results", () => {
  it("that hangs when a request is read does not keep the gateway from closing", async () => {
    const store = resultsWith({ open: () => new Promise<never>(() => undefined) });
    const { gateway, post, ledger } = open(undefined, { results: { store, timeoutSeconds: 1 } });
    const { body } = await post(LONG, ASYNC);
    await gateway.close();
    expect(await ledger.tasks.find("me", String(body["id"]))).toMatchObject({ status: "queued" });
  });

  it("that hangs when a request is deleted does not hold up the sweep", async () => {
    let now = Date.now();
    const ledger = createMemoryLedger({ now: () => now });
    const store = resultsWith({ remove: () => new Promise<never>(() => undefined) });
    const { repeat, tick } = createManualRepeat();
    const { post } = open(
      undefined,
      { ledger, results: { store, timeoutSeconds: 1 }, tasks: { concurrency: 0, expiresAfterSeconds: 60 } },
      { repeat, now: () => now },
    );
    for (let round = 0; round < 2; round++) {
      const { body } = await post(LONG, ASYNC);
      now += 61_000;
      tick();
      await vi.waitFor(async () => {
        const task = await ledger.tasks.find("me", String(body["id"]));
        expect(task?.status).toBe("failed");
      });
    }
  });

  it("that breaks off while a request is read: the task runs later", async () => {
    const store = new MemoryResults();
    const read = store.open.bind(store);
    let count = 0;
    store.open = async (id, range) => {
      const image = await read(id, range);
      return image && count++ === 0 ? { ...image, body: breakOff(image.body) } : image;
    };
    const { post, ledger, calls } = open(provideBase64, { results: { store } });
    const { body } = await post(LONG, ASYNC);
    await vi.waitFor(
      async () => {
        const task = await ledger.tasks.find("me", String(body["id"]));
        expect(task?.endedAt).toBeDefined();
      },
      { timeout: 20_000 },
    );
    expect(count).toBe(2);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.body["image"]).toBe(LONG_IMAGE);
  });

  it("that hangs while a long result is stored: the task fails, and its images are charged", async () => {
    const store = new MemoryResults();
    const { post, ledger } = open(provideBase64, {
      results: { store: Object.assign(store, { put: hangOnJson }), timeoutSeconds: 1 },
    });
    const { body } = await post({ model: SEEDREAM, prompt: "a cat", response_format: "b64_json" }, ASYNC);
    await vi.waitFor(
      async () => {
        const task = await ledger.tasks.find("me", String(body["id"]));
        expect(JSON.parse(task?.error ?? "{}")).toMatchObject({ code: "task_result_lost" });
      },
      { timeout: 20_000 },
    );
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
  });

  it("may wait for a provider that is slower than the store may be", async () => {
    const store = new MemoryResults();
    const { post, ledger } = open(provideSlowly, { results: { store, timeoutSeconds: 1 } });
    const { body } = await post({ model: SEEDREAM, prompt: "a cat", response_format: "b64_json" }, ASYNC);
    await vi.waitFor(
      async () => {
        const task = await ledger.tasks.find("me", String(body["id"]));
        expect(task?.status).toBe("completed");
      },
      { timeout: 20_000 },
    );
  });
});

it("a request that cannot fit into the bytes in flight fails, and the tasks behind it run", async () => {
  const ledger = createMemoryLedger();
  const results = { store: new MemoryResults() };
  const first = open(provideBase64, { ledger, results, tasks: { concurrency: 0 } });
  const long = await first.post(LONG, ASYNC);
  const short = await first.post({ model: SEEDREAM, prompt: "a dog" }, ASYNC);
  const events: unknown[] = [];
  const second = open(provideBase64, {
    ledger,
    results,
    maxBytesInFlight: 300_000,
    onError: (event) => events.push(event),
  });
  await second.gateway.runTasks();
  const find = async (id: unknown) => ledger.tasks.find("me", String(id));
  const failed = await find(long.body["id"]);
  expect(JSON.parse(failed?.error ?? "")).toMatchObject({ code: "request_too_large" });
  expect(await find(short.body["id"])).toMatchObject({ status: "completed" });
  expect(events).toMatchObject([
    { id: failed?.requestId, caller: "me", model: SEEDREAM, error: { code: "request_too_large" } },
  ]);
});

it("a task with three images of 30 MiB as base64 takes bounded memory", async () => {
  let stored = 0;
  let peak = 0;
  const put: ResultStore["put"] = async ({ body }) => {
    let count = 0;
    for await (const chunk of body) {
      stored += chunk.length;
      if (count++ % 200 === 0) peak = Math.max(peak, measureHeap());
    }
  };
  const before = measureHeap();
  const { post, ledger } = open(() => new Response(createLongImages(3, 30 * MIB), JSON_TYPE), {
    results: { store: resultsWith({ put }) },
  });
  const fields = {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 3 },
    response_format: "b64_json",
  };
  const { body } = await post({ model: SEEDREAM, prompt: "three cats", ...fields }, ASYNC);
  await vi.waitFor(
    async () => {
      const task = await ledger.tasks.find("me", String(body["id"]));
      expect(task?.status).toBe("completed");
    },
    { timeout: 60_000 },
  );
  // Each image as bytes, and the response as base64.
  expect(stored).toBeGreaterThan(3 * 30 * MIB * (1 + 4 / 3));
  expect(peak - before).toBeLessThan(16 * MIB);
});

it("a gateway that closes at any moment leaves a hold or a charge for each accepted task, and nothing else", async () => {
  for (let at = 0; at < 40; at++) {
    const ledger = createMemoryLedger();
    const provider: Provider = async () => {
      await pause(at % 7);
      return Response.json(ARK_RESPONSE);
    };
    const { gateway, post } = open(provider, { ledger });
    const posts = Array.from({ length: 5 }, () => post({ model: SEEDREAM, prompt: "a cat" }, ASYNC));
    for (let step = 0; step < at; step++) await (step % 2 === 0 ? turn() : Promise.resolve());
    await gateway.close();
    const accepted = (await Promise.all(posts)).filter(({ status }) => status === 202).length;
    const { settled, held } = await ledger.balance("me");
    expect(Math.round((Number(settled) + Number(held)) * 10)).toBe(accepted * 3);
    const tasks = await ledger.tasks.list("me", { limit: 10 });
    expect(tasks.every(({ status }) => status === "completed" || status === "queued")).toBe(true);
  }
});

const MIB = 1024 * 1024;
const JSON_TYPE = { headers: { "content-type": "application/json" } };

function longResponse(): string {
  const b64_json = Buffer.concat([PNG, Buffer.alloc(900_000, 3)]).toString("base64");
  return JSON.stringify({ ...ARK_RESPONSE, data: [{ b64_json }] });
}

const provideBase64: Provider = () => new Response(longResponse(), JSON_TYPE);

const provideSlowly: Provider = () => new Response(slowly(longResponse(), 1_500), JSON_TYPE);

/** Stores images, and never the second chunk of another object. */
const hangOnJson: ResultStore["put"] = async ({ contentType, body }) => {
  if (contentType !== "application/json") return;
  for await (const chunk of body) if (chunk.length > 0) await new Promise<never>(() => undefined);
};

/** The body of a response with images as base64, made while it is read. */
function createLongImages(count: number, bytes: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const piece = encoder.encode("A".repeat(64 * 1024));
  const pieces = (bytes * 4) / 3 / piece.length;
  async function* write(): AsyncGenerator<Uint8Array, void> {
    yield encoder.encode('{"model":"m","created":1,"data":[');
    for (let image = 0; image < count; image++) {
      yield encoder.encode(`${image === 0 ? "" : ","}{"b64_json":"${PNG.subarray(0, 9).toString("base64")}`);
      for (let at = 0; at < pieces; at++) yield piece.slice();
      yield encoder.encode('"}');
    }
    yield encoder.encode(`],"usage":{"generated_images":${count}}}`);
  }
  return ReadableStream.from(write());
}

/** Sends the second half after a pause. */
function slowly(body: string, ms: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(body);
  const half = Math.floor(bytes.length / 2);
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(bytes.subarray(0, half));
      await new Promise((resolve) => {
        setTimeout(resolve, ms);
      });
      controller.enqueue(bytes.subarray(half));
      controller.close();
    },
  });
}

async function* breakOff(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let count = 0;
  for await (const chunk of body) {
    if (count++ === 3) fail();
    yield chunk;
  }
}
