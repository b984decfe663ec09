import { describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  cutOffWhenPolled,
  DONE,
  openDarkroom,
  openWaitingDarkroom,
  until,
} from "../../testing/open-darkroom.js";
import { ASYNC, openTaskGateway } from "../../testing/task-gateway.js";
import { ARK_RESPONSE, CALLER_KEY, createTestGateway, type Provider } from "../../testing/test-gateway.js";
import { createMemoryAdmissionStore } from "../limits/memory-store.js";
import type { AdmissionStore } from "../limits/store.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";

const BODY = { model: "doodle", prompt: "a fox" };
const [FIRST, SECOND] = [
  { id: "one", family: "seedream", apiKey: "canary-one", baseUrl: "https://one.test", priority: 1 },
  { id: "two", family: "seedream", apiKey: "canary-two", baseUrl: "https://two.test" },
];
const SINGLE: Partial<GatewayOptions> = { models: { doodle: { family: "seedream" } }, channels: [FIRST] };
const DOUBLE: Partial<GatewayOptions> = { ...SINGLE, channels: [FIRST, SECOND] };
const PAUSED = { status: 503, body: { error: { code: "model_paused", param: "model" } } };

function hostsOf(calls: readonly { readonly url: string }[]): readonly string[] {
  return calls.map(({ url }) => new URL(url).hostname);
}

/** A gateway whose clock the test moves. */
function openAt(options: Partial<GatewayOptions>, provider?: Provider) {
  const clock = { now: Date.parse("2026-11-21T09:00:00Z") };
  const test = createTestGateway(provider, options, { now: () => clock.now });
  return { ...test, clock };
}

