import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { endTask } from "../../testing/end-task.js";
import { serve } from "../../testing/start-server.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  createTestGateway,
  DASHSCOPE_KEY,
  type TestGateway,
} from "../../testing/test-gateway.js";
import { createTransport } from "../../upstream/transport-node.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { TaskLedger } from "../task-store/task-store.js";
import type { WebhooksOptions } from "./webhook-options.js";

const SECRET = `whsec_${btoa("s".repeat(32))}`;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The status of the next responses. */
  status: number;
  /** Responses wait for it. */
  until: Promise<unknown>;
}

async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const receiver = { url: "", received, status: 200, until: Promise.resolve() as Promise<unknown> };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "", headers } = request;
    received.push({ path, headers, body: await text(request) });
    const { status } = receiver;
    await receiver.until;
    response.writeHead(status).end();
  };
  const server = await serve((request, response) => void respond(request, response));
  receiver.url = server.url;
  return receiver;
}

const toOptions = ({ url }: Receiver): WebhooksOptions => ({
  endpoints: {
    me: { app: { url: `${url}/app`, secrets: [SECRET] }, log: { url: `${url}/log`, secrets: [SECRET] } },
  },
  allowHosts: ["127.0.0.1"],
});

interface OpenGateway extends TestGateway {
  readonly ledger: TaskLedger;
}

function open(options: Partial<GatewayOptions>, ledger: TaskLedger = createMemoryLedger()): OpenGateway {
  // `endTask` takes the place of the worker. Webhooks are sent by the gateway's own transport, because the test gateway
  // gives every request of its `fetch` to the provider.
  const transport = createTransport();
  const test = createTestGateway(undefined, { ledger, tasks: { concurrency: 0 }, ...options }, { transport });
  onTestFinished(() => test.gateway.close());
  return { ...test, ledger };
}

/** Any request starts the gateway's maintenance. */
const start = ({ post }: OpenGateway): Promise<unknown> => post("{");

const names = ({ received }: Receiver): readonly string[] =>
  received.map(({ path }) => path).toSorted((a, b) => a.localeCompare(b));

describe("the end of a task", () => {
  it("is told to its endpoints at once, by messages that Standard Webhooks' own library verifies", async () => {
    const receiver = await startReceiver();
    const gateway = open({ webhooks: toOptions(receiver) });
    await start(gateway);
    const task = await endTask(gateway.ledger, { webhooks: ["app", "log"] });
    await vi.waitFor(() => expect(names(receiver)).toEqual(["/app", "/log"]));

    for (const { headers, body } of receiver.received) {
      const payload = new Webhook(SECRET).verify(body, headers as Record<string, string>);
      expect(payload).toMatchObject({
        type: "image.task.completed",
        data: { id: task, object: "image.task", status: "completed", result: { data: [] } },
      });
    }
    await vi.waitFor(async () =>
      expect(await gateway.gateway.webhooks.list({ task })).toMatchObject([
        { state: "delivered" },
        { state: "delivered" },
      ]),
    );
    expect(gateway.logs).toEqual([]);
  });

  it.each([
    ["all endpoints of its caller", {}, ["/app", "/log"]],
    ["the endpoint that its request named", { "x-calotype-webhook": "log" }, ["/log"]],
  ])("is told to %s", async (_what, header, paths) => {
    const receiver = await startReceiver();
    const provider = await serve((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(ARK_RESPONSE));
    });
    const { post } = open({
      webhooks: toOptions(receiver),
      tasks: undefined,
      channels: [
        { id: "ark", family: "seedream", apiKey: ARK_KEY, baseUrl: provider.url },
        { id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY },
      ],
    });
    const submitted = await post(
      { model: "seedream-4-5-251128", prompt: "a cat" },
      { prefer: "respond-async", ...header },
    );
    expect(submitted.status).toBe(202);
    await vi.waitFor(() => expect(names(receiver)).toEqual(paths));

    const [{ headers, body } = { headers: {}, body: "" }] = receiver.received;
    expect(new Webhook(SECRET).verify(body, headers as Record<string, string>)).toMatchObject({
      type: "image.task.completed",
      data: {
        id: submitted.body.id,
        status: "completed",
        result: { data: [{ url: ARK_RESPONSE.data[0]?.url }] },
      },
    });
  });

  it("is told after a restart, to endpoints that take time to load", async () => {
    const receiver = await startReceiver();
    const first = open({});
    await start(first);
    await endTask(first.ledger, { webhooks: ["app"] });
    await first.gateway.close();
    expect(receiver.received).toEqual([]);

    const second = open({ webhooks: async () => toOptions(receiver) }, first.ledger);
    await second.gateway.reload();
    await start(second);
    await vi.waitFor(() => expect(names(receiver)).toEqual(["/app"]));
  });

  it("cannot be told to an unknown endpoint: the submission is refused", async () => {
    const receiver = await startReceiver();
    const { post } = open({ webhooks: toOptions(receiver) });
    const response = await post(
      { model: "seedream-4-5-251128", prompt: "a cat" },
      { prefer: "respond-async", "x-calotype-webhook": "https://example.com" },
    );

    expect(response).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request_error", param: "x-calotype-webhook" } },
    });
    expect(response.text).toContain("The names are app, log.");
  });

  it("is told by runTasks, for hosts without timers", async () => {
    const receiver = await startReceiver();
    const gateway = open({ webhooks: toOptions(receiver) });
    await endTask(gateway.ledger, { webhooks: ["app", "log"] });
    await gateway.gateway.runTasks();

    expect(await gateway.gateway.webhooks.list({ state: "delivered" })).toHaveLength(2);
    expect(names(receiver)).toEqual(["/app", "/log"]);
  });

  it("is told to the endpoints that a reload brought", async () => {
    const [old, current] = [await startReceiver(), await startReceiver()];
    let options = toOptions(old);
    const gateway = open({ webhooks: () => options });
    options = toOptions(current);
    await gateway.gateway.reload();
    await start(gateway);
    await endTask(gateway.ledger, { webhooks: ["app"] });

    await vi.waitFor(() => expect(names(current)).toEqual(["/app"]));
    expect(old.received).toEqual([]);
  });

  it("is not sent without the option webhooks", async () => {
    const gateway = open({});
    await start(gateway);
    await endTask(gateway.ledger, { webhooks: ["app"] });
    await gateway.gateway.close();

    expect(await gateway.gateway.webhooks.list()).toMatchObject([{ state: "waiting", attempts: 0 }]);
  });
});

