import { expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  cutOffWhenPolled,
  DONE,
  GONE,
  openDarkroom,
  openWaitingDarkroom,
  until,
} from "../../testing/open-darkroom.js";
import type { Provider, TestGateway } from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { TaskLedger } from "../task-store/task-store.js";

/** Sends a request, and cuts the gateway off when the provider has been polled. */
async function cutOff(
  ledger: TaskLedger,
  fields: object = {},
  options?: Partial<GatewayOptions>,
): Promise<TestGateway> {
  const first = openWaitingDarkroom(ledger, options);
  const response = first.post({ model: "film", prompt: "a secret prompt", ...fields });
  await cutOffWhenPolled(first);
  expect(await response).toMatchObject({ status: 502 });
  return first;
}

const hasSettled = (ledger: TaskLedger) => async (): Promise<boolean> =>
  (await ledger.balance("me")).held === "0";

/** Opens the next gateway, and waits until it has settled what the first one left. */
async function settleNext(
  ledger: TaskLedger,
  provider: Provider,
  options?: Partial<GatewayOptions>,
): Promise<TestGateway> {
  const next = openDarkroom(ledger, provider, options);
  next.gateway.start();
  await until(hasSettled(ledger));
  await next.gateway.close();
  return next;
}

it("a request whose process ended is continued by the next one, and charged for what the provider made", async () => {
  const ledger = createMemoryLedger();
  const first = await cutOff(ledger);
  expect(first.records).toEqual([]);
  expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.1" });
  const next = await settleNext(ledger, () => Response.json(DONE));

  expect(next.calls.map(({ url }) => url)).toEqual(["https://darkroom.test/v1/jobs/t1"]);
  expect(next.records).toMatchObject([
    { state: "settled", images: 1, charge: "0.1", upstreamRequestId: "t1", channel: "one" },
  ]);
  expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
});

it("of several images, each job is continued, and nothing is submitted", async () => {
  const ledger = createMemoryLedger();
  await cutOff(ledger, { n: 3 });
  const next = await settleNext(ledger, () => Response.json(DONE));

  expect(next.calls.map(({ url }) => url).toSorted()).toEqual(
    ["t1", "t2", "t3"].map((job) => `https://darkroom.test/v1/jobs/${job}`),
  );
  expect(next.records).toMatchObject([{ images: 3, charge: "0.3" }]);
});

const withKeys = (...apiKey: string[]): Partial<GatewayOptions> => ({
  channels: [{ id: "one", family: "darkroom", apiKey }],
});

it.each([
  ["that submitted it, at any place in the options", ["canary-two", "canary-one"], "canary-one"],
  ["of the same channel, if the one that submitted it is gone", ["canary-two"], "canary-two"],
])("a job is polled with the key %s", async (_which, keys, polledWith) => {
  const ledger = createMemoryLedger();
  const first = await cutOff(ledger, {}, withKeys("canary-one"));
  const next = await settleNext(ledger, () => Response.json(DONE), withKeys(...keys));

  expect(first.calls[0]?.headers.get("x-key")).toBe("canary-one");
  expect(next.calls.map(({ headers }) => headers.get("x-key"))).toEqual([polledWith]);
  expect(next.records).toMatchObject([{ images: 1, charge: "0.1" }]);
});

it("a request whose job made nothing costs nothing, although onLost charges", async () => {
  const ledger = createMemoryLedger();
  await cutOff(ledger);
  const next = await settleNext(ledger, () =>
    Response.json({ state: "failed", kind: "content", why: "no_swans" }),
  );

  expect(next.records).toMatchObject([{ state: "settled", images: 0, charge: "0", errorCode: "no_swans" }]);
});

it("a request that is cut off a second time is continued a second time", async () => {
  const ledger = createMemoryLedger();
  await cutOff(ledger);
  const second = openDarkroom(ledger, () => Response.json({ state: "pending" }));
  second.gateway.start();
  await until(() => second.calls.length > 0);
  await second.gateway.close({ deadlineSeconds: 0.01 });
  expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.1" });
  const third = await settleNext(ledger, () => Response.json(DONE));

  expect(third.records).toMatchObject([{ images: 1, charge: "0.1" }]);
});

it("a request that was cut off before it was accepted is lost", async () => {
  const ledger = createMemoryLedger();
  const first = openDarkroom(ledger, () => new Promise(() => undefined));
  // This provider never responds.
  void first.post({ model: "film", prompt: "p" });
  await until(() => first.calls.length > 0);
  await first.gateway.close({ deadlineSeconds: 0.01 });

  expect(first.unresolved).toMatchObject([{ state: "unresolved", charge: "0.1" }]);
});

it.each(Object.entries(GONE))(
  "the money of a request whose %s is gone follows onLost",
  async (_name, options) => {
    const ledger = createMemoryLedger();
    await cutOff(ledger);
    const next = await settleNext(ledger, () => Response.json(DONE), options);

    expect(next.calls).toEqual([]);
    expect(next.records).toMatchObject([{ state: "settled", images: 0, charge: "0.1" }]);
  },
);

it("what is kept has neither the prompt nor the key", async () => {
  const ledger = createMemoryLedger();
  await cutOff(ledger);
  const [kept] = (await ledger.takeKept?.({ limit: 9, ttlMs: 1000 })) ?? [];

  expect(kept?.upstream).toMatch(/\bt1\b/);
  expect(kept?.upstream).not.toMatch(/secret|canary/);
});

it("what a gateway cannot read is left to the sweep", async () => {
  const ledger = createMemoryLedger();
  await ledger.hold({
    id: "req_1",
    time: new Date().toISOString(),
    caller: "me",
    group: "default",
    model: "film",
    operation: "generate",
    amount: "0.1",
    ttlMs: 60_000,
  });
  await ledger.keepUpstream?.("req_1", '{"version":2}');
  await ledger.sweep({ onLost: "charge", own: true });
  const next = openDarkroom(ledger, () => Response.json(DONE));
  next.gateway.start();
  await until(() => next.logs.some(({ message }) => message.includes("cannot be continued")));
  await next.gateway.close();

  expect(next.calls).toEqual([]);
  expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.1" });
});

it("with concurrency 0, only runTasks continues requests", async () => {
  const ledger = createMemoryLedger();
  await cutOff(ledger);
  const next = openDarkroom(ledger, () => Response.json(DONE), { tasks: { concurrency: 0 } });
  next.gateway.start();
  await next.gateway.runTasks({ seconds: 0 });

  expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
  await next.gateway.close();
});
