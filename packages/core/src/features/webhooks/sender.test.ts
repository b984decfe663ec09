import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { endTask } from "../../testing/end-task.js";
import { createRandom, SEED } from "../../testing/random.js";
import { type Transport, TransportError, type TransportRequest } from "../../upstream/transport.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { Outbox, OutboxLedger, WebhookMessage } from "../outbox/outbox.js";
import type { TaskLedger } from "../task-store/task-store.js";
import { writeTaskSummary } from "../tasks/task-object.js";
import { createWebhookEndpoints, type WebhookEndpoints } from "./endpoints.js";
import { RETRY_DELAYS_MS, RETRY_JITTER } from "./schedule.js";
import { createWebhookSender, type WebhookSender } from "./sender.js";
import type { WebhooksOptions } from "./webhook-options.js";

const SECRET = `whsec_${btoa("s".repeat(24))}`;
const HOUR_MS = 3_600_000;
const STARTED_AT = 1_800_000_000_000;
/** How often maintenance looks for messages that are due. */
const LOOK_MS = 10_000;

const endpointAt = (host: string) => ({ url: `https://${host}/`, secrets: [SECRET] });
const ENDPOINTS = { me: { app: endpointAt("app.example"), log: endpointAt("log.example") } };

interface Sent {
  readonly at: number;
  readonly host: string;
  readonly request: TransportRequest;
}

/** What an endpoint does with a request: its status, with headers. It rejects for a connection that fails. */
type Respond = (sent: Sent) => number | Response | Promise<number | Response>;

interface Simulation {
  readonly ledger: TaskLedger & OutboxLedger;
  readonly outbox: Outbox;
  readonly sender: WebhookSender;
  readonly sent: readonly Sent[];
  readonly logs: readonly (readonly [string, object, string])[];
  readonly now: () => number;
  /** Another process with the same database. */
  readonly createSender: (outbox?: Outbox) => WebhookSender;
  /** Looks for messages every 10 s, until this time has passed. */
  readonly pass: (ms: number) => Promise<void>;
  readonly messages: () => Promise<readonly WebhookMessage[]>;
}

interface SimulationOptions {
  readonly endpoints?: WebhooksOptions["endpoints"];
  /** In place of `endpoints`. */
  readonly find?: () => WebhookEndpoints | undefined;
}

function simulate(respond: Respond, { endpoints = ENDPOINTS, find }: SimulationOptions = {}) {
  let time = STARTED_AT;
  const now = (): number => time;
  const ledger = createMemoryLedger({ now });
  const sent: Sent[] = [];
  const logs: (readonly [string, object, string])[] = [];
  const transport: Transport = {
    async send(request) {
      const entry = { at: now(), host: new URL(request.url).host, request };
      sent.push(entry);
      const responded = await respond(entry);
      const response = typeof responded === "number" ? new Response(null, { status: responded }) : responded;
      return { status: response.status, headers: response.headers, body: createEmptyBody(), cancel() {} };
    },
    download: () => Promise.reject(new Error("A webhook is never a download.")),
    close: async () => {},
  };
  const fixed = createWebhookEndpoints({ endpoints });
  const createSender = (outbox: Outbox = ledger.outbox): WebhookSender =>
    createWebhookSender({
      outbox,
      transport,
      now,
      writeSummary: writeTaskSummary,
      random: createRandom(SEED),
      endpoints: find ?? (() => fixed),
      logger: {
        warn: (fields, message) => void logs.push(["warn", fields, message]),
        error: (fields, message) => void logs.push(["error", fields, message]),
      },
    });
  const sender = createSender();
  const pass = async (ms: number): Promise<void> => {
    for (const end = time + ms; time < end; time += LOOK_MS) {
      sender.wake();
      await sender.idle();
    }
  };
  const simulation: Simulation = {
    ledger,
    outbox: ledger.outbox,
    sender,
    sent,
    logs,
    now,
    createSender,
    pass,
    messages: () => ledger.outbox.list({}, 1_000),
  };
  return simulation;
}

async function* createEmptyBody(): AsyncGenerator<Uint8Array> {}

const down: Respond = () => Promise.reject(new TransportError("unreachable", undefined));

const bodyOf = ({ body }: TransportRequest): string => (typeof body === "string" ? body : "");

