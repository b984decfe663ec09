import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../errors.js";
import { MemoryResults } from "../../testing/memory-results.js";
import { ASYNC, BILLING, openTaskGateway as open } from "../../testing/task-gateway.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type Provider,
} from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import { createPrivateObjects } from "../results/private-objects.js";
import { openResult } from "./task-result.js";

const SEEDREAM = "seedream-4-5-251128";
const SINGLE = "image-max";

describe("a request with Prefer: respond-async", () => {
  it("gets a 202 at once, and its task ends with the response of the synchronous request", async () => {
    const gate = Promise.withResolvers<void>();
    const provider: Provider = async () => {
      await gate.promise;
      return Response.json(ARK_RESPONSE);
    };
    const { post, ended, ledger, records } = open(provider);
    const submitted = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    expect(submitted.status).toBe(202);
    expect(submitted.headers.get("preference-applied")).toBe("respond-async");
    expect(submitted.headers.get("location")).toBe(`/v1/images/tasks/${String(submitted.body["id"])}`);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.3" });
    gate.resolve();

    const task = await ended(submitted);
    expect(task).toMatchObject({ status: "completed", requestId: submitted.headers.get("x-request-id") });
    const direct = await post({ model: SEEDREAM, prompt: "a cat" });
    expect(JSON.parse(task.result ?? "")).toEqual(direct.body);
    await vi.waitFor(() => expect(records).toHaveLength(2));
    expect(records[0]).toMatchObject({
      id: task.requestId,
      task: task.id,
      charge: "0.3",
      images: 1,
      state: "settled",
    });
    expect(records[1]).not.toHaveProperty("task");
    expect(await ledger.balance("me")).toEqual({ settled: "0.6", held: "0" });
  });

  it("runs as usual if the ledger keeps no tasks", async () => {
    const { tasks: _tasks, ...ledger } = createMemoryLedger();
    const { post } = open(undefined, { ledger });
    const response = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    expect(response.status).toBe(200);
    expect(response.headers.get("preference-applied")).toBeNull();
  });

  it.each([
    ["a stream", { stream: true }, "stream"],
    ["base64 without a store", { response_format: "b64_json" }, "response_format"],
  ])("cannot be %s", async (_, fields, param) => {
    const { post, calls } = open();
    const { status, body } = await post({ model: SEEDREAM, prompt: "a cat", ...fields }, ASYNC);
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { param } } });
    expect(calls).toHaveLength(0);
  });

  it("is refused by the budget, by rates and by beforeSend, and leaves nothing behind", async () => {
    const beforeSend = vi.fn<() => void>(() => {
      throw new GatewayError("request_refused", "No cats.");
    });
    const refused = open(undefined, { beforeSend });
    expect((await refused.post({ model: SEEDREAM, prompt: "a cat" }, ASYNC)).status).toBe(403);
    expect(await refused.ledger.tasks.list("me", { limit: 10 })).toEqual([]);

    const poor = open(undefined, { callers: [{ id: "me", key: CALLER_KEY, budget: "0.2" }] });
    const response = await poor.post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    expect(response.body).toMatchObject({ error: { code: "insufficient_quota" } });
    expect(await poor.ledger.balance("me")).toEqual({ settled: "0", held: "0" });

    const limited = open(undefined, { limits: { requestsPerMinute: 1 } });
    const statuses = [];
    for (let at = 0; at < 2; at++) {
      statuses.push((await limited.post({ model: SEEDREAM, prompt: "a cat" }, ASYNC)).status);
    }
    expect(statuses).toEqual([202, 429]);
  });

  it("is refused with a 429 if the caller's open tasks have used up its share, while other callers go on", async () => {
    const { gateway, post, ledger } = open(undefined, {
      callers: [
        { id: "me", key: CALLER_KEY },
        { id: "you", key: "sk-you-0123456789" },
      ],
      tasks: { concurrency: 0, maxOpen: 6 },
    });
    const you = { ...ASYNC, authorization: "Bearer sk-you-0123456789" };
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++)
      statuses.push((await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC)).status);
    expect(statuses).toEqual([202, 202, 202, 429, 429]);
    const refused = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    expect(refused.body).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    expect(refused.headers.get("retry-after")).toBe("30");
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.9" });
    expect((await post({ model: SEEDREAM, prompt: "a cat" }, you)).status).toBe(202);

    await gateway.runTasks();
    expect((await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC)).status).toBe(202);
  });

  it("is refused with a 429 if the requests of its caller's open tasks are too long together", async () => {
    const { post } = open(undefined, { tasks: { concurrency: 0, maxOpenBytes: 1024 * 1024 } });
    const prompt = "a cat ".repeat(20_000);
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++) statuses.push((await post({ model: SEEDREAM, prompt }, ASYNC)).status);
    expect(statuses).toEqual([202, 202, 202, 202, 429]);
    expect((await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC)).status).toBe(202);
  });

  it("asks beforeSend once, at submission", async () => {
    const beforeSend = vi.fn<() => void>();
    const { post, ended } = open(undefined, { beforeSend });
    await ended(await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC));
    expect(beforeSend).toHaveBeenCalledTimes(1);
  });

  it("with the same Idempotency-Key returns the same task, and another request is a conflict", async () => {
    const { post, ended, calls } = open();
    const headers = { ...ASYNC, "idempotency-key": "one" };
    const first = await post({ model: SEEDREAM, prompt: "a cat" }, headers);
    const second = await post({ model: SEEDREAM, prompt: "a cat" }, headers);
    expect(second.status).toBe(202);
    expect(second.body["id"]).toBe(first.body["id"]);
    expect((await post({ model: SEEDREAM, prompt: "a dog" }, headers)).status).toBe(422);
    await ended(first);
    expect(calls).toHaveLength(1);
  });
});

