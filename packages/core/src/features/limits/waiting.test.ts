import { array, assert, asyncProperty, boolean, constantFrom, integer, nat, record } from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  GENERATIONS,
  type TestGateway,
} from "../../testing/test-gateway.js";
import type { CallerLimits } from "../../types.js";
import { createMemoryAdmissionStore } from "./memory-store.js";
import type { AdmissionDecision, AdmissionStore } from "./store.js";
import { findWait } from "./waiting-requests.js";

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

/** Time that only the test moves. */
function createTime() {
  const time = { now: Date.UTC(2026, 10, 29) };
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  return {
    now: () => time.now,
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const wake = (): void => {
          sleepers.delete(sleeper);
          resolve();
        };
        const sleeper = { at: time.now + ms, wake };
        sleepers.add(sleeper);
        signal.addEventListener("abort", wake);
      }),
    settle,
    async advance(ms: number): Promise<void> {
      await settle();
      const end = time.now + ms;
      for (;;) {
        const at = Math.min(...[...sleepers].map((sleeper) => sleeper.at));
        if (at > end) break;
        time.now = Math.max(time.now, at);
        for (const sleeper of sleepers) if (sleeper.at <= at) sleeper.wake();
        await settle();
      }
      time.now = end;
      await settle();
    },
  };
}

const CALLERS = Array.from({ length: 10 }, (_, index) => `caller-${index}`);
const keyOf = (caller: string): string => `canary-${caller}-b1946ac9`;

interface Plan {
  readonly limits?: CallerLimits | undefined;
  readonly options?: Partial<GatewayOptions> | undefined;
  readonly store?: ((now: () => number) => AdmissionStore) | undefined;
}