/** The times of the attempts after the first one, in milliseconds. */
const gapsOf = (sent: readonly Sent[]): number[] =>
  sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));

function expectSchedule(gaps: readonly number[]): void {
  for (const [index, gap] of gaps.entries()) {
    const delayMs = RETRY_DELAYS_MS[index] ?? Number.NaN;
    expect(gap).toBeGreaterThanOrEqual(delayMs);
    expect(gap).toBeLessThanOrEqual(delayMs * (1 + RETRY_JITTER) + LOOK_MS);
  }
}

afterEach(() => void vi.useRealTimers());

describe("an endpoint that is down", () => {
  it("for a day gets the message once it is up", async () => {
    const isUp = (at: number): boolean => at >= STARTED_AT + 24 * HOUR_MS;
    const simulation = simulate((sent) => (isUp(sent.at) ? 200 : down(sent)));
    const id = await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(40 * HOUR_MS);

    const { sent } = simulation;
    expect(sent).toHaveLength(8);
    expectSchedule(gapsOf(sent));
    expect(await simulation.messages()).toMatchObject([{ task: id, state: "delivered", attempts: 8 }]);
    expect(simulation.logs).toEqual([]);
  });

  it("for an hour gets the message within two more", async () => {
    const simulation = simulate(({ at }) => (at >= STARTED_AT + HOUR_MS ? 204 : 502));
    await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(3 * HOUR_MS);

    expect(simulation.sent).toHaveLength(5);
    expect(await simulation.messages()).toMatchObject([{ state: "delivered", attempts: 5 }]);
  });

  it("for longer than the schedule does not get it, and the log tells the operator", async () => {
    const simulation = simulate(down);
    const id = await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(4 * 24 * HOUR_MS);

    const { sent } = simulation;
    expect(sent).toHaveLength(8);
    expectSchedule(gapsOf(sent));
    const totalMs = (sent.at(-1)?.at ?? 0) - (sent[0]?.at ?? 0);
    expect(totalMs).toBeGreaterThan(24 * HOUR_MS);
    expect(totalMs).toBeLessThan(31 * HOUR_MS);
    const error = "The endpoint cannot be reached.";
    const [message] = await simulation.messages();
    expect(message).toMatchObject({ state: "given_up", attempts: 8, lastError: error });
    expect(simulation.logs).toEqual([
      [
        "error",
        { webhook: message?.id, task: id, caller: "me", endpoint: "app", reason: error },
        "A webhook could not be delivered and was given up.",
      ],
    ]);
  });

  it("gets messages that failed together at different times", async () => {
    const simulation = simulate(() => 500);
    for (let task = 0; task < 20; task++) await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(3 * HOUR_MS);

    const byId = Map.groupBy(simulation.sent, ({ request }) => request.headers["webhook-id"]);
    const fifths = [...byId.values()].map((sent) => sent[4]?.at);
    expect(new Set(fifths).size).toBeGreaterThan(10);
  });

  it("gets the same bytes and id with each attempt, with a signature of its time that verifies", async () => {
    const simulation = simulate(() => 500);
    await endTask(simulation.ledger, {
      webhooks: ["app"],
      result: '{"data":[{"url":"https://a.example/1.png"}]}',
    });
    await simulation.pass(40 * HOUR_MS);

    const { sent } = simulation;
    expect(sent).toHaveLength(8);
    expect(new Set(sent.map(({ request }) => request.body)).size).toBe(1);
    expect(new Set(sent.map(({ request }) => request.headers["webhook-id"])).size).toBe(1);
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const { at, request } of sent) {
      vi.setSystemTime(at);
      expect(new Webhook(SECRET).verify(bodyOf(request), request.headers)).toMatchObject({
        type: "image.task.completed",
        data: { status: "completed", result: { data: [{ url: "https://a.example/1.png" }] } },
      });
    }
  });

  it("and asks to wait is sent to after this time", async () => {
    const headers = { "retry-after": "1800" };
    const simulation = simulate(() => new Response(null, { status: 503, headers }));
    await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(HOUR_MS);

    const [gap = 0] = gapsOf(simulation.sent);
    expect(gap).toBeGreaterThanOrEqual(1_800_000);
    expect(gap).toBeLessThanOrEqual(1_980_000 + LOOK_MS);
  });
});

