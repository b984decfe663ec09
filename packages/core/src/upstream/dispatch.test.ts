import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import { createMemoryAdmissionStore } from "../features/limits/memory-store.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import type { Dependencies } from "../kernel/kernel-parts.js";
import {
  ARK_RESPONSE,
  createTestGateway,
  type Provider,
  refusedConnection,
  type TestGateway,
} from "../testing/test-gateway.js";
import { type Transport, TransportError } from "./transport.js";
import { createFetchTransport } from "./transport-fetch.js";

type Behaviour =
  | "ok"
  | "refused"
  | "reset"
  | "cut"
  | "html"
  | number
  | readonly [status: number, code: string];

const responses: Record<Extract<Behaviour, string>, () => Response> = {
  ok: () => Response.json(ARK_RESPONSE),
  refused: () => {
    throw refusedConnection();
  },
  reset: () => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
  },
  cut: () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"data":[')),
        pull: (controller) => controller.error(new TypeError("terminated")),
      }),
    ),
  html: () => new Response("<html>", { headers: { "content-type": "text/html" } }),
};

function behave(behaviour: Behaviour): Response {
  if (typeof behaviour === "string") return responses[behaviour]();
  const [status, code] = typeof behaviour === "number" ? [behaviour, "SomeCode"] : behaviour;
  return Response.json({ error: { code, message: `It is ${status}.` } }, { status });
}

/** One channel for each behaviour, tried in this order. */
function createChain(
  behaviours: readonly Behaviour[],
  options: { readonly retryUnsafe?: boolean } & Partial<GatewayOptions> = {},
  dependencies: Partial<Dependencies> = {},
): TestGateway {
  const { retryUnsafe, ...rest } = options;
  const provider: Provider = ({ headers }) =>
    behave(behaviours[Number(headers.get("authorization")?.slice("Bearer key-".length))] ?? "ok");
  const gatewayOptions: Partial<GatewayOptions> = {
    models: { m: { family: "seedream" } },
    channels: behaviours.map((_, index) => ({
      id: `channel-${index}`,
      family: "seedream",
      apiKey: `key-${index}`,
      priority: -index,
      retryUnsafe,
    })),
    billing: { model_details: { m: { pricing_mode: "per-request", model_price: "0.1" } } },
    ...rest,
  };
  return createTestGateway(provider, gatewayOptions, dependencies);
}

/** A transport that throws synchronously for the first channel instead of rejecting. */
function throwAtOnce(error: Error): Transport {
  const own = createFetchTransport(async () => behave("ok"));
  return {
    ...own,
    send(request) {
      if (request.headers["authorization"] === "Bearer key-0") throw error;
      return own.send(request);
    },
  };
}

const body = { model: "m", prompt: "x" };