describe("a paused channel", () => {
  it("gets no request while another one serves, and gets requests again after it is resumed", async () => {
    const { gateway, post, calls, logs, clock } = openAt(DOUBLE);
    const paused = await gateway.pauseChannel("one", { by: "kim", note: "The provider is migrating." });
    expect(paused).toMatchObject({
      id: "one",
      state: "paused",
      since: "2026-11-21T09:00:00.000Z",
      pause: { by: "kim", note: "The provider is migrating." },
    });
    expect(paused).not.toHaveProperty("nextTryAt");
    clock.now += 400 * 24 * 3_600_000;
    expect((await post(BODY)).status).toBe(200);
    expect(gateway.status().channels).toMatchObject([{ state: "paused" }, { state: "ready" }]);

    expect(await gateway.resumeChannel("one", { by: "lee" })).toMatchObject({ state: "ready" });
    expect((await post(BODY)).status).toBe(200);
    expect(hostsOf(calls)).toEqual(["two.test", "one.test"]);
    expect(logs).toMatchObject([
      { message: "A channel was paused.", fields: { channel: "one", by: "kim" } },
      { message: "A channel was resumed.", fields: { channel: "one", by: "lee" } },
    ]);
  });

  it("is not used for a retry either, also if it is paused during the request", async () => {
    const { gateway, post, calls } = openAt(DOUBLE, async ({ url }) => {
      if (url.startsWith("https://one.test")) {
        await gateway.pauseChannel("two");
        return Response.json({ error: { code: "ServerOverloaded", message: "busy" } }, { status: 503 });
      }
      return Response.json(ARK_RESPONSE);
    });
    expect((await post(BODY)).status).toBe(502);
    expect(hostsOf(calls)).toEqual(["one.test"]);
  });

  it("ends the calls in progress as if nothing had happened", async () => {
    const gate = Promise.withResolvers<void>();
    const { gateway, post, calls } = openAt(SINGLE, async () => {
      await gate.promise;
      return Response.json(ARK_RESPONSE);
    });
    const response = post(BODY);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    await gateway.pauseChannel("one");
    gate.resolve();
    expect((await response).status).toBe(200);
  });

  it("is used again when the time of the pause is over", async () => {
    const { gateway, post, clock } = openAt(SINGLE);
    const paused = await gateway.pauseChannel("one", { seconds: 90 });
    expect(paused).toMatchObject({ nextTryAt: "2026-11-21T09:01:30.000Z" });
    clock.now += 89_999;
    expect(await post(BODY)).toMatchObject(PAUSED);
    clock.now += 1;
    expect((await post(BODY)).status).toBe(200);
    expect(gateway.status().channels).toMatchObject([{ id: "one", state: "ready" }]);
  });

  it("can be probed, and stays paused after the probe", async () => {
    const { gateway, post } = openAt(SINGLE);
    await gateway.pauseChannel("one");
    expect(await gateway.probeChannel("one")).toMatchObject({ ok: true });
    expect(gateway.status().channels).toMatchObject([{ state: "paused" }]);
    expect(await post(BODY)).toMatchObject(PAUSED);
  });

  it("refuses the requests for a model that no other channel serves: nothing is sent, held or remembered", async () => {
    const { gateway, post, calls, records } = openAt({
      ...SINGLE,
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.3" } } },
      limits: { concurrent: 1 },
    });
    await gateway.pauseChannel("one");
    const key = { "idempotency-key": "one" };
    for (let times = 0; times < 2; times++) {
      const response = await post(BODY, key);
      expect(response).toMatchObject(PAUSED);
      expect(response.headers.get("retry-after")).toBe("60");
      expect(response.headers.get("x-should-retry")).toBe("false");
    }
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
    await gateway.resumeChannel("one");
    // Its slot and its idempotency key are free.
    expect((await post(BODY, key)).status).toBe(200);
    expect([calls.length, records.length]).toEqual([1, 1]);
  });

  it("stays paused when the options are loaded again, and when it was away in between", async () => {
    const store = { channels: [FIRST, SECOND] };
    const { gateway, post, calls } = openAt({ ...SINGLE, channels: async () => store.channels });
    await gateway.pauseChannel("one");
    store.channels = [SECOND];
    await gateway.reload();
    await expect(gateway.resumeChannel("one")).rejects.toMatchObject({ code: "channel_not_found" });
    store.channels = [{ ...FIRST, apiKey: "canary-new-key" }, SECOND];
    await gateway.reload();
    expect((await post(BODY)).status).toBe(200);
    expect(hostsOf(calls)).toEqual(["two.test"]);
  });

  it.each([
    ["an unknown channel", "nope", {}, "channel_not_found"],
    ["0 seconds", "one", { seconds: 0 }, "invalid_request_error"],
    ["NaN seconds", "one", { seconds: Number.NaN }, "invalid_request_error"],
    ["more than a year", "one", { seconds: 31_536_001 }, "invalid_request_error"],
    ["a long note", "one", { note: "é".repeat(257) }, "invalid_request_error"],
    ["a long name in by", "one", { by: "é".repeat(257) }, "invalid_request_error"],
  ])("with %s is refused", async (_what, id, options, code) => {
    const { gateway } = openAt(SINGLE);
    await expect(gateway.pauseChannel(id, options)).rejects.toMatchObject({ code });
    expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
  });

  it.each([null, "an hour", 60, ["by"]])(
    "is not changed with %j in place of the options",
    async (options) => {
      const { gateway } = openAt(SINGLE);
      const refused = { code: "invalid_request_error", message: "The options must be an object." };

      for (const name of ["pauseChannel", "resumeChannel", "probeChannel"] as const) {
        await expect(gateway[name]("one", options as never)).rejects.toMatchObject(refused);
      }
      expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
    },
  );

  it("makes the channels fail in healthz, and is not changed after the gateway has closed", async () => {
    const { gateway } = openAt({ ...SINGLE, healthz: true });
    const check = async (): Promise<unknown> => {
      const response = await gateway.fetch(new Request("http://gateway.test/healthz"));
      return response.json();
    };
    expect(await check()).toMatchObject({ channels: "ok" });
    await gateway.pauseChannel("one");
    expect(await check()).toMatchObject({ channels: "failing" });
    await gateway.close();
    await expect(gateway.resumeChannel("one")).rejects.toMatchObject({ code: "gateway_closed" });
  });

  it("is a skipped route in telemetry", async () => {
    const skipped: object[] = [];
    const { gateway, post } = openAt({
      ...DOUBLE,
      telemetry: { callStarted: () => ({ routeSkipped: (route) => void skipped.push(route) }) },
    });
    await gateway.pauseChannel("one");
    await post(BODY);
    expect(skipped).toMatchObject([{ channel: "one", scope: "channel", reason: "paused", isProbed: false }]);
  });
});