describe("gateway.close", () => {
  it("waits for the attempts in progress, and begins no further one", async () => {
    const receiver = await startReceiver();
    const response = Promise.withResolvers<void>();
    receiver.until = response.promise;
    const gateway = open({ webhooks: toOptions(receiver) });
    await start(gateway);
    await endTask(gateway.ledger, { webhooks: ["app"] });
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    const closed = gateway.gateway.close();
    response.resolve();
    await closed;
    await endTask(gateway.ledger, { webhooks: ["log"] });
    await gateway.gateway.webhooks.replay({ endpoint: "log" });

    expect(names(receiver)).toEqual(["/app"]);
    expect(await gateway.gateway.webhooks.list()).toMatchObject([
      { endpoint: "log", state: "waiting" },
      { endpoint: "app", state: "delivered" },
    ]);
  });

  it("waits for an endpoint at most until the deadline and a little longer", async () => {
    const receiver = await startReceiver();
    receiver.until = new Promise(() => {});
    const gateway = open({ webhooks: toOptions(receiver) });
    await start(gateway);
    await endTask(gateway.ledger, { webhooks: ["app"] });
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    const startedAt = performance.now();
    await gateway.gateway.close({ deadlineSeconds: 0.1 });

    expect(performance.now() - startedAt).toBeLessThan(6_000);
    expect(gateway.logs).toContainEqual({
      level: "warn",
      fields: {},
      message: "Webhooks were being sent when the gateway had to end; they are sent again.",
    });
    expect(gateway.logs).not.toContainEqual(
      expect.objectContaining({ message: expect.stringContaining("onUsage") }),
    );
  });

  it("does not wait for an endpoint longer than the endpoint may take", async () => {
    const receiver = await startReceiver();
    receiver.until = new Promise(() => {});
    const gateway = open({ webhooks: { ...toOptions(receiver), timeoutSeconds: 0.2 } });
    await start(gateway);
    await endTask(gateway.ledger, { webhooks: ["app"] });
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    await gateway.gateway.close();

    expect(await gateway.gateway.webhooks.list()).toMatchObject([
      { state: "waiting", attempts: 1, lastError: "The endpoint did not respond in time." },
    ]);
  });
});