describe("a second channel", () => {
  it.each<[Behaviour]>([
    [401],
    [403],
    [404],
    [429],
    [503],
    ["refused"],
    [[404, "ModelNotOpen"]],
    [[400, "InvalidEndpoint.ClosedEndpoint"]],
    [[429, "QuotaExceeded"]],
    [[429, "SetLimitExceeded"]],
  ])("is tried after %j", async (first) => {
    const { post, calls, records } = createChain([first, "ok"]);
    expect(await post(body)).toMatchObject({ status: 200 });
    expect(calls.map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer key-0",
      "Bearer key-1",
    ]);
    expect(records).toMatchObject([{ channel: "channel-1", status: 200, charge: "0.1" }]);
  });

  it.each<[Behaviour, number]>([
    [400, 400],
    [500, 502],
    [502, 502],
    [504, 502],
    [408, 502],
    ["reset", 502],
    ["cut", 502],
    ["html", 502],
  ])("is not tried after %j, which gets %i", async (first, status) => {
    const { post, calls, records } = createChain([first, "ok"]);
    expect(await post(body)).toMatchObject({ status });
    expect(calls).toHaveLength(1);
    expect(records).toMatchObject([{ channel: "channel-0", status, charge: "0" }]);
  });

  it.each<[Behaviour]>([[500], [502], ["reset"]])(
    "is tried after %j if the operator accepts a duplicate image",
    async (first) => {
      const { post, records } = createChain([first, "ok"], { retryUnsafe: true });
      expect(await post(body)).toMatchObject({ status: 200 });
      expect(records).toMatchObject([{ channel: "channel-1", status: 200 }]);
    },
  );

  it.each<[Behaviour]>([[400], ["cut"], ["html"]])("is never tried after %j", async (first) => {
    const { post, calls } = createChain([first, "ok"], { retryUnsafe: true });
    await post(body);
    expect(calls).toHaveLength(1);
  });

  it.each([
    ["is tried", new TransportError("unreachable", undefined), 200],
    ["is not tried", new TransportError("broken", undefined), 502],
    ["is not tried", new Error("anything"), 502],
  ])("%s after a transport that throws at once: %s", async (_what, error, status) => {
    const { post, logs } = createChain(["ok", "ok"], {}, { transport: throwAtOnce(error) });
    expect(await post(body)).toMatchObject({ status });
    expect(logs).toMatchObject([{ level: "warn", message: "A channel failed." }]);
  });

  it("is tried once at most, each", async () => {
    const { post, calls } = createChain([429, 503, "refused", 401]);
    expect((await post(body)).status).toBe(502);
    expect(new Set(calls.map(({ headers }) => headers.get("authorization"))).size).toBe(4);
    expect(calls).toHaveLength(4);
  });
});

describe("when every channel fails", () => {
  it("because our keys are refused, the client gets 401 and the operator gets a log line", async () => {
    const { post, logs, records } = createChain([401, 403, [404, "ModelNotOpen"]]);
    const response = await post(body);
    expect(response.status).toBe(401);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.body).toEqual({
      error: {
        message:
          "No channel of this model is accepted by its provider at the moment. The operator has been told.",
        type: "authentication_error",
        code: "upstream_authentication_failed",
        param: null,
      },
    });
    expect(logs.map(({ level }) => level)).toEqual(["error", "error", "error"]);
    expect(logs[0]?.fields).toMatchObject({
      channel: "channel-0",
      reason: "credential",
      status: 401,
      code: "SomeCode",
    });
    expect(records).toMatchObject([{ channel: "channel-2", status: 401, charge: "0" }]);
  });

  it.each<[string, readonly Behaviour[], number, string | null, string | null]>([
    ["rate", [429, 429], 429, null, "5"],
    ["rate before keys", [429, 401], 429, null, "5"],
    ["rate after keys", [401, 429], 429, null, "5"],
    ["overload", [503, 503], 502, null, null],
    ["no connection", ["refused", "refused"], 502, null, null],
  ])("the response reports %s", async (_what, behaviours, status, shouldRetry, retryAfter) => {
    const { headers, ...response } = await createChain(behaviours).post(body);
    expect({
      status: response.status,
      retry: headers.get("x-should-retry"),
      after: headers.get("retry-after"),
    }).toEqual({
      status,
      retry: shouldRetry,
      after: retryAfter,
    });
  });

  it.each<[readonly Behaviour[]]>([[["reset", "refused"]], [["reset", 429]], [[500, 503, 401]]])(
    "%j forbids a repeat, since an image may have been made",
    async (behaviours) => {
      const response = await createChain(behaviours, { retryUnsafe: true }).post(body);
      expect(response.headers.get("x-should-retry")).toBe("false");
    },
  );

  it("with no connection at all, no record is left", async () => {
    const { post, records } = createChain(["refused", "refused"]);
    expect(await post(body)).toMatchObject({
      status: 502,
      body: { error: { type: "upstream_error", code: "upstream_unreachable" } },
    });
    expect(records).toEqual([]);
  });

  it.each([
    ["7", "7"],
    ["0", "0"],
    ["1.2", "2"],
    ["-1", "5"],
    ["", "5"],
    [" ", "5"],
    ["1e300", "5"],
    ["0x10", "5"],
    ["Infinity", "5"],
    ["Wed, 21 Oct 2026 07:28:00 GMT", "5"],
  ])("retry-after %j of the provider becomes %s", async (header, expected) => {
    const { post } = createTestGateway(
      () => new Response("", { status: 429, headers: { "retry-after": header } }),
    );
    expect((await post({ model: "doodle", prompt: "x" })).headers.get("retry-after")).toBe(expected);
  });
});