/** A gateway whose provider responds when the test says so. */
function open({ limits, options, store }: Plan = {}) {
  const time = createTime();
  const running: { readonly prompt: string; readonly end: () => void }[] = [];
  const most = { running: 0 };
  const begun: string[] = [];
  const opened: TestGateway = createTestGateway(
    (call) =>
      new Promise((resolve) => {
        const prompt = String(call.body["prompt"]);
        begun.push(prompt);
        running.push({
          prompt,
          end() {
            running.splice(
              running.findIndex((other) => other.prompt === prompt),
              1,
            );
            resolve(Response.json(ARK_RESPONSE));
          },
        });
        most.running = Math.max(most.running, running.length);
      }),
    {
      limits,
      callers: [{ id: "me", key: CALLER_KEY }, ...CALLERS.map((id) => ({ id, key: keyOf(id) }))],
      ...(store && { admission: store(time.now) }),
      ...options,
    },
    { now: time.now, sleep: time.sleep },
  );
  /** Sends a request, and does not wait for its response. */
  const send = (prompt: string, { caller = "me", model = "doodle", headers = {}, stream = false } = {}) => {
    const abort = new AbortController();
    const sent = {
      status: 0,
      body: "",
      headers: new Headers(),
      abort: () => abort.abort(),
      done: Promise.resolve(),
    };
    const respond = async (): Promise<void> => {
      const response = await opened.gateway.fetch(
        new Request(GENERATIONS, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${caller === "me" ? CALLER_KEY : keyOf(caller)}`,
            ...headers,
          },
          body: JSON.stringify({ model, prompt, stream }),
          signal: abort.signal,
        }),
      );
      sent.status = response.status;
      sent.headers = response.headers;
      sent.body = await response.text();
    };
    sent.done = respond();
    return sent;
  };
  /** Ends the calls that run now. */
  const endAll = async (): Promise<void> => {
    for (const { end } of running.slice()) end();
    await time.settle();
  };
  return { ...opened, time, running, most, begun, send, endAll };
}

const withoutTurns = (now: () => number): AdmissionStore => {
  const store = createMemoryAdmissionStore({ now });
  return {
    admit: (request) => store.admit(request),
    finish: (request, outcome) => store.finish(request, outcome),
    setCooldown: (channel, cooldown) => store.setCooldown(channel, cooldown),
  };
};
const STORES: readonly (readonly [string, ((now: () => number) => AdmissionStore) | undefined])[] = [
  ["that hands out turns", undefined],
  ["that does not hand out turns", withoutTurns],
];

const pause = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

describe.each(STORES)("with a store %s, a request over a limit with waitSeconds", (_name, store) => {
  it("waits until the one before it has ended, and its record and its durations say for how long", async () => {
    const { send, time, endAll, records } = open({ limits: { concurrent: 1, waitSeconds: 60 }, store });
    const [first, second] = [send("1"), send("2")];
    await time.advance(20_000);
    expect([first.status, second.status]).toEqual([0, 0]);
    await endAll();
    expect(first.status).toBe(200);
    await time.advance(0);
    await endAll();
    await second.done;
    expect(second.status).toBe(200);
    expect(records.map(({ waitedMs }) => waitedMs)).toEqual([undefined, 20_000]);
    expect(records[1]?.durationMs).toBe(20_000);
  });

  it("waits for the end of the minute, and then the limit is not exceeded", async () => {
    const { send, time, running, endAll } = open({
      limits: { requestsPerMinute: 2, waitSeconds: 60 },
      store,
    });
    const sent = ["1", "2", "3", "4", "5"].map((prompt) => send(prompt));
    await time.advance(59_900);
    expect(running.map(({ prompt }) => prompt)).toEqual(["1", "2"]);
    await time.advance(200);
    expect(running.map(({ prompt }) => prompt)).toEqual(["1", "2", "3", "4"]);
    await endAll();
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
  });

  it("gets the same 429 with Retry-After when its time is over", async () => {
    const { send, time, endAll, records } = open({ limits: { concurrent: 1, waitSeconds: 3 }, store });
    send("1");
    const second = send("2");
    await time.advance(2_900);
    expect(second.status).toBe(0);
    await time.advance(200);
    expect(second.status).toBe(429);
    expect(second.headers.get("retry-after")).toBe("1");
    expect(JSON.parse(second.body)).toMatchObject({
      error: {
        code: "rate_limit_exceeded",
        message: expect.stringContaining("The limit of 1 requests at once"),
      },
    });
    await endAll();
    expect(records).toHaveLength(1);
  });

  it("is served in the order in which it came", async () => {
    const { send, time, begun, endAll } = open({ limits: { concurrent: 1, waitSeconds: 300 }, store });
    const prompts = Array.from({ length: 30 }, (_, index) => String(index));
    for (const prompt of prompts) {
      send(prompt);
      await time.advance(1);
    }
    for (const _ of prompts) await endAll();
    expect(begun).toEqual(prompts);
  });

  it("is not overtaken by a request that comes when a slot is free", async () => {
    const { send, time, begun, running, endAll } = open({
      limits: { concurrent: 1, waitSeconds: 300 },
      store,
    });
    send("1");
    await time.settle();
    send("2");
    await time.settle();
    running[0]?.end();
    send("3");
    await time.settle();
    await endAll();
    await endAll();
    expect(begun).toEqual(["1", "2", "3"]);
  });

  it("that asks for more than is left is not overtaken by smaller ones", async () => {
    const { gateway, send, time, begun, endAll } = open({
      limits: { imagesPerMinute: 4, waitSeconds: 60 },
      store,
    });
    send("1");
    await time.settle();
    const body = JSON.stringify({ model: "seedream-4-5-251128", prompt: "2", n: 4 });
    const headers = { "content-type": "application/json", authorization: `Bearer ${CALLER_KEY}` };
    const large = gateway.fetch(new Request(GENERATIONS, { method: "POST", headers, body }));
    await time.settle();
    send("3");
    await time.advance(59_900);
    expect(begun).toEqual(["1"]);
    await time.advance(200);
    expect(begun).toEqual(["1", "2"]);
    await endAll();
    expect((await large).status).toBe(200);
  });

  it("does not wait for a limit that its time cannot help", async () => {
    const { send, time, endAll } = open({ limits: { requestsPerMinute: 1, waitSeconds: 30 }, store });
    send("1");
    const second = send("2");
    await time.settle();
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "60"]);
    await endAll();
  });

  it("loses its place when its client leaves, and nothing is held or charged for it", async () => {
    const { send, time, running, begun, endAll, records, unresolved, gateway } = open({
      limits: { concurrent: 1, waitSeconds: 300 },
      store,
    });
    send("1");
    await time.settle();
    const [second, third] = [send("2", { headers: { "idempotency-key": "k" } }), send("3")];
    await time.settle();
    second.abort();
    await second.done.catch(() => undefined);
    await time.settle();
    await endAll();
    expect(begun).toEqual(["1", "3"]);
    await endAll();
    expect(third.status).toBe(200);
    // Its idempotency key is free again.
    const repeat = send("2", { headers: { "idempotency-key": "k" } });
    await vi.waitFor(() => expect(running).toHaveLength(1));
    await endAll();
    expect(repeat.status).toBe(200);
    expect([records.length, unresolved.length]).toEqual([3, 0]);
    expect(await gateway.usage.balance("me")).toMatchObject({ held: "0" });
  });

  it("keeps a repeat with its idempotency key from running, as a request that runs does", async () => {
    const { send, time, begun, endAll } = open({ limits: { concurrent: 1, waitSeconds: 300 }, store });
    send("1");
    await time.settle();
    const headers = { "idempotency-key": "k" };
    // Both are hashed at the same time, so either of them may be the first.
    const same = [send("2", { headers }), send("2", { headers })];
    await vi.waitFor(() => expect(new Set(same.map(({ status }) => status))).toEqual(new Set([0, 409])));
    const [first, repeat] = same.toSorted((one, other) => one.status - other.status);
    const other = send("3", { headers });
    await vi.waitFor(() => expect(other.status).toBe(422));
    expect(repeat?.headers.get("retry-after")).toBe("10");
    await endAll();
    await endAll();
    expect([first?.status, begun]).toEqual([200, ["1", "2"]]);
    const late = send("2", { headers });
    await late.done;
    expect([late.status, late.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  });

  it("gets the error of a closing gateway when the gateway is closed", async () => {
    const { send, time, endAll, gateway } = open({ limits: { concurrent: 1, waitSeconds: 300 }, store });
    const first = send("1");
    const second = send("2");
    await time.settle();
    const closed = gateway.close();
    await time.settle();
    expect([first.status, second.status]).toEqual([0, 503]);
    expect(JSON.parse(second.body)).toMatchObject({ error: { code: "gateway_closed" } });
    await endAll();
    await closed;
    expect(first.status).toBe(200);
  });
});

describe("the queue", () => {
  it("refuses only the caller whose own part is full, before its body is read", async () => {
    const { send, time, endAll } = open({
      limits: { concurrent: 1, waitSeconds: 300 },
      options: { waiting: { maxRequests: 10, maxRequestsPerCaller: 3 } },
    });
    const greedy = Array.from({ length: 8 }, (_, index) => send(`g${index}`));
    await time.settle();
    const other = [send("o1", { caller: "caller-0" }), send("o2", { caller: "caller-0" })];
    await time.settle();
    expect(greedy.map(({ status }) => status)).toEqual([0, 0, 0, 0, 429, 429, 429, 429]);
    expect(other.map(({ status }) => status)).toEqual([0, 0]);
    for (let round = 0; round < 5; round++) await endAll();
    expect([...greedy.slice(0, 4), ...other].map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 200, 200,
    ]);
  });

  it("is bounded for all callers together", async () => {
    const { send, time, endAll } = open({
      limits: { requestsPerMinute: 1, waitSeconds: 60 },
      options: { waiting: { maxRequests: 4, maxRequestsPerCaller: 3 } },
    });
    const sent = CALLERS.slice(0, 3).flatMap((caller) =>
      [1, 2, 3].map((index) => send(`${caller} ${index}`, { caller })),
    );
    await time.settle();
    expect(sent.filter(({ status }) => status === 0)).toHaveLength(3 + 4);
    expect(sent.filter(({ status }) => status === 429)).toHaveLength(2);
    await endAll();
    await time.advance(60_100);
    await endAll();
  });

  it("serves nine callers with one request each at once beside a caller with a thousand", async () => {
    const { send, time, endAll, records, most } = open({
      limits: { concurrent: 1, waitSeconds: 300 },
      options: { waiting: { maxRequests: 2_000, maxRequestsPerCaller: 1_000 } },
    });
    const greedy = Array.from({ length: 1_000 }, (_, index) => send(`g${index}`, { caller: "caller-0" }));
    await time.settle();
    const nine = CALLERS.slice(1).map((caller) => send(caller, { caller }));
    await time.settle();
    await endAll();
    expect(nine.map(({ status }) => status)).toEqual(nine.map(() => 200));
    for (let turn = 1; turn < 20; turn++) await endAll();
    expect(greedy.map(({ status }) => status)).toEqual(greedy.map((_, index) => (index < 20 ? 200 : 0)));
    expect(records.filter(({ caller }) => caller !== "caller-0").map(({ waitedMs }) => waitedMs)).toEqual(
      nine.map(() => undefined),
    );
    expect(most.running).toBe(10);
    await time.advance(300_100);
    expect(new Set(greedy.slice(21).map(({ status }) => status))).toEqual(new Set([429]));
    await endAll();
  });

  it("counts the bodies of the requests that wait in maxBytesInFlight", async () => {
    const { send, time, endAll } = open({
      limits: { concurrent: 1, waitSeconds: 300 },
      options: { maxBytesInFlight: 4_096, maxCallerShare: 1 },
    });
    const long = "x".repeat(1_500);
    const sent = [send("1"), send(`${long}2`), send(`${long}3`), send(`${long}4`)];
    await time.settle();
    expect(sent.map(({ status }) => status)).toEqual([0, 0, 0, 503]);
    for (let round = 0; round < 3; round++) await endAll();
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 503]);
  });
});

describe("waitSeconds", () => {
  it("of a caller and of a model apply to their own limits, and a model without one has that of the caller", async () => {
    const cases: readonly (readonly [CallerLimits | undefined, CallerLimits, number])[] = [
      [{ waitSeconds: 10 }, { concurrent: 1 }, 0],
      [undefined, { concurrent: 1, waitSeconds: 10 }, 0],
      [{ waitSeconds: 10 }, { concurrent: 1, waitSeconds: 0 }, 429],
      [{ waitSeconds: 10 }, { concurrent: 1, waitSeconds: null }, 429],
      [{ concurrent: 1 }, { waitSeconds: 10 }, 429],
      [undefined, { concurrent: 1 }, 429],
    ];
    for (const [limits, ofModel, status] of cases) {
      const { send, time, endAll } = open({
        ...(limits && { limits }),
        options: { models: { doodle: { family: "seedream", limits: ofModel } } },
      });
      send("1");
      await time.settle();
      const second = send("2");
      await time.settle();
      expect([limits, ofModel, second.status]).toEqual([limits, ofModel, status]);
      await endAll();
      await endAll();
    }
  });

  it("lets a request for another model pass one that waits for the limit of a model", async () => {
    const { send, time, begun, endAll } = open({
      limits: { concurrent: 5, waitSeconds: 60 },
      options: {
        models: { doodle: { family: "seedream", limits: { concurrent: 1 } }, free: { family: "seedream" } },
      },
    });
    for (const prompt of ["1", "2"]) send(prompt);
    await time.settle();
    send("3", { model: "free" });
    await time.settle();
    expect(begun).toEqual(["1", "3"]);
    await endAll();
    await endAll();
    expect(begun).toEqual(["1", "3", "2"]);
  });

  it("does not make a task wait, whose submission is refused at once and does not overtake a request that waits", async () => {
    const { send, time, endAll } = open({ limits: { requestsPerMinute: 1, waitSeconds: 60 } });
    send("1");
    await time.settle();
    const waiting = send("2");
    await time.settle();
    const task = send("3", { headers: { prefer: "respond-async" } });
    await time.settle();
    expect([waiting.status, task.status]).toEqual([0, 429]);
    await endAll();
    await time.advance(60_100);
    await endAll();
    expect(waiting.status).toBe(200);
  });

  it("does not make a request wait for a paused model, or for a budget that is used up", async () => {
    const { send, time, gateway } = open({
      limits: { concurrent: 1, waitSeconds: 60 },
      options: {
        callers: [{ id: "me", key: CALLER_KEY, budget: "0.1" }],
        billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "1" } } },
      },
    });
    const poor = send("1");
    await time.settle();
    expect([poor.status, JSON.parse(poor.body).error.code]).toEqual([403, "insufficient_quota"]);
    await gateway.pauseChannel("ark");
    const paused = send("2");
    await time.settle();
    expect(JSON.parse(paused.body).error.code).toBe("model_paused");
  });
});

const openStream = (waitSeconds: number) =>
  open({ limits: { concurrent: 1, waitSeconds }, options: { heartbeatSeconds: 0.05 } });

describe("a stream that waits", () => {
  it("gets comments meanwhile, and then its response", async () => {
    const { send, time, endAll } = openStream(60);
    send("1");
    await time.settle();
    const stream = send("2", { stream: true });
    await pause(200);
    expect(stream.status).toBe(200);
    expect(stream.body).toBe("");
    await endAll();
    await endAll();
    await stream.done;
    expect(stream.body).toMatch(/^(?:: heartbeat\n\n|:.*\n\n){2,}data: \{/);
    expect(stream.body).toContain("https://ark.test/1.png");
  });

  it("gets an error event with the same error if it is refused after its head", async () => {
    const { send, time, endAll, records } = openStream(5);
    send("1");
    await time.settle();
    const stream = send("2", { stream: true });
    await pause(200);
    await time.advance(5_100);
    await stream.done;
    expect(stream.status).toBe(200);
    expect(stream.body).toMatch(
      /\n\nevent: error\ndata: \{"error":\{"message":"The limit of 1 requests at once/,
    );
    await endAll();
    expect(records).toHaveLength(1);
  });

  it("is an HTTP error if it is refused before its head", async () => {
    const { send, time, endAll } = open({
      limits: { concurrent: 1, waitSeconds: 5 },
      options: { heartbeatSeconds: 60 },
    });
    send("1");
    await time.settle();
    const stream = send("2", { stream: true });
    await time.advance(5_100);
    expect(stream.status).toBe(429);
    await endAll();
  });

  it("loses its place if its client ends the body", async () => {
    const { gateway, send, time, begun, endAll } = openStream(300);
    send("1");
    await time.settle();
    const response = await gateway.fetch(
      new Request(GENERATIONS, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${CALLER_KEY}` },
        body: JSON.stringify({ model: "doodle", prompt: "2", stream: true }),
      }),
    );
    await response.body?.cancel();
    await time.settle();
    send("3");
    await time.settle();
    await endAll();
    expect(begun).toEqual(["1", "3"]);
    await endAll();
  });
});