describe("a pause and the admission store", () => {
  it("is known to another gateway with its next request, or after ten seconds without one", async () => {
    const admission = createMemoryAdmissionStore();
    const first = createTestGateway(undefined, { ...DOUBLE, admission });
    const busy = createTestGateway(undefined, { ...DOUBLE, admission });
    const rounds: (() => void)[] = [];
    const idle = createTestGateway(
      undefined,
      { ...DOUBLE, admission },
      {
        repeat(work) {
          rounds.push(work);
          return () => {};
        },
      },
    );
    await first.gateway.pauseChannel("one", { note: "Why." });
    idle.gateway.start();

    expect((await busy.post(BODY)).status).toBe(200);
    expect(hostsOf(busy.calls)).toEqual(["two.test"]);
    await expect.poll(() => idle.gateway.status().channels[0]?.pause).toMatchObject({ note: "Why." });
    await first.gateway.resumeChannel("one");
    for (const round of rounds) round();
    await expect.poll(() => idle.gateway.status().channels[0]?.state).toBe("ready");
    expect(busy.gateway.status().channels[0]?.state).toBe("paused");
    expect((await busy.gateway.checkStatus()).channels).toMatchObject([
      { state: "ready" },
      { state: "ready" },
    ]);
    await first.gateway.pauseChannel("one");
    await busy.gateway.checkStatus();
    await first.gateway.resumeChannel("one");
    await busy.post(BODY);
    expect(busy.gateway.status().channels[0]?.state).toBe("ready");
    for (const { gateway } of [first, busy, idle]) await gateway.close();
  });

  it("is not reported as done if the store fails or forgets it", async () => {
    const memory = createMemoryAdmissionStore();
    const stores: readonly AdmissionStore[] = [
      { ...memory, setPause: () => Promise.reject(new Error("away")) },
      { ...memory, setPause: async () => {} },
    ];
    for (const admission of stores) {
      const { gateway, post } = createTestGateway(undefined, { ...SINGLE, admission });
      await expect(gateway.pauseChannel("one")).rejects.toMatchObject({ code: "gateway_unavailable" });
      expect((await gateway.checkStatus()).channels).toMatchObject([{ id: "one", state: "ready" }]);
      expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
      expect((await post(BODY)).status).toBe(200);
    }
  });

  it("logs each outage of the store once", async () => {
    const memory = createMemoryAdmissionStore();
    let isAway = false;
    const admission: AdmissionStore = {
      ...memory,
      admit: (request) => (isAway ? Promise.reject(new Error("away")) : memory.admit(request)),
    };
    const { gateway, logs } = createTestGateway(undefined, { ...SINGLE, admission });
    for (const state of [true, true, false, true]) {
      isAway = state;
      await gateway.checkStatus();
    }
    expect(logs.filter(({ message }) => message.includes("pauses of channels"))).toHaveLength(2);
  });

  it("is not reported as ended while the store is away and replies from memory", async () => {
    const admission: AdmissionStore = {
      ...createMemoryAdmissionStore(),
      ping: () => Promise.reject(new Error("away")),
    };
    const { gateway } = createTestGateway(undefined, { ...SINGLE, admission });
    await expect(gateway.resumeChannel("one")).rejects.toMatchObject({ code: "gateway_unavailable" });
  });

  it("is replaced in other gateways too by one that began in the same millisecond", async () => {
    const clock = { now: Date.parse("2026-11-21T09:00:00Z") };
    const now = (): number => clock.now;
    const admission = createMemoryAdmissionStore({ now });
    const [first, other] = [1, 2].map(() => createTestGateway(undefined, { ...SINGLE, admission }, { now }));
    await first?.gateway.pauseChannel("one", { seconds: 10 });
    expect(await other?.post(BODY)).toMatchObject(PAUSED);
    await first?.gateway.pauseChannel("one");
    clock.now += 10_000;
    expect(await other?.post(BODY)).toMatchObject(PAUSED);
  });

  it("is not undone by a reply of the store that is older than it", async () => {
    const memory = createMemoryAdmissionStore();
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const admission: AdmissionStore = {
      ...memory,
      async admit(request) {
        const decision = await memory.admit(request);
        if (request.caller !== "me") return decision;
        asked.resolve();
        await gate.promise;
        return decision;
      },
    };
    const { gateway, post } = createTestGateway(undefined, { ...SINGLE, admission });
    const response = post(BODY);
    await asked.promise;
    await gateway.pauseChannel("one");
    gate.resolve();
    await response;
    expect(gateway.status().channels).toMatchObject([{ state: "paused" }]);
  });

  it("is known to its own process only if the store keeps no pauses", async () => {
    const memory = createMemoryAdmissionStore();
    const admission: AdmissionStore = {
      admit: (request) => memory.admit(request),
      finish: (request, outcome) => memory.finish(request, outcome),
      setCooldown: (channel, cooldown) => memory.setCooldown(channel, cooldown),
    };
    const [first, other] = [1, 2].map(() => createTestGateway(undefined, { ...SINGLE, admission }));
    await first?.gateway.pauseChannel("one");
    await first?.gateway.checkStatus();
    expect(await first?.post(BODY)).toMatchObject(PAUSED);
    expect((await other?.post(BODY))?.status).toBe(200);
    await first?.gateway.resumeChannel("one");
    expect((await first?.post(BODY))?.status).toBe(200);
  });
});