describe("a transport that is not ours", () => {
  it("may throw anything, and the request then counts as sent", async () => {
    const { post, calls, records, logs } = createTestGateway(() => {
      throw new RangeError("a bug");
    });
    expect(await post({ model: "doodle", prompt: "x" })).toMatchObject({
      status: 502,
      body: { error: { code: "upstream_invalid_response" } },
    });
    expect(calls).toHaveLength(1);
    expect(records).toMatchObject([{ status: 502, images: 0 }]);
    expect(logs).toMatchObject([{ level: "warn", fields: { reason: "broken", err: expect.any(Error) } }]);
  });

  it("may throw without being a transport's error", async () => {
    const transport = {
      send: () => Promise.reject(new Error("a bug")),
      download: () => Promise.reject(new Error("a bug")),
      close: () => Promise.resolve(),
    };
    const { post, records } = createTestGateway(undefined, {}, { transport });
    expect((await post({ model: "doodle", prompt: "x" })).status).toBe(502);
    expect(records).toMatchObject([{ status: 502 }]);
  });
});

describe("over many requests", () => {
  it("a channel whose key is refused is left alone until it is probed, and used again when it recovers", async () => {
    let isRefused = true;
    let now = 1_800_000_000_000;
    const provider: Provider = ({ headers }) =>
      behave(headers.get("authorization") === "Bearer key-0" && isRefused ? 401 : "ok");
    const { gateway, post, records } = createTestGateway(
      provider,
      {
        models: { m: { family: "seedream" } },
        channels: [0, 1].map((index) => ({
          id: `channel-${index}`,
          family: "seedream",
          apiKey: `key-${index}`,
          priority: -index,
        })),
        billing: undefined,
      },
      { now: () => now },
    );
    for (let requests = 0; requests < 5; requests++) expect((await post(body)).status).toBe(200);
    expect(records.map(({ channel }) => channel)).toEqual(Array.from({ length: 5 }, () => "channel-1"));
    expect(gateway.status().channels).toMatchObject([
      { id: "channel-0", state: "cooling", reason: "credential" },
      { id: "channel-1", state: "ready" },
    ]);
    isRefused = false;
    now += 5_000;
    await post(body);
    expect(records.at(-1)?.channel).toBe("channel-0");
    expect(gateway.status().channels[0]).toMatchObject({ id: "channel-0", state: "ready" });
  });

  it("an outage of every channel does not get a multiple of the traffic", async () => {
    const { calls, post } = createChain([503, 503, 503, 503]);
    for (let requests = 0; requests < 50; requests++) await post(body);
    expect(calls.length).toBeLessThanOrEqual(50 + 10);
  });
});

describe("a family of the operator's that throws", () => {
  it.each(["toUpstream", "toFailure"] as const)(
    "in %s leaves a record and a line in the log",
    async (member) => {
      const family = {
        ...seedream,
        name: "mine",
        [member]: () => {
          throw new Error("A fault of the family.");
        },
      };
      const { post, records, logs } = createTestGateway(() => new Response("{}", { status: 500 }), {
        families: [family],
        models: { m: { family: "mine" } },
        channels: [{ id: "c", family: "mine", apiKey: "key-of-the-channel" }],
        billing: undefined,
      });
      expect((await post(body)).status).toBe(502);
      expect(records).toMatchObject([{ channel: "c", status: 502 }]);
      expect(logs[0]).toMatchObject({ level: "error", message: "The family of a channel failed." });
    },
  );
});