describe("findWait", () => {
  const window = { name: "requests", key: "w", limit: 4, windowMs: 60_000, cost: 2, waitMs: 30_000 } as const;
  const slot = { key: "s", limit: 1, leaseMs: 1, waitMs: 10_000 };
  const limits = { windows: [window], concurrency: [slot] };
  const limited = (remaining: number, resetMs: number, cost = 2): AdmissionDecision => ({
    kind: "limited",
    limit: { ...window, cost },
    windows: [{ remaining, resetMs }],
  });
  const crowded: AdmissionDecision = { kind: "crowded", limit: slot, windows: [] };

  it.each([
    ["a slot is taken", crowded, 0, { key: "s", waitMs: 10_000, retryMs: 250 }],
    ["the time is over", crowded, 10_000, undefined],
    ["the window ends in time", limited(1, 30_000), 0, { key: "w", waitMs: 30_000, retryMs: 30_000 }],
    ["the window ends later", limited(1, 30_001), 0, undefined],
    ["it has waited, and the window ends later", limited(0, 20_001), 10_000, undefined],
    [
      "the window has room, but another one is next",
      limited(2, 50_000),
      0,
      { key: "w", waitMs: 30_000, retryMs: 250 },
    ],
    ["the window ends now", limited(0, 0), 0, { key: "w", waitMs: 30_000, retryMs: 10 }],
    ["it can never fit", limited(4, 1_000, 5), 0, undefined],
    [
      "the state of the window is not known",
      { ...limited(0, 0), windows: [] },
      0,
      { key: "w", waitMs: 30_000, retryMs: 250 },
    ],
    ["it is a repeat", { kind: "running" }, 0, undefined],
  ] as const)("%s", (_case, decision, waitedMs, expected) => {
    expect(findWait(decision, limits, waitedMs)).toEqual(expected);
  });
});

