import { buffer } from "node:stream/consumers";
import {
  assert,
  asyncProperty,
  constantFrom,
  oneof,
  string,
  tuple,
  webPath,
  webQueryParameters,
} from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createGateway } from "../../gateway.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { createTask } from "../../testing/create-task.js";
import {
  CALLER_KEY,
  createTestGateway,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "../../testing/test-gateway.js";
import { createTaskStore, type TestTaskStore } from "../../testing/test-task-store.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { Task } from "../task-store/task-store.js";

const OTHER_KEY = "another-key-81c2";
const idOf = (number: number): string => `task_${number.toString(16).padStart(32, "0")}`;
const task = (number: number, members: Partial<Task> = {}): Task =>
  createTask({ id: idOf(number), ...members });

const COMPLETED: Partial<Task> = {
  status: "completed",
  endedAt: 1_800_000_042_000,
  result: '{"created":1,"data":[{"url":"https://x.test/1.png"}]}',
};
const FAILED: Partial<Task> = {
  status: "failed",
  endedAt: 1_800_000_042_000,
  error: '{"message":"No.","type":"upstream_error","code":"upstream_error","param":null}',
};

interface TaskGateway extends TestGateway {
  readonly tasks: TestTaskStore;
  readonly send: (path: string, init?: RequestInit) => Promise<ReadResponse>;
}

function start(tasks: readonly Task[] = [task(1)], options: Partial<GatewayOptions> = {}): TaskGateway {
  const store = createTaskStore(...tasks);
  const created = createTestGateway(undefined, {
    ledger: Object.assign(createMemoryLedger(), { tasks: store.store }),
    callers: [
      { id: "me", key: CALLER_KEY },
      { id: "other", key: OTHER_KEY },
    ],
    // No worker, which would also watch the store.
    tasks: { concurrency: 0 },
    ...options,
  });
  return {
    ...created,
    tasks: store,
    send: async (path, init) => readResponse(await created.gateway.fetch(createRequest(path, init))),
  };
}

/** A request of the caller for a path below `/v1/images/tasks`. */
function createRequest(path: string, { headers, ...init }: RequestInit = {}): Request {
  return new Request(`http://gateway.test/v1/images/tasks${path}`, {
    ...init,
    headers: { authorization: `Bearer ${CALLER_KEY}`, ...Object.fromEntries(new Headers(headers)) },
  });
}

const advance = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Runs a request on virtual time, and says after how many milliseconds the response came. */
async function timed(responding: Promise<ReadResponse>): Promise<ReadResponse & { readonly after: number }> {
  const begun = performance.now();
  const seen: { after?: number } = {};
  const read = async (): Promise<ReadResponse & { readonly after: number }> => {
    const response = await responding;
    seen.after = performance.now() - begun;
    return { ...response, after: seen.after };
  };
  const reading = read();
  while (seen.after === undefined && performance.now() - begun < 120_000) await advance(250);
  if (seen.after === undefined) throw new Error("There was no response within two minutes.");
  return reading;
}

const namesOf = (headers: Headers): string[] => [...headers.keys()];

/** A gateway whose store of results has one object. */
function startWithObject(object: string | undefined, open?: () => Promise<never>): TaskGateway {
  return start([task(1, { ...COMPLETED, result: `@${"0".repeat(32)}` })], {
    results: {
      store: {
        put: async () => {},
        link: async ({ id }) => `https://x.test/${id}`,
        open:
          open ??
          (async () =>
            object === undefined
              ? undefined
              : { body: cutBytes(object), byteLength: object.length, contentType: "application/json" }),
      },
    },
  });
}

async function* cutBytes(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += 5) yield Buffer.from(text.slice(at, at + 5));
}

afterEach(() => {
  vi.useRealTimers();
});