describe("a record of several attempts", () => {
  it("reports the channel whose failure the client gets", async () => {
    const { post, records } = createChain([500, 429], { retryUnsafe: true });
    expect((await post(body)).status).toBe(502);
    expect(records).toMatchObject([{ channel: "channel-0", status: 502 }]);
  });
});

describe("a channel with several keys", () => {
  /** Two channels, one after the other. The behaviour depends on the name of the key. */
  function createKeys(
    behaviours: Readonly<Record<string, Behaviour>>,
    options: { readonly retryUnsafe?: boolean } = {},
  ): TestGateway & { readonly keysUsed: () => (string | undefined)[] } {
    const provider: Provider = ({ headers }) =>
      behave(behaviours[headers.get("authorization")?.slice("Bearer ".length) ?? ""] ?? "ok");
    const gateway = createTestGateway(provider, {
      models: { m: { family: "seedream" } },
      channels: [
        { id: "several", family: "seedream", apiKey: ["key-a", "key-b", "key-c"], priority: 1, ...options },
        { id: "other", family: "seedream", apiKey: "key-other" },
      ],
      billing: undefined,
    });
    const keysUsed = (): (string | undefined)[] =>
      gateway.calls.map(({ headers }) => headers.get("authorization")?.slice("Bearer ".length));
    return { ...gateway, keysUsed };
  }

  it("uses one after another", async () => {
    const { post, keysUsed } = createKeys({});
    for (let requests = 0; requests < 7; requests++) await post(body);
    expect(keysUsed()).toEqual(["key-a", "key-b", "key-c", "key-a", "key-b", "key-c", "key-a"]);
  });

  it.each<[Behaviour]>([[401], [403], [429], [[429, "QuotaExceeded"]]])(
    "tries another of its keys after %j, and leaves the first alone",
    async (first) => {
      const { gateway, post, keysUsed, logs } = createKeys({ "key-a": first });
      for (let requests = 0; requests < 3; requests++) expect((await post(body)).status).toBe(200);
      expect(keysUsed()).toEqual(["key-a", "key-b", "key-c", "key-b"]);
      expect(gateway.status().channels).toMatchObject([
        {
          id: "several",
          state: "ready",
          keys: [{ state: "cooling" }, { state: "ready" }, { state: "ready" }],
        },
        { id: "other", state: "ready" },
      ]);
      expect(logs).toMatchObject([{ fields: { channel: "several", key: 0 } }]);
    },
  );

  it.each<[Behaviour]>([[503], ["refused"]])(
    "tries none of its keys after %j, but another channel",
    async (all) => {
      const { post, keysUsed, records } = createKeys({ "key-a": all, "key-b": all, "key-c": all });
      expect((await post(body)).status).toBe(200);
      expect(keysUsed()).toEqual(["key-a", "key-other"]);
      expect(records).toMatchObject([{ channel: "other" }]);
    },
  );

  it.each<[Behaviour]>([[500], ["reset"], [400]])("tries no other key after %j", async (first) => {
    const { post, keysUsed } = createKeys({ "key-a": first });
    expect((await post(body)).status).toBeGreaterThanOrEqual(400);
    expect(keysUsed()).toEqual(["key-a"]);
  });

  it("goes on to the next channel when all of its keys are refused", async () => {
    const { gateway, post, keysUsed } = createKeys({ "key-a": 401, "key-b": 403, "key-c": 401 });
    for (let requests = 0; requests < 2; requests++) expect((await post(body)).status).toBe(200);
    expect(keysUsed()).toEqual(["key-a", "key-b", "key-c", "key-other", "key-other"]);
    expect(gateway.status().channels[0]).toMatchObject({ state: "cooling", reason: "credential" });
  });

  it("if an image may have been made, and the operator accepts a duplicate, continues with another channel", async () => {
    const { post, keysUsed } = createKeys({ "key-a": 500 }, { retryUnsafe: true });
    expect((await post(body)).status).toBe(200);
    expect(keysUsed()).toEqual(["key-a", "key-other"]);
  });

  it("is left alone as a whole when its address fails, whichever key was sent", async () => {
    const { gateway, post } = createKeys({ "key-a": "refused", "key-b": "refused", "key-c": "refused" });
    for (let requests = 0; requests < 3; requests++) await post(body);
    expect(gateway.status().channels[0]).toMatchObject({
      state: "cooling",
      reason: "unreachable",
      keys: [{ state: "ready" }, { state: "ready" }, { state: "ready" }],
    });
  });

  it("shows none of them if the provider quotes the refused request", async () => {
    const keys = ["canary-9d1c2f7a-one", "canary-9d1c2f7a-two"];
    const { post, logs } = createTestGateway(
      ({ headers }) => {
        const message = `${headers.get("authorization")} is wrong`;
        return Response.json({ error: { code: "InvalidParameter", message } }, { status: 400 });
      },
      { models: { m: { family: "seedream" } }, channels: [{ id: "c", family: "seedream", apiKey: keys }] },
    );
    const received = [await post(body), await post(body)];
    expect(received.map(({ status }) => status)).toEqual([400, 400]);
    expect(JSON.stringify([received, logs])).not.toContain("canary-9d1c2f7a");
  });
});