describe("an endpoint that responds with 410", () => {
  it("gets no further message until it is enabled, and the log tells the operator", async () => {
    let status = 410;
    const simulation = simulate(({ host }) => (host === "app.example" ? status : 200));
    const first = await endTask(simulation.ledger, { webhooks: ["app", "log"] });
    await simulation.pass(HOUR_MS);
    const second = await endTask(simulation.ledger, { webhooks: ["app", "log"] });
    await simulation.pass(40 * HOUR_MS);

    expect(simulation.sent.map(({ host }) => host).toSorted()).toEqual([
      "app.example",
      "log.example",
      "log.example",
    ]);
    expect(await simulation.outbox.listDisabled()).toEqual([{ caller: "me", endpoint: "app" }]);
    const states = async (): Promise<unknown> =>
      Object.fromEntries(
        (await simulation.messages()).map(({ task, endpoint, state }) => [`${task} ${endpoint}`, state]),
      );
    expect(await states()).toEqual({
      [`${first} app`]: "given_up",
      [`${first} log`]: "delivered",
      [`${second} app`]: "waiting",
      [`${second} log`]: "delivered",
    });
    expect(simulation.logs).toMatchObject([
      [
        "error",
        { task: first, caller: "me", endpoint: "app" },
        "A webhook endpoint responded with 410: it is disabled, and its message given up.",
      ],
    ]);

    status = 200;
    await simulation.outbox.setDisabled("me", "app", false);
    await simulation.outbox.replay({ task: first, endpoint: "app" });
    await simulation.pass(HOUR_MS);
    expect(new Set(Object.values((await states()) as object))).toEqual(new Set(["delivered"]));
  });
});

it("an endpoint that responds with 410 gets no other message than those in progress", async () => {
  const simulation = simulate(() => 410);
  for (let task = 0; task < 12; task++) await endTask(simulation.ledger, { webhooks: ["app"] });
  await simulation.pass(30_000);
  await simulation.sender.stop();

  expect(simulation.sent).toHaveLength(4);
  const states = (await simulation.messages()).map(({ state }) => state);
  expect(states.filter((state) => state === "given_up")).toHaveLength(4);
  expect(states.filter((state) => state === "waiting")).toHaveLength(8);
});

