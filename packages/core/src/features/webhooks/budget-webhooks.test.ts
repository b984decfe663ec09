import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { serve } from "../../testing/start-server.js";
import { createTestGateway } from "../../testing/test-gateway.js";
import { createTransport } from "../../upstream/transport-node.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { CallerEndpoints } from "./webhook-options.js";

const SECRET = `whsec_${btoa("s".repeat(32))}`;
const PATIENCE = { timeout: 10_000 };
const START = Date.parse("2026-11-23T12:00:00Z");

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Responds with the status of the path, or not at all for a status of 0. */
async function startReceiver(statuses: Record<string, number> = {}) {
  const received: Received[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "", headers } = request;
    received.push({ path, headers, body: await text(request) });
    const status = statuses[path] ?? 204;
    if (status > 0) response.writeHead(status).end();
  };
  const server = await serve((request, response) => void respond(request, response));
  const at = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { url: `${server.url}/${name}`, secrets: [SECRET] }]));
  const sentTo = (path: string): readonly Received[] => received.filter((one) => one.path === path);
  return { received, statuses, at, sentTo };
}

function open(
  endpoints: Record<string, CallerEndpoints>,
  { timeoutSeconds = 30, ...options }: Partial<GatewayOptions> & { timeoutSeconds?: number } = {},
) {
  let now = START;
  const clock = (): number => now;
  const ledger = createMemoryLedger({ now: clock });
  const { gateway, logs } = createTestGateway(
    undefined,
    {
      ledger,
      webhooks: { endpoints: (caller) => endpoints[caller], allowHosts: ["127.0.0.1"], timeoutSeconds },
      tasks: { concurrency: 0 },
      ...options,
    },
    { now: clock, transport: createTransport() },
  );
  onTestFinished(() => gateway.close({ deadlineSeconds: 0 }));
  gateway.start();
  let count = 0;
  /** Charges a half of the budget of this month. */
  const spend = async (caller: string): Promise<void> => {
    const id = `req_${++count}`;
    const period = { unit: "month", timeZone: "UTC" } as const;
    const facts = { id, time: new Date(now).toISOString(), caller, group: "default", model: "m" };
    const call = { upstreamModel: "m", channel: "ark", operation: "generate" } as const;
    await ledger.hold({ ...facts, ...call, amount: "0.1", budget: "0.2", period, ttlMs: 60_000 });
    await ledger.settle({
      ...facts,
      ...call,
      state: "settled",
      status: 200,
      images: 1,
      charge: "0.1",
      durationMs: 1,
    });
  };
  return { gateway, logs, ledger, spend, pass: (ms: number) => (now += ms) };
}

const verify = ({ headers, body }: Received): unknown =>
  new Webhook(SECRET).verify(body, headers as Record<string, string>);