/** The state of the first channel, without the attempts of its own process. */
function stateOf(member: TestGateway | undefined): object {
  const { errors: _errors, lastHour: _lastHour, ...state } = member?.gateway.status().channels[0] ?? {};
  return state;
}

describe("two gateways that share a store", () => {
  const channels = [
    { id: "dead", family: "seedream", apiKey: "key-dead", priority: 1 },
    { id: "good", family: "seedream", apiKey: "key-good" },
  ];

  function createFleet(): { members: TestGateway[]; mend: () => void; pass: (ms: number) => void } {
    let now = 1_800_000_000_000;
    let isDead = true;
    const admission = createMemoryAdmissionStore({ now: () => now });
    const provider: Provider = ({ headers }) =>
      behave(isDead && headers.get("authorization") === "Bearer key-dead" ? 401 : "ok");
    const options = { models: { m: { family: "seedream" } }, channels, billing: undefined, admission };
    return {
      members: [0, 1].map(() => createTestGateway(provider, options, { now: () => now })),
      mend: () => void (isDead = false),
      pass: (ms) => void (now += ms),
    };
  }

  it("do not use a key that failed for one of them, and probe it themselves when it is due", async () => {
    const { members, mend, pass } = createFleet();
    const [first, second] = members;
    await first?.post(body);
    await second?.post(body);
    expect(first?.calls).toHaveLength(2);
    expect(second?.calls).toHaveLength(1);
    expect(stateOf(second)).toEqual(stateOf(first));
    mend();
    pass(5_000);
    await second?.post(body);
    expect(second?.records.at(-1)).toMatchObject({ channel: "dead" });
  });

  it("use it again soon after one of them has tested it with success", async () => {
    const { members, mend } = createFleet();
    const [first, second] = members;
    await first?.post(body);
    await second?.post(body);
    mend();
    expect(await first?.gateway.probeChannel("dead")).toMatchObject({ ok: true });
    await second?.post(body);
    expect(second?.records.at(-1)).toMatchObject({ channel: "dead" });
  });
});

describe("after a reload", () => {
  it("a channel cools on, and begins afresh with another key", async () => {
    let apiKey = "key-dead";
    const { gateway, post } = createTestGateway(
      ({ headers }) => behave(headers.get("authorization") === "Bearer key-dead" ? 401 : "ok"),
      { models: { m: { family: "seedream" } }, channels: () => [{ id: "c", family: "seedream", apiKey }] },
    );
    expect((await post(body)).status).toBe(401);
    await gateway.reload();
    expect(gateway.status().channels).toMatchObject([{ id: "c", state: "cooling" }]);
    apiKey = "key-good";
    await gateway.reload();
    expect(gateway.status().channels).toMatchObject([{ id: "c", state: "ready" }]);
    expect((await post(body)).status).toBe(200);
  });
});