describe("a message", () => {
  it("that was sent by a process that died before it recorded that is sent again with the same id", async () => {
    const simulation = simulate(() => 200);
    await endTask(simulation.ledger, { webhooks: ["app"] });
    const isSent = Promise.withResolvers<void>();
    const dead = simulation.createSender({
      ...simulation.outbox,
      finish: () => {
        isSent.resolve();
        return new Promise(() => {});
      },
    });
    dead.wake();
    await isSent.promise;
    expect(simulation.sent).toHaveLength(1);

    await simulation.pass(30_000);
    expect(simulation.sent).toHaveLength(1);
    await simulation.pass(60_000);
    expect(simulation.sent).toHaveLength(2);
    const [one, two] = simulation.sent.map(({ request }) => request);
    expect(two?.headers["webhook-id"]).toBe(one?.headers["webhook-id"]);
    expect(two?.body).toBe(one?.body);
    expect(await simulation.messages()).toMatchObject([{ state: "delivered" }]);
  });

  it("whose attempt cannot be recorded is sent again, and the log says so", async () => {
    const simulation = simulate(() => 200);
    await endTask(simulation.ledger, { webhooks: ["app"] });
    const failing = simulation.createSender({
      ...simulation.outbox,
      finish: () => Promise.reject(new Error("the database is down")),
    });
    failing.wake();
    await vi.waitFor(() => expect(simulation.logs).toHaveLength(1));
    expect(simulation.logs[0]?.[2]).toBe("An attempt to send a webhook was not recorded; it is sent again.");
    await simulation.pass(120_000);

    expect(simulation.sent).toHaveLength(2);
    expect(await simulation.messages()).toMatchObject([{ state: "delivered" }]);
  });

  it("that was delivered is sent again by a replay, with the same id and a new series of attempts", async () => {
    const simulation = simulate(() => 200);
    const id = await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(60_000);
    expect(await simulation.outbox.replay({ task: id })).toBe(1);
    await simulation.pass(60_000);

    const { sent } = simulation;
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ request }) => request.headers["webhook-id"])).size).toBe(1);
    expect(await simulation.messages()).toMatchObject([{ state: "delivered", attempts: 1 }]);
  });

  it.each<[string, SimulationOptions]>([
    ["the endpoint", { endpoints: { me: {} } }],
    ["the caller", { endpoints: {} }],
    ["what a function returned", { endpoints: () => undefined }],
  ])("is given up if %s does not exist any more", async (_what, options) => {
    const simulation = simulate(() => 200, options);
    await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(60_000);

    expect(simulation.sent).toEqual([]);
    expect(await simulation.messages()).toMatchObject([
      { state: "given_up", lastError: "The caller has no endpoint with this name any more." },
    ]);
    expect(simulation.logs).toHaveLength(1);
    expect(await simulation.outbox.listDisabled()).toEqual([]);
  });

  it("waits while the operator's function fails, and the log says so", async () => {
    let isDown = true;
    const simulation = simulate(() => 200, {
      endpoints: () => {
        if (isDown) throw new Error("the database is down");
        return ENDPOINTS.me;
      },
    });
    await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(60_000);
    expect(await simulation.messages()).toMatchObject([{ state: "waiting" }]);
    expect(simulation.logs[0]).toMatchObject([
      "error",
      { caller: "me" },
      "The webhook endpoints could not be read.",
    ]);
    isDown = false;
    await simulation.pass(HOUR_MS);

    expect(await simulation.messages()).toMatchObject([{ state: "delivered" }]);
  });

  it("waits while there is no option webhooks", async () => {
    let endpoints: WebhookEndpoints | undefined;
    const simulation = simulate(() => 200, { find: () => endpoints });
    await endTask(simulation.ledger, { webhooks: ["app"] });
    await simulation.pass(60_000);
    expect(await simulation.messages()).toMatchObject([{ state: "waiting", attempts: 0 }]);
    endpoints = createWebhookEndpoints({ endpoints: ENDPOINTS });
    await simulation.pass(60_000);

    expect(await simulation.messages()).toMatchObject([{ state: "delivered" }]);
  });
});

/** Responses that the test ends. */
function hang(hosts: ReadonlySet<string>): { readonly respond: Respond; readonly release: () => void } {
  const released = Promise.withResolvers<number>();
  return {
    respond: ({ host }) => (hosts.has(host) ? released.promise : 200),
    release: () => released.resolve(200),
  };
}

/** Resolves when the sender has probably begun all that it can begin. */
async function settle({ sent }: Simulation): Promise<void> {
  let before: number;
  do {
    before = sent.length;
    await pause(30);
  } while (sent.length > before);
}

const countBy = (sent: readonly Sent[], host: string): number =>
  sent.filter((entry) => entry.host === host).length;

describe("endpoints that do not respond", () => {
  it("have at most 4 messages at the same time, and do not delay those of others", async () => {
    const { respond, release } = hang(new Set(["app.example"]));
    const simulation = simulate(respond);
    // More messages than the sender has at the same time.
    for (let task = 0; task < 400; task++) await endTask(simulation.ledger, { webhooks: ["app"] });
    for (let task = 0; task < 30; task++) await endTask(simulation.ledger, { webhooks: ["log"] });
    simulation.sender.wake();
    await vi.waitFor(() => expect(countBy(simulation.sent, "log.example")).toBe(30));
    expect(countBy(simulation.sent, "app.example")).toBe(4);

    release();
    await vi.waitFor(() => expect(countBy(simulation.sent, "app.example")).toBe(400));
    await simulation.sender.stop();
    const states = (await simulation.messages()).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["delivered"]));
    expect(simulation.sent).toHaveLength(430);
  });

  it("of many callers leave room for others", async () => {
    const callers = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const { respond, release } = hang(new Set(callers.map((caller) => `${caller}.example`)));
    const endpoints = Object.fromEntries(
      callers.map((caller) => [caller, { app: endpointAt(`${caller}.example`) }]),
    );
    const simulation = simulate(respond, { endpoints: { ...endpoints, ...ENDPOINTS } });
    for (const caller of callers) {
      for (let task = 0; task < 20; task++) await endTask(simulation.ledger, { caller, webhooks: ["app"] });
    }
    await endTask(simulation.ledger, { webhooks: ["log"] });
    simulation.sender.wake();
    await vi.waitFor(() => expect(countBy(simulation.sent, "log.example")).toBe(1));

    release();
    await vi.waitFor(() => expect(simulation.sent).toHaveLength(241));
    await simulation.sender.stop();
  });
});