describe("an Idempotency-Key", () => {
  const KEY = { "idempotency-key": "one" };
  const CAT = { model: SEEDREAM, prompt: "a cat" };

  it("of a request that was served returns its response, also with Prefer", async () => {
    const { post, calls } = open();
    const direct = await post(CAT, KEY);
    const repeated = await post(CAT, { ...ASYNC, ...KEY });
    expect(repeated.status).toBe(200);
    expect(repeated.body).toEqual(direct.body);
    expect(repeated.headers.get("preference-applied")).toBeNull();
    expect(calls).toHaveLength(1);
  });

  it("of a task is a conflict without Prefer: a client that waits for images must not get a task", async () => {
    const { post, ended, calls } = open();
    await ended(await post(CAT, { ...ASYNC, ...KEY }));
    const { status, body, headers } = await post(CAT, KEY);
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { error: { code: "idempotency_conflict" } },
    });
    expect(headers.get("x-should-retry")).toBe("false");
    expect(calls).toHaveLength(1);
  });

  it("of a task finds it again if the admission store has forgotten it", async () => {
    const ledger = createMemoryLedger();
    const first = open(undefined, { ledger });
    const task = await first.post(CAT, { ...ASYNC, ...KEY });
    const second = open(undefined, { ledger });
    const repeated = await second.post(CAT, { ...ASYNC, ...KEY });
    expect(repeated.body["id"]).toBe(task.body["id"]);
    expect((await second.post({ ...CAT, prompt: "a dog" }, { ...ASYNC, ...KEY })).status).toBe(422);
    await vi.waitFor(async () => expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" }));
  });

  it("of a task returns the headers of the submission", async () => {
    const { post } = open();
    const first = await post(CAT, { ...ASYNC, ...KEY });
    const second = await post(CAT, { ...ASYNC, ...KEY });
    for (const name of ["location", "retry-after", "preference-applied"]) {
      expect(second.headers.get(name)).toBe(first.headers.get(name));
    }
  });
});