describe("tasks of a paused model", () => {
  it("are refused when they are submitted", async () => {
    const { gateway, post, ledger } = openTaskGateway(undefined, SINGLE);
    await gateway.pauseChannel("one");
    expect(await post(BODY, ASYNC)).toMatchObject(PAUSED);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("wait in the queue until the channel is resumed", async () => {
    const callers = [{ id: "me", key: CALLER_KEY, limits: { concurrent: 1 } }];
    const memory = createMemoryAdmissionStore();
    let refused = 0;
    const admission: AdmissionStore = {
      ...memory,
      async admit(request) {
        const decision = await memory.admit(request);
        if (decision.kind === "admitted" && decision.pauses?.["one"] && request.caller === "me") refused++;
        return decision;
      },
    };
    const gate = Promise.withResolvers<void>();
    const { gateway, post, ended, ledger, calls } = openTaskGateway(
      async () => {
        await gate.promise;
        return Response.json(ARK_RESPONSE);
      },
      { ...DOUBLE, callers, admission },
    );
    const running = await post(BODY, ASYNC);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    // It waits for the one that runs.
    const waiting = await post(BODY, ASYNC);
    await gateway.pauseChannel("one");
    await gateway.pauseChannel("two");
    gate.resolve();
    expect(await ended(running)).toMatchObject({ status: "completed" });
    await vi.waitFor(() => expect(refused).toBe(1));
    expect(await ledger.tasks.find("me", String(waiting.body["id"]))).toMatchObject({ status: "queued" });
    expect(calls).toHaveLength(1);
    await gateway.resumeChannel("two");
    expect(await ended(waiting)).toMatchObject({ status: "completed" });
    expect(hostsOf(calls)).toEqual(["one.test", "two.test"]);
  });

  it("go on if their provider has accepted them, also in another process", async () => {
    const ledger = createMemoryLedger();
    const admission = createMemoryAdmissionStore();
    const first = openWaitingDarkroom(ledger);
    const response = first.post({ model: "film", prompt: "a fox" });
    await cutOffWhenPolled(first);
    await response;
    const submitted = openWaitingDarkroom(ledger);
    await submitted.post({ model: "film", prompt: "a task" }, ASYNC);
    await cutOffWhenPolled(submitted);

    const next = openDarkroom(ledger, () => Response.json(DONE), { admission });
    await next.gateway.pauseChannel("one");
    next.gateway.start();
    await until(async () => (await ledger.balance("me")).held === "0");
    expect(await ledger.balance("me")).toEqual({ settled: "0.2", held: "0" });
    expect(next.calls.every(({ url }) => url.includes("/jobs/"))).toBe(true);
    await next.gateway.close();
  });
});