describe("callers whose endpoints never respond", () => {
  it.each([
    [7, 10],
    [12, 2],
    [1, 10],
  ])("%d with %d endpoints each do not delay another caller", async (count, endpointsEach) => {
    // No lease ends while a busy machine takes its time.
    vi.useFakeTimers({ toFake: ["performance"] });
    const callers = Array.from({ length: count }, (_, index) => `c${index}`);
    const names = Array.from({ length: endpointsEach }, (_, index) => `e${index}`);
    const { respond, release } = hang(new Set(["silent.example"]));
    const silent = Object.fromEntries(names.map((name) => [name, endpointAt("silent.example")]));
    const endpoints = Object.fromEntries(callers.map((caller) => [caller, silent]));
    const simulation = simulate(respond, { endpoints: { ...endpoints, ...ENDPOINTS } });
    for (let task = 0; task < 12; task++) {
      for (const caller of callers) await endTask(simulation.ledger, { caller, webhooks: names });
    }
    simulation.sender.wake();
    await settle(simulation);

    for (let task = 1; task <= 20; task++) {
      await endTask(simulation.ledger, { webhooks: ["log"] });
      simulation.sender.wake();
    }
    await vi.waitFor(() => expect(countBy(simulation.sent, "log.example")).toBe(20));

    // Nothing is lost, and the senders of those callers get all of their messages at last.
    release();
    await vi.waitFor(
      () => expect(countBy(simulation.sent, "silent.example")).toBe(12 * count * endpointsEach),
      { timeout: 10_000 },
    );
    await simulation.sender.stop();
  });

  it("go on with their other endpoints as far as their share allows", async () => {
    const { respond, release } = hang(new Set(["app.example"]));
    const simulation = simulate(respond);
    for (let task = 0; task < 50; task++) await endTask(simulation.ledger, { webhooks: ["app", "log"] });
    simulation.sender.wake();
    await vi.waitFor(() => expect(countBy(simulation.sent, "log.example")).toBe(50));
    expect(countBy(simulation.sent, "app.example")).toBe(4);
    release();
    await simulation.sender.stop();
  });
});

it("an attempt that ends causes no look for messages if none was left out", async () => {
  const { ledger, outbox, createSender } = simulate(() => 200);
  for (let task = 0; task < 3; task++) await endTask(ledger, { webhooks: ["app"] });
  let looks = 0;
  const lease: Outbox["lease"] = (...args) => {
    looks++;
    return outbox.lease(...args);
  };
  const sender = createSender({ ...outbox, lease });
  sender.wake();
  await sender.idle();
  expect(looks).toBe(1);
  await sender.stop();
});

it("messages of more callers than a sender has room for are sent when others have ended", async () => {
  const callers = Array.from({ length: 300 }, (_, index) => `c${index}`);
  const endpoints = Object.fromEntries(callers.map((caller) => [caller, { app: endpointAt("app.example") }]));
  const { respond, release } = hang(new Set(["app.example"]));
  const simulation = simulate(respond, { endpoints });
  for (const caller of callers) await endTask(simulation.ledger, { caller, webhooks: ["app"] });
  simulation.sender.wake();
  await vi.waitFor(() => expect(simulation.sent).toHaveLength(256));
  release();
  await simulation.sender.idle();
  expect(simulation.sent).toHaveLength(300);
});

it("an endpoint that cannot be disabled after a 410 gets its message again, and the log says so", async () => {
  const simulation = simulate(() => 410);
  await endTask(simulation.ledger, { webhooks: ["app"] });
  const sender = simulation.createSender({
    ...simulation.outbox,
    setDisabled: () => Promise.reject(new Error("down")),
  });
  sender.wake();
  await sender.idle();
  expect(simulation.logs.map(([, , message]) => message)).toEqual([
    "An attempt to send a webhook was not recorded; it is sent again.",
  ]);
  expect(await simulation.messages()).toMatchObject([{ state: "waiting", attempts: 0 }]);
});