describe("a preference for base64, without a store of results", () => {
  it.each([
    ["of the client's profile", { callers: [{ id: "me", key: CALLER_KEY, client: "n8n" }] }],
    ["of the caller", { callers: [{ id: "me", key: CALLER_KEY, responseFormat: "b64_json" }] }],
    ["of the gateway", { responseFormat: "b64_json" }],
  ] as const)("%s gives way to links in a task", async (_, options) => {
    const { post, ended, calls } = open(undefined, options);
    const task = await ended(await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC));
    expect(JSON.parse(task.result ?? "").data).toMatchObject([{ url: "https://ark.test/1.png" }]);
    expect(calls[0]?.body).toMatchObject({ response_format: "url" });
  });

  it("stays with a store", async () => {
    const b64_json = PNG.toString("base64");
    const { post, ended } = open(() => Response.json({ ...ARK_RESPONSE, data: [{ b64_json }] }), {
      results: { store: new MemoryResults() },
      responseFormat: "b64_json",
    });
    const task = await ended(await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC));
    expect(JSON.parse(task.result ?? "").data).toMatchObject([{ b64_json }]);
  });
});

describe("gateway.runTasks", () => {
  it.each([Number.NaN, -1])("refuses %s seconds", async (seconds) => {
    await expect(open().gateway.runTasks({ seconds })).rejects.toThrow(RangeError);
  });

  it("twice at once runs no more tasks at the same time than once, and each task once", async () => {
    let running = 0;
    let most = 0;
    const provider: Provider = async () => {
      most = Math.max(most, ++running);
      await pause(5);
      running--;
      return Response.json(ARK_RESPONSE);
    };
    const { post, gateway, calls } = open(provider, { tasks: { concurrency: 0 } });
    for (let at = 0; at < 40; at++) await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    const [one, other] = await Promise.all([gateway.runTasks(), gateway.runTasks()]);
    expect(one.tasks + other.tasks).toBe(40);
    expect(calls).toHaveLength(40);
    expect(most).toBeLessThanOrEqual(16);
  });
});

const refuseContent: Provider = () =>
  Response.json({ error: { code: "InvalidParameter", message: "No." } }, { status: 400 });