describe("gateway.webhooks", () => {
  it("lists messages by caller, endpoint, task and state, the newest first, without secrets", async () => {
    const receiver = await startReceiver();
    receiver.status = 500;
    const gateway = open({ webhooks: toOptions(receiver) });
    await start(gateway);
    const task = await endTask(gateway.ledger, { webhooks: ["app"] });
    await vi.waitFor(async () =>
      expect(await gateway.gateway.webhooks.list({ state: "waiting" })).toMatchObject([{ attempts: 1 }]),
    );
    receiver.status = 200;
    await endTask(gateway.ledger, { webhooks: ["app"] });
    const { webhooks } = gateway.gateway;
    await vi.waitFor(async () => expect(await webhooks.list({ state: "delivered" })).toHaveLength(1));

    expect(await webhooks.list({ task })).toEqual([
      {
        id: expect.stringMatching(/^msg_[\da-f]{32}$/),
        task,
        caller: "me",
        endpoint: "app",
        state: "waiting",
        attempts: 1,
        nextAt: expect.any(Number),
        lastError: "The endpoint responded with status 500.",
      },
    ]);
    expect(await webhooks.list({}, 1)).toMatchObject([{ state: "delivered" }]);
    expect(await webhooks.list({ caller: "me", endpoint: "app" })).toHaveLength(2);
    expect(await webhooks.list({ caller: "other" })).toEqual([]);
    expect(JSON.stringify(await webhooks.list())).not.toContain("whsec_");
  });

  it("sends messages again with replay, also in a process that gets no requests", async () => {
    const receiver = await startReceiver();
    const gateway = open({ webhooks: toOptions(receiver) });
    await start(gateway);
    const task = await endTask(gateway.ledger, { webhooks: ["app"] });
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    await gateway.gateway.close();

    const script = open({ webhooks: toOptions(receiver) }, gateway.ledger);
    expect(await script.gateway.webhooks.replay({ task })).toBe(1);
    await vi.waitFor(() => expect(receiver.received).toHaveLength(2));
    const [one, two] = receiver.received;
    expect(two?.headers["webhook-id"]).toBe(one?.headers["webhook-id"]);
    expect(two?.body).toBe(one?.body);
  });

  it("shows and enables an endpoint that responded with 410", async () => {
    const receiver = await startReceiver();
    receiver.status = 410;
    const gateway = open({ webhooks: toOptions(receiver) });
    await start(gateway);
    await endTask(gateway.ledger, { webhooks: ["app"] });
    const { webhooks } = gateway.gateway;
    await vi.waitFor(async () =>
      expect(await webhooks.listDisabled()).toEqual([{ caller: "me", endpoint: "app" }]),
    );
    await endTask(gateway.ledger, { webhooks: ["app"] });
    receiver.status = 200;
    await webhooks.enable("me", "app");

    await vi.waitFor(async () => expect(await webhooks.list({ state: "delivered" })).toHaveLength(1));
    expect(await webhooks.listDisabled()).toEqual([]);
    expect(receiver.received).toHaveLength(2);
  });

  it.each<[string, unknown]>([
    ["replay needs at least one of caller, endpoint, task, state.", {}],
    ["replay needs at least one of caller, endpoint, task, state.", { caller: undefined }],
    ["The filter has only caller, endpoint, task, state, not tasks.", { tasks: "task_1" }],
    ["The filter must be an object of caller, endpoint, task, state.", undefined],
    ["The filter must be an object of caller, endpoint, task, state.", "task_1"],
    ["task must be a string.", { task: ["task_1"] }],
    ["state must be one of waiting, delivered, given_up.", { state: "failed" }],
  ])("replays nothing for a wrong filter: %s", async (message, filter) => {
    const { gateway } = open({});
    await expect(gateway.webhooks.replay(filter as never)).rejects.toThrow(new RangeError(message));
  });

  it.each([0, 1_001, 1.5, Number.NaN])("lists nothing for the limit %d", async (limit) => {
    const { gateway } = open({});
    await expect(gateway.webhooks.list({}, limit)).rejects.toThrow(
      "limit must be a whole number from 1 to 1000, not",
    );
  });

  it("rejects with a ledger that has no outbox", async () => {
    const { outbox: _outbox, ...ledger } = createMemoryLedger();
    const { gateway } = open({ ledger });
    const { webhooks } = gateway;
    const calls = [
      webhooks.list(),
      webhooks.replay({ caller: "me" }),
      webhooks.enable("me", "app"),
      webhooks.listDisabled(),
    ];
    for (const call of calls)
      await expect(call).rejects.toThrow("The ledger has no outbox, so there are no webhooks");
  });
});