it("no request starves, and no limit is exceeded, whatever comes and leaves", async () => {
  const step = record({
    kind: constantFrom("send", "send", "send", "end", "leave", "advance"),
    caller: constantFrom("caller-0", "caller-1", "caller-2"),
    model: constantFrom("doodle", "other"),
    index: nat(50),
    ms: integer({ min: 1, max: 5_000 }),
  });
  await assert(
    asyncProperty(array(step, { minLength: 10, maxLength: 60 }), boolean(), async (steps, hasTurns) => {
      const { send, time, running, begun, endAll } = open({
        limits: { concurrent: 2, requestsPerMinute: 6, waitSeconds: 300 },
        ...(!hasTurns && { store: withoutTurns }),
        options: {
          models: {
            doodle: { family: "seedream", limits: { concurrent: 1 } },
            other: { family: "seedream" },
          },
        },
      });
      const sent: ReturnType<typeof send>[] = [];
      const left = new Set<number>();
      const countOf = (caller: string, model = ""): number =>
        running.filter(({ prompt }) => prompt.startsWith(`${caller} ${model}`)).length;
      for (const { kind, caller, model, index, ms } of steps) {
        if (kind === "send") sent.push(send(`${caller} ${model} ${sent.length}`, { caller, model }));
        else if (kind === "end") running[index % Math.max(1, running.length)]?.end();
        else if (kind === "advance") await time.advance(ms);
        else if (sent[index] !== undefined) {
          left.add(index);
          sent[index].done.catch(() => undefined);
          sent[index].abort();
        }
        await time.settle();
        for (const one of ["caller-0", "caller-1", "caller-2"]) {
          expect(countOf(one)).toBeLessThanOrEqual(2);
          expect(countOf(one, "doodle")).toBeLessThanOrEqual(1);
        }
      }
      // At most 60 requests, and each caller begins 6 in a minute: all are served within their 300 s, or refused for the lack of it.
      for (let second = 0; second < 320; second++) {
        await endAll();
        await time.advance(1_000);
      }
      const statuses = sent.flatMap(({ status }, index) => (left.has(index) ? [] : [status]));
      expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
      // Those of one caller and one model begin in the order in which they came.
      for (const caller of ["caller-0", "caller-1", "caller-2"]) {
        for (const model of ["doodle", "other"]) {
          const order = begun
            .filter((prompt) => prompt.startsWith(`${caller} ${model} `))
            .map((prompt) => Number(prompt.split(" ")[2]));
          expect(order).toEqual(order.toSorted((one, other) => one - other));
        }
      }
    }),
    { numRuns: 15 },
  );
}, 60_000);