describe("a task", () => {
  it("begins as soon as the one before it has ended, if one runs at a time", async () => {
    const { post, ended } = open(undefined, { tasks: { concurrency: 1 } });
    const submitted = await Promise.all(
      [1, 2, 3].map((number) => post({ model: SEEDREAM, prompt: `cat ${number}` }, ASYNC)),
    );
    // The gateway looks for tasks every ten seconds too, which is longer than this waits.
    const tasks = await Promise.all(submitted.map(ended));
    expect(tasks.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  });

  it("counts in the limit on concurrent requests while it runs, and waits for its turn", async () => {
    let running = 0;
    let most = 0;
    const provider: Provider = async () => {
      most = Math.max(most, ++running);
      await pause(5);
      running--;
      return Response.json(ARK_RESPONSE);
    };
    const { post, ended, records } = open(provider, { limits: { concurrent: 1 } });
    const submitted = await Promise.all(
      Array.from({ length: 3 }, () => post({ model: SEEDREAM, prompt: "a cat" }, ASYNC)),
    );
    expect(submitted.map(({ status }) => status)).toEqual([202, 202, 202]);
    for (const each of submitted) expect((await ended(each)).status).toBe("completed");
    expect(most).toBe(1);
    await vi.waitFor(() => expect(records).toHaveLength(3));
  });

  it("fails with the error of the provider, and costs what it reported", async () => {
    const { post, ended, ledger } = open(refuseContent);
    const task = await ended(await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC));
    expect(task.status).toBe("failed");
    expect(JSON.parse(task.error ?? "")).toMatchObject({ code: "InvalidParameter", message: "No." });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("of several upstream calls has the images of all of them", async () => {
    const { post, ended, records, calls } = open();
    const task = await ended(await post({ model: SINGLE, prompt: "a cat", n: 3 }, ASYNC));
    expect(calls).toHaveLength(3);
    expect(JSON.parse(task.result ?? "").data).toHaveLength(3);
    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(records[0]?.charge).toBe("0.9");
  });

  it("of several upstream calls shows the images that have arrived", async () => {
    const gate = Promise.withResolvers<void>();
    let count = 0;
    const provider: Provider = async () => {
      if (count++ > 0) await gate.promise;
      return Response.json(DASHSCOPE_RESPONSE);
    };
    const { post, ended, ledger } = open(provider);
    const submitted = await post({ model: SINGLE, prompt: "a cat", n: 2 }, ASYNC);
    await vi.waitFor(async () => {
      const task = await ledger.tasks.find("me", String(submitted.body["id"]));
      expect(task?.images.map((image) => JSON.parse(image))).toMatchObject([
        { url: "https://dashscope.test/1.png" },
      ]);
    });
    gate.resolve();
    expect((await ended(submitted)).images).toEqual([]);
  });

  it("keeps the price and the group of its submission", async () => {
    const gate = Promise.withResolvers<void>();
    let price = "0.3";
    const provider: Provider = async () => {
      await gate.promise;
      return Response.json(ARK_RESPONSE);
    };
    const { post, ended, records, gateway } = open(provider, {
      limits: { concurrent: 1 },
      billing: {
        model_details: () => ({ "*": { pricing_mode: "per-request", model_price: price } }),
      },
    });
    await post({ model: SEEDREAM, prompt: "one" }, ASYNC);
    const second = await post({ model: SEEDREAM, prompt: "two" }, ASYNC);
    price = "5";
    await gateway.reload();
    gate.resolve();
    await ended(second);
    await vi.waitFor(() => expect(records).toHaveLength(2));
    expect(records.map(({ charge }) => charge)).toEqual(["0.3", "0.3"]);
  });

  it("with long references keeps them in the store of results until it ends", async () => {
    const store = new MemoryResults();
    const removed: string[] = [];
    const gate = Promise.withResolvers<void>();
    const provider: Provider = async () => {
      await gate.promise;
      return Response.json({ ...ARK_RESPONSE, data: [{ b64_json: PNG.toString("base64") }] });
    };
    const remove = async (id: string): Promise<void> => {
      removed.push(id);
      store.images.delete(id);
    };
    const { post, ended, calls } = open(provider, {
      results: { store: Object.assign(store, { remove }) },
    });
    const image = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(400_000, 7)]).toString("base64")}`;
    const submitted = await post({ model: SEEDREAM, prompt: "a cat", image }, ASYNC);
    expect(submitted.status).toBe(202);
    expect([...store.images.values()].map(({ contentType }) => contentType)).toEqual(["application/json"]);
    gate.resolve();
    const task = await ended(submitted);
    expect(JSON.parse(task.result ?? "").data[0].url).toContain("/v1/images/files/");
    expect(calls[0]?.body["image"]).toBe(image);
    await vi.waitFor(() => expect(removed).toHaveLength(1));
  });

  it("whose long references are lost fails, and the next task of its caller has its place", async () => {
    const store = new MemoryResults();
    const { gateway, post, ended } = open(undefined, {
      results: {
        store: Object.assign(store, { remove: async (id: string) => void store.images.delete(id) }),
      },
      limits: { concurrent: 1 },
      tasks: { concurrency: 0 },
    });
    const image = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(400_000, 7)]).toString("base64")}`;
    const lost = await post({ model: SEEDREAM, prompt: "a cat", image }, ASYNC);
    store.images.clear();
    await gateway.runTasks();
    expect(await ended(lost)).toMatchObject({
      status: "failed",
      error: expect.stringContaining("task_input_lost"),
    });

    const next = await post({ model: SEEDREAM, prompt: "a cat" }, ASYNC);
    await gateway.runTasks();
    expect(await ended(next)).toMatchObject({ status: "completed" });
    expect((await post({ model: SEEDREAM, prompt: "a cat" })).status).toBe(200);
  });

  it("that is refused leaves no long references in the store of results", async () => {
    const store = new MemoryResults();
    const { post } = open(undefined, {
      results: {
        store: Object.assign(store, { remove: async (id: string) => void store.images.delete(id) }),
      },
      tasks: { concurrency: 0, maxOpen: 2 },
    });
    const image = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(400_000, 7)]).toString("base64")}`;
    const send = async (headers = {}) =>
      (await post({ model: SEEDREAM, prompt: "a cat", image }, { ...ASYNC, ...headers })).status;
    expect([await send(), await send(), await send({ "idempotency-key": "k" })]).toEqual([202, 429, 429]);
    await vi.waitFor(() => expect(store.images.size).toBe(1));
    // The key of a refused submission can be sent again.
    expect(await send({ "idempotency-key": "k" })).toBe(429);
  });

  it("with long references needs a store of results", async () => {
    const { post } = open();
    const image = `data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(400_000)]).toString("base64")}`;
    expect((await post({ model: SEEDREAM, prompt: "a cat", image }, ASYNC)).status).toBe(413);
  });

  it("with a long result keeps it in the store of results", async () => {
    const store = new MemoryResults();
    const b64 = Buffer.concat([PNG, Buffer.alloc(600_000, 3)]).toString("base64");
    const provider: Provider = () => Response.json({ ...ARK_RESPONSE, data: [{ b64_json: b64 }] });
    const { post, ended } = open(provider, { results: { store } });
    const task = await ended(
      await post({ model: SEEDREAM, prompt: "a cat", response_format: "b64_json" }, ASYNC),
    );
    expect(task.status).toBe("completed");
    const opened = await openResult(task.result ?? "", createPrivateObjects(store, 1_000));
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened as AsyncIterable<Uint8Array>) chunks.push(chunk);
    expect(JSON.parse(Buffer.concat(chunks).toString()).data[0].b64_json).toBe(b64);
  });
});

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);

describe("a gateway that closes", () => {
  it("puts tasks back that were not sent, and waits for those that were", async () => {
    const gate = Promise.withResolvers<void>();
    const provider: Provider = async () => {
      await gate.promise;
      return Response.json(ARK_RESPONSE);
    };
    const ledger = createMemoryLedger();
    const { post, gateway, calls } = open(provider, { ledger, tasks: { concurrency: 1 } });
    const [first, second] = [
      await post({ model: SEEDREAM, prompt: "one" }, ASYNC),
      await post({ model: SEEDREAM, prompt: "two" }, ASYNC),
    ];
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    const closing = gateway.close();
    gate.resolve();
    await closing;
    const states = [first, second].map(
      async ({ body }) => (await ledger.tasks.find("me", String(body["id"])))?.status,
    );
    expect(await Promise.all(states)).toEqual(["completed", "queued"]);

    const next = createTestGateway(undefined, { ledger, billing: BILLING });
    expect(await next.gateway.runTasks()).toEqual({ tasks: 1 });
    expect((await ledger.tasks.find("me", String(second.body["id"])))?.status).toBe("completed");
    await next.gateway.close();
  });

  it("ends tasks whose time is over, and their outcome is unknown", async () => {
    const ledger = createMemoryLedger();
    const { post, gateway, calls, unresolved } = open(() => new Promise<never>(() => undefined), {
      ledger,
      billing: { ...BILLING, onLost: "charge" },
    });
    const { body } = await post({ model: SEEDREAM, prompt: "one" }, ASYNC);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    await gateway.close({ deadlineSeconds: 0.05 });
    const task = await ledger.tasks.find("me", String(body["id"]));
    expect(task?.status).toBe("failed");
    expect(JSON.parse(task?.error ?? "")).toMatchObject({ code: "outcome_unknown" });
    expect(unresolved).toMatchObject([{ task: task?.id, charge: "0.3" }]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
  });
});