describe("GET /v1/images/tasks/{id}", () => {
  it.each<[string, Partial<Task>, object]>([
    ["queued", {}, { status: "queued" }],
    [
      "in progress",
      { status: "in_progress", images: ['{"url":"a"}'] },
      { status: "in_progress", images: [{ url: "a" }] },
    ],
    [
      "completed",
      COMPLETED,
      {
        status: "completed",
        ended_at: 1_800_000_042,
        result: { created: 1, data: [{ url: "https://x.test/1.png" }] },
      },
    ],
    [
      "failed",
      FAILED,
      {
        status: "failed",
        ended_at: 1_800_000_042,
        error: { message: "No.", type: "upstream_error", code: "upstream_error", param: null },
      },
    ],
    [
      "cancelled",
      { status: "cancelled", endedAt: 1_800_000_042_000 },
      { status: "cancelled", ended_at: 1_800_000_042 },
    ],
  ])("shows a task that is %s", async (_what, members, shown) => {
    const { send } = start([task(1, members)]);
    const { status, headers, body } = await send(`/${idOf(1)}`);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(body).toEqual({
      id: idOf(1),
      object: "image.task",
      created_at: 1_800_000_000,
      expires_at: 1_800_086_400,
      model: "image-max",
      operation: "generate",
      request_id: "req_1",
      ...shown,
    });
  });

  it.each<[string, string, RequestInit]>([
    ["an unknown id", `/${idOf(2)}`, {}],
    ["the task of another caller", `/${idOf(1)}`, { headers: { authorization: `Bearer ${OTHER_KEY}` } }],
    ["no id", "/task_", {}],
    ["a path as the id", "/..%2f..%2fmodels", {}],
    ["an encoded id", `/%74${idOf(1).slice(1)}`, {}],
    ["a long id", `/${idOf(1)}0`, {}],
    ["an upper case id", `/${idOf(10).toUpperCase()}`, {}],
    ["a quote in the id", `/'%20or%201=1--`, {}],
    ["a null byte in the id", `/${idOf(1)}%00`, {}],
    ["the action as the id", "/cancel", {}],
    ["an id of 8,000 characters", `/${"a".repeat(8_000)}`, {}],
    [
      "events of another caller's task",
      `/${idOf(1)}/events`,
      { headers: { authorization: `Bearer ${OTHER_KEY}` } },
    ],
    ["events of an unknown task", `/${idOf(2)}/events`, {}],
    [
      "the cancellation of another caller's task",
      `/${idOf(1)}/cancel`,
      { method: "POST", headers: { authorization: `Bearer ${OTHER_KEY}` } },
    ],
    ["the cancellation of an unknown task", `/${idOf(2)}/cancel`, { method: "POST" }],
  ])("responds to %s with 404", async (_what, path, init) => {
    const { tasks, send } = start();
    const response = await send(path, init);
    expect(response).toMatchObject({ status: 404, body: { error: { code: "task_not_found" } } });
    expect((await tasks.store.find("me", idOf(1)))?.status).toBe("queued");
  });

  it("does not ask the store for what cannot be an id", async () => {
    const { tasks, send } = start();
    await send("/task_1");
    await send("/task_1/events");
    await send("/task_1/cancel", { method: "POST" });
    expect(tasks.calls).toEqual({ find: 0, list: 0, cancel: 0 });
  });

  it.each<[string, string, string, string]>([
    ["PUT", "", "GET, HEAD", "the list"],
    ["POST", "", "GET, HEAD", "the list"],
    ["DELETE", `/${idOf(1)}`, "GET, HEAD", "a task"],
    ["POST", `/${idOf(1)}`, "GET, HEAD", "a task"],
    ["POST", `/${idOf(1)}/events`, "GET, HEAD", "events"],
    ["GET", `/${idOf(1)}/cancel`, "POST", "a cancellation"],
    ["HEAD", `/${idOf(1)}/cancel`, "POST", "a cancellation"],
  ])("%s %s: 405 with allow: %s", async (method, path, allow) => {
    const { tasks, send } = start();
    const response = await send(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allow);
    expect(tasks.calls).toEqual({ find: 0, list: 0, cancel: 0 });
  });

  it.each(["", `/${idOf(1)}`, `/${idOf(1)}/events`, `/${idOf(1)}/cancel`])(
    "needs a key: %s",
    async (path) => {
      const { tasks, send } = start();
      const method = path.endsWith("cancel") ? "POST" : "GET";
      for (const authorization of ["", "Bearer wrong"]) {
        expect(await send(path, { method, headers: { authorization } })).toMatchObject({
          status: 401,
          body: { error: { code: "invalid_api_key" } },
        });
      }
      expect(tasks.calls).toEqual({ find: 0, list: 0, cancel: 0 });
    },
  );

  it("accepts the key in api-key, and ignores a slash at the end and unknown parameters", async () => {
    const { gateway } = start();
    const url = `http://gateway.test//v1/images//tasks/${idOf(1)}/?foo=1&wait=0`;
    const response = await gateway.fetch(new Request(url, { headers: { "api-key": CALLER_KEY } }));
    expect(response.status).toBe(200);
  });

  it.each([
    { path: "", length: true },
    { path: `/${idOf(1)}`, length: false },
    { path: `/${idOf(1)}/events`, length: false },
  ])("responds to HEAD without a body: %j", async ({ path }) => {
    const { send, gateway } = start([task(1, COMPLETED)]);
    const get = await gateway.fetch(createRequest(path));
    await get.body?.cancel();
    const head = await send(path, { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(namesOf(head.headers)).toEqual(namesOf(get.headers));
  });

  it("reads no result for HEAD", async () => {
    const { gateway } = start([task(1, COMPLETED)]);
    const handled = await gateway.handle({
      method: "HEAD",
      url: `/v1/images/tasks/${idOf(1)}`,
      headers: new Headers({ authorization: `Bearer ${CALLER_KEY}` }),
      body: null,
      signal: { aborted: false },
    });
    const body = handled?.body as AsyncIterable<Uint8Array>;
    // Not a string: a host would state its length, which is not that of the response to GET.
    expect(await buffer(body)).toHaveLength(0);
  });

  it("counts in no limit and is not reported", async () => {
    const onRequest = vi.fn<() => void>();
    const { send } = start([task(1)], { limits: { requestsPerMinute: 1, concurrent: 1 }, onRequest });
    for (let time = 0; time < 5; time++) {
      const response = await send(`/${idOf(1)}`);
      expect(response.status).toBe(200);
      expect(response.headers.get("ratelimit")).toBeNull();
    }
    expect(onRequest).not.toHaveBeenCalled();
  });

  it("does not tell the details of a store that fails", async () => {
    const { send, tasks, logs } = start();
    tasks.interfere(() => Promise.reject(new Error("password=secret")));
    const response = await send(`/${idOf(1)}`);
    expect(response).toMatchObject({ status: 503, body: { error: { code: "gateway_unavailable" } } });
    expect(response.headers.get("retry-after")).toBe("5");
    expect(response.text).not.toContain("secret");
    expect(logs).toMatchObject([{ level: "error", message: "Tasks could not be read or cancelled." }]);
  });

  it("waits ten seconds for a store that hangs", async () => {
    vi.useFakeTimers();
    const { send, tasks } = start();
    tasks.interfere(() => new Promise(() => {}));
    const response = await timed(send(`/${idOf(1)}`));
    expect(response).toMatchObject({ status: 503, after: 10_000 });
  });
});

describe("a wait for a task", () => {
  it.each<[string, RequestInit, number, string | null]>([
    ["?wait=0", {}, 0, null],
    ["?wait=7", {}, 7_000, null],
    ["?wait=60", {}, 60_000, null],
    ["", { headers: { prefer: "wait=7" } }, 7_000, "wait=7"],
    ["", { headers: { prefer: 'respond-async, WAIT="7"; x=y' } }, 7_000, "wait=7"],
    ["", { headers: { prefer: "wait=600" } }, 60_000, "wait=60"],
    ["", { headers: { prefer: "wait=0" } }, 0, "wait=0"],
    ["", { headers: { prefer: "wait=soon" } }, 0, null],
    ["", { headers: { prefer: 'x="wait=7"' } }, 0, null],
    ["?wait=3", { headers: { prefer: "wait=7" } }, 3_000, null],
  ])("%s with %j", async (query, init, after, applied) => {
    vi.useFakeTimers();
    const { send } = start();
    const response = await timed(send(`/${idOf(1)}${query}`, init));
    expect(response).toMatchObject({ status: 200, body: { status: "queued" } });
    expect(Math.floor(response.after / 1_000)).toBe(after / 1_000);
    expect(response.headers.get("preference-applied")).toBe(applied);
  });

  it.each(["", "-1", "61", "1.5", "1e1", "0x1", "abc", "NaN", "Infinity", " 5", "9".repeat(400), "５"])(
    "wait=%j: 400",
    async (wait) => {
      const { send, tasks } = start();
      for (const path of [
        `/${idOf(1)}?wait=${encodeURIComponent(wait)}`,
        `/${idOf(1)}?wait=1&wait=${wait}`,
      ]) {
        expect(await send(path)).toMatchObject({ status: 400, body: { error: { param: "wait" } } });
      }
      expect(tasks.calls.find).toBe(0);
    },
  );

  it.each<[string, Partial<Task>]>([
    ["completed", COMPLETED],
    ["failed", FAILED],
    ["cancelled", { status: "cancelled" }],
  ])("ends when the task is %s", async (status, members) => {
    vi.useFakeTimers();
    const { send, tasks } = start();
    setTimeout(() => tasks.put(task(1, { status: "in_progress" })), 2_000);
    setTimeout(() => tasks.put(task(1, { status: "in_progress", images: ["{}"] })), 3_000);
    setTimeout(() => tasks.put(task(1, members)), 5_000);
    const response = await timed(send(`/${idOf(1)}?wait=30`));
    expect(response).toMatchObject({ status: 200, body: { status }, after: 5_000 });
    expect(tasks.watches()).toBe(0);
    expect(tasks.calls.find).toBeLessThan(8);
  });

  it("ends at once for a task that has ended", async () => {
    vi.useFakeTimers();
    const { send, tasks } = start([task(1, COMPLETED)]);
    const response = await timed(send(`/${idOf(1)}?wait=30`));
    expect(response.after).toBeLessThan(500);
    expect(tasks.calls.find).toBe(1);
  });

  it("of a thousand clients ends for all of them with one read of each task", async () => {
    vi.useFakeTimers();
    const all = Array.from({ length: 100 }, (_, index) => task(index, { caller: `c${index % 20}` }));
    const { gateway, tasks } = start(all, {
      callers: Array.from({ length: 20 }, (_, index) => ({ id: `c${index}`, key: `key-of-caller-${index}` })),
    });
    const waits = Array.from({ length: 1_000 }, async (_, index) => {
      const number = index % 100;
      const headers = { authorization: `Bearer key-of-caller-${number % 20}` };
      const response = await readResponse(
        await gateway.fetch(createRequest(`/${idOf(number)}?wait=60`, { headers })),
      );
      return response.body["status"];
    });
    await advance(0);
    const begun = tasks.calls.find;
    expect(begun).toBe(1_000);
    expect(tasks.watches()).toBe(1);
    for (const one of all) tasks.put({ ...one, ...COMPLETED });
    await advance(0);
    expect(new Set(await Promise.all(waits))).toEqual(new Set(["completed"]));
    expect(tasks.calls.find).toBe(begun + 100);
    expect(tasks.watches()).toBe(0);
  });

  it("is refused if a hundred requests of the caller wait already, also for events", async () => {
    const { gateway, send, tasks } = start([task(1), task(2, COMPLETED)]);
    const client = new AbortController();
    const waits = Array.from({ length: 100 }, () =>
      gateway.fetch(createRequest(`/${idOf(1)}?wait=60`, { signal: client.signal })),
    );
    await vi.waitFor(() => expect(tasks.calls.find).toBe(100));
    for (const path of [`/${idOf(1)}?wait=1`, `/${idOf(1)}/events`]) {
      const refused = await send(path);
      expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limit_exceeded" } } });
      expect(refused.headers.get("retry-after")).toBe("5");
    }
    // What does not wait is not refused.
    expect((await send(`/${idOf(1)}`)).status).toBe(200);
    expect((await send(`/${idOf(2)}?wait=60`)).status).toBe(200);
    expect((await send(`/${idOf(2)}/events`)).text).toContain('"status":"completed"');
    // Clients that leave make room at once.
    client.abort();
    await Promise.all(waits);
    expect(tasks.watches()).toBe(0);
    expect((await send(`/${idOf(1)}?wait=1`)).status).toBe(200);
  });

  it("ends at once with the current state when the gateway closes", async () => {
    const { gateway, send, tasks } = start();
    const response = send(`/${idOf(1)}?wait=60`);
    await vi.waitFor(() => expect(tasks.watches()).toBe(1));
    const begun = performance.now();
    const [closed] = await Promise.all([response, gateway.close()]);
    expect(closed).toMatchObject({ status: 200, body: { status: "queued" } });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(tasks.watches()).toBe(0);
    expect(await send(`/${idOf(1)}`)).toMatchObject({
      status: 503,
      body: { error: { code: "gateway_closed" } },
    });
  });
});

describe("GET /v1/images/tasks", () => {
  const many = Array.from({ length: 205 }, (_, index) =>
    task(index, { caller: index % 41 === 0 ? "other" : "me" }),
  );

  it("lists the newest tasks of the caller in OpenAI's shape", async () => {
    const { send } = start([task(1, COMPLETED), task(2, { caller: "other" }), task(3, FAILED), task(4)]);
    const { status, body } = await send("");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      object: "list",
      data: [
        { id: idOf(4), status: "queued" },
        { id: idOf(3), status: "failed", error: { code: "upstream_error" } },
        { id: idOf(1), status: "completed" },
      ],
      first_id: idOf(4),
      last_id: idOf(1),
      has_more: false,
    });
    // A hundred results can have a hundred megabytes.
    expect(JSON.stringify(body)).not.toContain("x.test");
  });

  it("is empty without tasks", async () => {
    const { send } = start([]);
    expect((await send("")).body).toEqual({
      object: "list",
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it.each([
    { limit: undefined, pages: 10 },
    { limit: 1, pages: 200 },
    { limit: 7, pages: 29 },
    { limit: 100, pages: 2 },
  ])("shows every task once, page by page: %j", async ({ limit, pages }) => {
    const { send } = start(many);
    const seen: unknown[] = [];
    let count = 0;
    let after: string | undefined;
    for (;;) {
      const query = new URLSearchParams({
        ...(limit !== undefined && { limit: String(limit) }),
        ...(after !== undefined && { after }),
      });
      const { body } = await send(`?${query.toString()}`);
      const data = body["data"] as { id: string }[];
      expect(data.length).toBeLessThanOrEqual(limit ?? 20);
      expect(body).toMatchObject({ first_id: data[0]?.id, last_id: data.at(-1)?.id });
      seen.push(...data.map(({ id }) => id));
      count++;
      after = data.at(-1)?.id;
      if (body["has_more"] !== true) break;
    }
    expect(count).toBe(pages);
    expect(seen).toEqual(
      many
        .filter(({ caller }) => caller === "me")
        .map(({ id }) => id)
        .toReversed(),
    );
  });

  it.each([
    ["limit", "0"],
    ["limit", "101"],
    ["limit", "-1"],
    ["limit", ""],
    ["limit", "ten"],
    ["limit", "1e1"],
    ["after", ""],
    ["after", "task_1"],
    ["after", "' or 1=1"],
    ["after", "x".repeat(5_000)],
  ])("%s=%s: 400", async (name, value) => {
    const { send, tasks } = start();
    const query = new URLSearchParams({ [name]: value }).toString();
    for (const sent of [query, `${name}=1&${query}`]) {
      expect(await send(`?${sent}`)).toMatchObject({ status: 400, body: { error: { param: name } } });
    }
    expect(tasks.calls.list).toBe(0);
  });

  it("is empty after an unknown task, and after that of another caller", async () => {
    const { send } = start(many);
    for (const after of [idOf(9_999), idOf(41)]) {
      expect((await send(`?after=${after}`)).body).toMatchObject({ data: [], has_more: false });
    }
  });
});

describe("the result of a task", () => {
  it("that is in the store of results is sent from there", async () => {
    const { send } = startWithObject('{"data":[{"url":"https://x.test/2.png"}]}');
    const shown = { status: "completed", result: { data: [{ url: "https://x.test/2.png" }] } };
    expect((await send(`/${idOf(1)}`)).body).toMatchObject(shown);
    const events = await send(`/${idOf(1)}/events`);
    const [, data = ""] = /^data: (.*)$/m.exec(events.text) ?? [];
    expect(JSON.parse(data)).toMatchObject(shown);
    expect((await send("")).text).not.toContain("@");
    expect((await send(`/${idOf(1)}`, { method: "HEAD" })).status).toBe(200);
  });

  it("that is no longer there is an error", async () => {
    const { send } = startWithObject(undefined);
    const response = await send(`/${idOf(1)}`);
    expect(response).toMatchObject({ status: 502, body: { error: { code: "task_result_lost" } } });
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect((await send(`/${idOf(1)}/events`)).text).toMatch(/event: error\ndata: .*"task_result_lost"/);
  });

  it("is an error to try again if the store of results fails", async () => {
    const { send, logs } = startWithObject(undefined, () => Promise.reject(new Error("secret")));
    const response = await send(`/${idOf(1)}`);
    expect(response).toMatchObject({ status: 503, body: { error: { code: "gateway_unavailable" } } });
    expect(logs).toHaveLength(1);
    const events = await send(`/${idOf(1)}/events`);
    expect(events.text).toMatch(/event: error\ndata: .*"gateway_unavailable"/);
    expect(events.text).not.toContain("secret");
    expect(logs).toHaveLength(2);
  });
});

describe("POST /v1/images/tasks/{id}/cancel", () => {
  it("cancels a task that was not sent, also a second time", async () => {
    const { send } = start();
    for (let time = 0; time < 2; time++) {
      const response = await send(`/${idOf(1)}/cancel`, { method: "POST" });
      expect(response).toMatchObject({ status: 200, body: { id: idOf(1), status: "cancelled" } });
    }
    expect((await send(`/${idOf(1)}`)).body).toMatchObject({ status: "cancelled" });
  });

  it.each<[string, Partial<Task>, RegExp]>([
    ["in progress", { status: "in_progress" }, /was sent/],
    ["completed", COMPLETED, /already ended: its status is completed/],
    ["failed", FAILED, /already ended: its status is failed/],
  ])("does not cancel a task that is %s", async (_what, members, message) => {
    const { send } = start([task(1, members)]);
    const response = await send(`/${idOf(1)}/cancel`, { method: "POST", body: "{}" });
    expect(response).toMatchObject({ status: 409, body: { error: { code: "task_not_cancellable" } } });
    expect(response.text).toMatch(message);
    expect(response.headers.get("x-should-retry")).toBe("false");
  });

  it("ends the waits for the task", async () => {
    const { send, tasks } = start();
    const waiting = send(`/${idOf(1)}?wait=60`);
    await vi.waitFor(() => expect(tasks.watches()).toBe(1));
    await send(`/${idOf(1)}/cancel`, { method: "POST" });
    expect((await waiting).body).toMatchObject({ status: "cancelled" });
  });
});

describe("a ledger without tasks", () => {
  it.each(["", `/${idOf(1)}`, `/${idOf(1)}/events`])("has no path %s, and the 404 says why", async (path) => {
    const { send } = start([], { ledger: { ...createMemoryLedger(), tasks: undefined } as never });
    const response = await send(path);
    expect(response).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    expect(response.text).toMatch(
      /The ledgers in memory, of @calotype\/sqlite and of @calotype\/postgres do\./,
    );
  });
});

describe("options that cannot be loaded", () => {
  it("make the paths of tasks unavailable", async () => {
    const gateway = createGateway({
      models: () => Promise.reject(new Error("down")),
      channels: [],
      callers: [],
      logger: { warn: () => {}, error: () => {} },
    });
    expect((await gateway.fetch(createRequest(""))).status).toBe(503);
  });
});

describe("CORS", () => {
  const cors = { origins: ["https://shop.example"] };
  const origin = "https://shop.example";

  it.each([
    ["", "GET"],
    [`/${idOf(1)}`, "GET"],
    [`/${idOf(1)}/events`, "GET"],
    [`/${idOf(1)}/cancel`, "POST"],
  ])("allows pages to request %s", async (path, method) => {
    const { send } = start([task(1)], { cors });
    const headers = {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,last-event-id,prefer",
    };
    const preflight = await send(path, { method: "OPTIONS", headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toMatch(/last-event-id/);
  });

  it("lets pages read the responses", async () => {
    const { send } = start([task(1)], { cors });
    const response = await send(`/${idOf(1)}`, { headers: { origin, prefer: "wait=0" } });
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("access-control-expose-headers")).toMatch(/preference-applied/);
  });
});

describe("any request", () => {
  it("gets a response of the routes, never a failure, and nothing of other callers", async () => {
    const { gateway, tasks, logs } = start([
      task(1, COMPLETED),
      task(2, { caller: "other", ...FAILED }),
      task(3, { status: "cancelled" }),
    ]);
    const ids = oneof(constantFrom(idOf(1), idOf(2), idOf(3), idOf(4)), webPath({ size: "small" }));
    const paths = tuple(constantFrom("", "/"), ids, constantFrom("", "/", "/events", "/cancel", "/x")).map(
      (parts) => parts.join(""),
    );
    const queries = oneof(
      webQueryParameters(),
      tuple(
        constantFrom("limit", "after", "wait", "%00"),
        constantFrom("=", "", "=="),
        oneof(constantFrom("0", "1", "100"), string()),
      ).map(([name, sign, value]) => name + sign + encodeURIComponent(value.toWellFormed())),
    );
    const prefers = oneof(
      constantFrom("wait=1", 'wait="0"', "respond-async", ",;=,"),
      string({ unit: "grapheme-ascii" }),
    );
    const methods = constantFrom("GET", "GET", "GET", "HEAD", "POST", "DELETE");
    await assert(
      asyncProperty(paths, queries, prefers, methods, async (path, query, prefer, method) => {
        const request = createRequest(`${path}?${query}`, { method, headers: { prefer } });
        const response = await gateway.fetch(request);
        const text = await response.text();
        expect([200, 400, 404, 405, 409]).toContain(response.status);
        expect(text).not.toContain(`"id":"${idOf(2)}"`);
        expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      }),
      { numRuns: 2_000 },
    );
    expect(logs).toEqual([]);
    expect(tasks.watches()).toBe(0);
  });
});