describe("messages that a sender leaves to the store", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("are those whose turn comes too late for their lease, and they are sent with the next one", async () => {
    const { respond, release } = hang(new Set(["app.example"]));
    const simulation = simulate(respond);
    for (let task = 0; task < 10; task++) await endTask(simulation.ledger, { webhooks: ["app"] });
    vi.useFakeTimers({ toFake: ["performance"] });
    simulation.sender.wake();
    await vi.waitFor(() => expect(simulation.sent).toHaveLength(4));
    vi.advanceTimersByTime(600_000);
    release();
    await simulation.sender.idle();
    expect(simulation.sent).toHaveLength(4);
    await simulation.pass(600_000);
    expect(simulation.sent).toHaveLength(10);
  });

  it("are those beyond the share of their caller, whichever endpoints they are for", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `e${index}`);
    const own = Object.fromEntries(names.map((name) => [name, endpointAt("app.example")]));
    const { respond, release } = hang(new Set(["app.example"]));
    const simulation = simulate(respond, { endpoints: { me: own } });
    // An endpoint of which the sender does not know yet must not go beyond the share either.
    for (const name of names) {
      for (let task = 0; task < 30; task++) await endTask(simulation.ledger, { webhooks: [name] });
    }
    simulation.sender.wake();
    const countLeased = async (): Promise<number> =>
      (await simulation.messages()).filter(({ nextAt }) => nextAt > simulation.now()).length;
    await vi.waitFor(async () => expect(await countLeased()).toBeGreaterThanOrEqual(100));
    await settle(simulation);
    expect(await countLeased()).toBeLessThanOrEqual(128 + 16);
    release();
    await simulation.sender.stop();
  });

  it.each(["after a 410", "because their lease is nearly over"])("%s no longer take room", async (why) => {
    let status: number | Promise<number> = 410;
    const simulation = simulate(() => status);
    vi.useFakeTimers({ toFake: ["performance"] });
    // Each round leaves several messages, and together more than the sender has room for.
    for (let round = 0; round < 24; round++) {
      const slow = Promise.withResolvers<number>();
      if (why !== "after a 410") status = slow.promise;
      for (let task = 0; task < 16; task++) await endTask(simulation.ledger, { webhooks: ["app"] });
      const before = simulation.sent.length;
      simulation.sender.wake();
      await vi.waitFor(() => expect(simulation.sent.length).toBeGreaterThanOrEqual(before + 4));
      // Longer than a lease.
      vi.advanceTimersByTime(600_000);
      slow.resolve(200);
      await simulation.sender.idle();
      await simulation.outbox.setDisabled("me", "app", false);
    }
    status = 200;
    await simulation.outbox.replay({ caller: "me" });
    await simulation.pass(60_000);
    const states = (await simulation.messages()).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["delivered"]));
  });
});

describe("a sender that stops", () => {
  it("waits for its attempts, and begins no further one", async () => {
    const response = Promise.withResolvers<number>();
    const simulation = simulate(() => response.promise);
    for (let task = 0; task < 10; task++) await endTask(simulation.ledger, { webhooks: ["app"] });
    simulation.sender.wake();
    await vi.waitFor(() => expect(simulation.sent).toHaveLength(4));
    let isStopped = false;
    const stopped = simulation.sender.stop().finally(() => {
      isStopped = true;
    });
    await setImmediate();
    expect(isStopped).toBe(false);
    response.resolve(200);
    await stopped;

    expect(simulation.sent).toHaveLength(4);
    expect((await simulation.messages()).filter(({ state }) => state === "delivered")).toHaveLength(4);
  });
});

it("messages that cannot be read are read later, and the log says so", async () => {
  const simulation = simulate(() => 200);
  await endTask(simulation.ledger, { webhooks: ["app"] });
  let isDown = true;
  const sender = simulation.createSender({
    ...simulation.outbox,
    lease: (kind, options) =>
      isDown ? Promise.reject(new Error("down")) : simulation.outbox.lease(kind, options),
  });
  sender.wake();
  await vi.waitFor(() => expect(simulation.logs).toHaveLength(1));
  expect(simulation.logs[0]?.[2]).toBe("The webhooks to send could not be read; retrying every 10 s.");
  isDown = false;
  sender.wake();
  await vi.waitFor(() => expect(simulation.sent).toHaveLength(1));
  await sender.stop();
});