describe("an alert about a budget", () => {
  it("is sent to all endpoints of its caller, and verified by Standard Webhooks' own library", async () => {
    // The library refuses an old timestamp.
    const { received, at, sentTo } = await startReceiver();
    const { spend, ledger, logs, pass, gateway } = open({ me: at("app", "log") });
    pass(Date.now() - START);
    await spend("me");
    await vi.waitFor(() => expect(received).toHaveLength(2), PATIENCE);
    const [app, log] = [...sentTo("/app"), ...sentTo("/log")];
    for (const message of [app, log]) {
      expect(message && verify(message)).toEqual({
        type: "budget.threshold_reached",
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        data: {
          object: "budget.alert",
          caller: "me",
          threshold: 50,
          budget: "0.2",
          settled: "0.1",
          period: {
            unit: "month",
            time_zone: "UTC",
            starts_at: expect.any(Number),
            ends_at: expect.any(Number),
          },
        },
      });
    }
    expect(app?.headers["webhook-id"]).toMatch(/^msg_[\da-f]{32}$/);
    expect(log?.headers["webhook-id"]).toBe(app?.headers["webhook-id"]);

    await spend("me");
    await vi.waitFor(() => expect(received).toHaveLength(6), PATIENCE);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(3);
    await gateway.close();
    pass(3_600_000);
    expect(await ledger.outbox.lease("alert", { limit: 10, leaseMs: 1 })).toEqual([]);
    expect(logs).toEqual([]);
  });

  it("is sent to an endpoint that was down for a day, while the other receivers got it once", async () => {
    const { received, statuses, at, sentTo } = await startReceiver({ "/down": 500 });
    const alerts: BudgetAlert[] = [];
    const { gateway, spend, ledger, logs, pass } = open(
      { me: at("down", "app") },
      { onBudget: (alert) => void alerts.push(alert) },
    );
    await spend("me");
    await vi.waitFor(() => expect(received).toHaveLength(2), PATIENCE);
    // The gateway has read both responses: a lease does not end in between.
    await vi.waitFor(
      async () =>
        expect(await gateway.webhooks.list({ caller: "me" })).toMatchObject([
          { attempts: 1 },
          { attempts: 1 },
        ]),
      PATIENCE,
    );
    for (let minutes = 0; minutes < 24 * 60; minutes += 10) {
      pass(600_000);
      await gateway.runTasks();
    }
    // The schedule of all messages: after 5 s, 5 and 30 minutes, 2, 5, 10 and 10 hours.
    expect(sentTo("/down")).toHaveLength(7);
    statuses["/down"] = 200;
    for (let hours = 0; hours < 8; hours++) {
      pass(3_600_000);
      await gateway.runTasks();
    }
    expect(sentTo("/down")).toHaveLength(8);

    expect(new Set(sentTo("/down").map(({ body }) => body)).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect([sentTo("/app").length, alerts.length]).toEqual([1, 1]);
    expect(await ledger.outbox.lease("alert", { limit: 10, leaseMs: 1 })).toEqual([]);
    expect(logs).toEqual([]);
    const messages = await gateway.webhooks.list({ caller: "me" });
    expect(messages).toMatchObject([
      { endpoint: "app", alert: alerts[0]?.id, state: "delivered", attempts: 1 },
      { endpoint: "down", alert: alerts[0]?.id, state: "delivered", attempts: 8 },
    ]);
    pass(31 * 86_400_000);
    await spend("me");
    await gateway.runTasks();
    expect((await gateway.webhooks.list({ caller: "me" })).map(({ id }) => id)).not.toContain(
      messages[0]?.id,
    );
  });

  it("waits for no endpoint of another caller, nor for one of the same caller", async () => {
    const { at, sentTo } = await startReceiver({ "/hangs": 0 });
    const { spend } = open({ me: at("hangs", "app"), other: at("theirs") });
    await spend("me");
    await vi.waitFor(() => expect(sentTo("/hangs")).toHaveLength(1), PATIENCE);
    await spend("other");
    await spend("me");
    await vi.waitFor(() => expect(sentTo("/theirs")).toHaveLength(1), PATIENCE);
    await vi.waitFor(() => expect(sentTo("/app")).toHaveLength(3), PATIENCE);
    // One message at a time.
    expect(sentTo("/hangs")).toHaveLength(1);
  });

  it("is sent although onBudget fails, and onBudget is then called again alone", async () => {
    const { received, at } = await startReceiver();
    const onBudget = vi.fn<(alert: BudgetAlert) => void>(() => {
      if (onBudget.mock.calls.length === 1) throw new Error("not now");
    });
    const { gateway, spend, ledger, pass } = open({ me: at("app") }, { onBudget });
    await spend("me");
    await vi.waitFor(() => expect(received).toHaveLength(1), PATIENCE);
    await gateway.runTasks();
    pass(60_000);
    await gateway.runTasks();
    pass(60_000);
    await gateway.runTasks();
    expect(onBudget).toHaveBeenCalledTimes(2);
    expect(received).toHaveLength(1);
    expect(await ledger.outbox.lease("alert", { limit: 10, leaseMs: 1 })).toEqual([]);
  });

  it.each([
    ["an endpoint responds with 410", { "/app": 410 }, "app", 1],
    ["the caller has no endpoint", {}, "none", 0],
  ])("is not sent again if %s", async (_what, statuses, name, sent) => {
    const { received, at } = await startReceiver(statuses);
    const { gateway, spend, ledger, pass } = open({ [name === "app" ? "me" : "other"]: at(name) });
    await spend("me");
    await gateway.runTasks();
    await vi.waitFor(() => expect(received).toHaveLength(sent), PATIENCE);
    await gateway.close();
    pass(60_000);
    expect(await ledger.outbox.lease("alert", { limit: 10, leaseMs: 1 })).toEqual([]);
  });

  it("waits for endpoints that are not loaded yet", async () => {
    const { received, at } = await startReceiver();
    const loaded = Promise.withResolvers<void>();
    const alerts: BudgetAlert[] = [];
    const { gateway, spend, pass } = open(
      {},
      {
        onBudget: (alert) => void alerts.push(alert),
        webhooks: async () => {
          await loaded.promise;
          return { endpoints: { me: at("app") }, allowHosts: ["127.0.0.1"] };
        },
      },
    );
    await spend("me");
    expect(alerts).toEqual([]);
    loaded.resolve();
    await gateway.reload();
    pass(60_000);
    await gateway.runTasks();
    await vi.waitFor(() => expect(received).toHaveLength(1), PATIENCE);
    expect(alerts).toHaveLength(1);
  });
});
