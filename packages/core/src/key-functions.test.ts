import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import type { ChannelOptions } from "./channels/channel.js";
import type { KeyFunction } from "./contract/key-source.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { cutOffWhenPolled, DONE, isSubmission, openDarkroom } from "./testing/open-darkroom.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  GENERATIONS,
  type Provider,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";

const BODY = { model: "seedream-4-5-251128", prompt: "a kite" };
const BILLING = {
  model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } },
} as const satisfies GatewayOptions["billing"];

const tokenOf = (number: number): string => `token-canary-${number}`;
const bearer = ({ headers }: TestGateway["calls"][number]): string | undefined =>
  headers.get("authorization")?.replace("Bearer ", "");

/** A token service whose tokens last a minute, and a provider that accepts its latest token only. */
class Service {
  /** How many tokens were read. */
  count = 0;
  /** Thrown in place of a token. */
  failure: Error | undefined;
  /** What the provider accepts. Empty: nothing. */
  valid = "";
  #now = 1_800_000_000_000;
  readonly now = (): number => this.#now;

  pass(seconds: number): void {
    this.#now += seconds * 1000;
  }

  read: KeyFunction = async () => {
    if (this.failure !== undefined) throw this.failure;
    this.valid = tokenOf(++this.count);
    return { key: this.valid, expiresAt: this.#now + 60_000 };
  };

  respond: Provider = (call) => {
    const key = bearer(call);
    if (key !== "" && key === this.valid) return Response.json(ARK_RESPONSE);
    const error = { code: "AuthenticationError", message: `The API key ${key} is wrong.` };
    return Response.json({ error }, { status: 401 });
  };
}

const QUOTE = `${tokenOf(1)} is wrong`;
const keyOf = ({ headers }: TestGateway["calls"][number]): string | null => headers.get("x-key");
const MODELS = { [BODY.model]: { family: "seedream" } };

const ark = (apiKey: ChannelOptions["apiKey"], id = "ark", priority = 0): ChannelOptions => ({
  id,
  family: "seedream",
  apiKey,
  priority,
});

function open(service: Service, options: Partial<GatewayOptions> = {}): TestGateway {
  return createTestGateway(
    service.respond,
    { models: MODELS, channels: [ark(service.read)], billing: BILLING, ...options },
    { now: service.now },
  );
}

describe("a channel whose key a function returns", () => {
  it("calls it with the first request, and with none before", async () => {
    const service = new Service();
    const { gateway, post, calls } = open(service);
    gateway.start();
    await gateway.checkStatus();
    expect(service.count).toBe(0);

    const responses = await Promise.all([post(BODY), post(BODY), post(BODY)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(calls.map(bearer)).toEqual([tokenOf(1), tokenOf(1), tokenOf(1)]);
  });

  it("sends the next key when the key has expired in the middle of traffic", async () => {
    const service = new Service();
    const { post, calls, records } = open(service);
    for (let second = 0; second < 180; second += 30) {
      expect((await post(BODY)).status).toBe(200);
      service.pass(30);
    }

    expect(calls.map(bearer)).toEqual([1, 1, 2, 2, 3, 3].map(tokenOf));
    expect(records.map(({ attempts }) => attempts?.length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it("sends the next key when the provider refuses the key before its time, and the key stays ready", async () => {
    const service = new Service();
    const { gateway, post, calls, records, logs } = open(service);
    await post(BODY);
    service.valid = "";

    const responses = await Promise.all([post(BODY), post(BODY), post(BODY)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(service.count).toBe(2);
    expect(calls).toHaveLength(1 + 3 + 3);
    expect(records).toHaveLength(4);
    expect(gateway.status().channels).toMatchObject([{ state: "ready", errors: [] }]);
    expect(logs.map(({ message }) => message)).toEqual(["A provider refused a key before its time."]);
  });

  it("sends a form with files again, byte for byte", async () => {
    const service = new Service();
    const { gateway, calls } = open(service);
    const png = new Uint8Array(300_000).fill(7);
    png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const edit = async () => {
      const form = new FormData();
      form.set("model", BODY.model);
      form.set("prompt", "a kite");
      form.set("image", new Blob([png], { type: "image/png" }), "a.png");
      const headers = { authorization: `Bearer ${CALLER_KEY}` };
      const url = GENERATIONS.replace("generations", "edits");
      return readResponse(await gateway.fetch(new Request(url, { method: "POST", headers, body: form })));
    };
    await edit();
    service.valid = "";

    expect((await edit()).status).toBe(200);
    expect(calls).toHaveLength(3);
    expect(calls[2]?.text).toBe(calls[1]?.text);
    expect(calls[1]?.text.length).toBeGreaterThan(400_000);
  });

  it("has the headers of the options and of the family", async () => {
    const service = new Service();
    const channel = { ...ark(service.read), headers: { "x-workspace": "w" } };
    const { post, calls } = open(service, { channels: [channel] });
    await post(BODY);

    expect(Object.fromEntries(calls[0]?.headers ?? [])).toMatchObject({
      authorization: `Bearer ${tokenOf(1)}`,
      "content-type": "application/json",
      "x-workspace": "w",
    });
  });

  it("is tested with a fresh key by probeChannel", async () => {
    const service = new Service();
    const { gateway } = open(service);
    await gateway.probeChannel("ark");
    service.pass(61);

    expect(await gateway.probeChannel("ark")).toMatchObject({ ok: true, keys: [{ index: 0, images: 1 }] });
    expect(service.count).toBe(2);
  });

  it("keeps the key after a reload with the same function", async () => {
    const service = new Service();
    const { gateway, post } = open(service, { channels: () => [ark(service.read)] });
    await post(BODY);
    await gateway.reload();
    await post(BODY);

    expect(service.count).toBe(1);
  });
});

describe("a function that fails", () => {
  const FAILURE = new Error("The token service does not respond.");

  it("costs the caller nothing, sends nothing, and is what the operator reads", async () => {
    const service = new Service();
    service.failure = FAILURE;
    const { gateway, post, calls, records, logs } = open(service);
    const { status, body } = await post(BODY);

    expect({ status, body }).toMatchObject({
      status: 401,
      body: { error: { code: "upstream_authentication_failed" } },
    });
    expect(calls).toEqual([]);
    expect(records).toMatchObject([{ charge: "0", images: 0, errorCode: "upstream_authentication_failed" }]);
    expect(gateway.status().channels).toMatchObject([
      { state: "cooling", reason: "credential", errors: [{ kind: "credential", message: FAILURE.message }] },
    ]);
    expect(logs).toMatchObject([
      {
        level: "error",
        message: "A channel has no valid key, so nothing was sent.",
        fields: { channel: "ark", reason: "credential", err: { cause: { message: FAILURE.message } } },
      },
    ]);
  });

  it("is a failed key: other channels serve, and the key is tried again after its cooldown", async () => {
    const service = new Service();
    service.failure = FAILURE;
    const other = (): string => service.valid;
    service.valid = "other-canary-1";
    const { post, calls, records } = open(service, {
      channels: [ark(service.read, "first", 1), ark(other, "second")],
    });
    expect((await post(BODY)).status).toBe(200);
    expect(records[0]?.attempts).toMatchObject([
      { channel: "first", code: "upstream_authentication_failed" },
      { channel: "second", status: 200 },
    ]);
    service.failure = undefined;
    await post(BODY);
    expect(calls.map(bearer)).toEqual(["other-canary-1", "other-canary-1"]);
    service.pass(5);
    await post(BODY);

    expect(calls.map(bearer).at(-1)).toBe(tokenOf(1));
  });

  it("is one key of a list", async () => {
    const service = new Service();
    service.failure = FAILURE;
    service.respond = () => Response.json(ARK_RESPONSE);
    const { gateway, post, calls } = open(service, {
      channels: [ark(["fixed-canary-1", service.read, "fixed-canary-2"])],
    });
    for (let count = 0; count < 4; count++) expect((await post(BODY)).status).toBe(200);

    expect(new Set(calls.map(bearer))).toEqual(new Set(["fixed-canary-1", "fixed-canary-2"]));
    expect(gateway.status().channels).toMatchObject([
      {
        state: "ready",
        keys: [{ state: "ready" }, { state: "cooling", reason: "credential" }, { state: "ready" }],
      },
    ]);
    const probe = await gateway.probeChannel("ark");
    expect(probe.keys).toMatchObject([
      { ok: true },
      { ok: false, reason: "credential", message: FAILURE.message },
      { ok: true },
    ]);
  });

  it("is one of several functions, each with its own key and health", async () => {
    const service = new Service();
    service.respond = () => Response.json(ARK_RESPONSE);
    const { gateway, post, calls } = open(service, {
      channels: [ark([() => "first-canary-1", () => Promise.reject(FAILURE), () => "third-canary-1"])],
    });
    for (let count = 0; count < 4; count++) expect((await post(BODY)).status).toBe(200);

    expect(calls.map(bearer)).toEqual(expect.arrayContaining(["first-canary-1", "third-canary-1"]));
    expect(gateway.status().channels).toMatchObject([
      { state: "ready", keys: [{ state: "ready" }, { state: "cooling" }, { state: "ready" }] },
    ]);
  });

  it("hangs for at most 10 seconds, then another channel serves", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const service = new Service();
      service.valid = "other-canary-1";
      const hangs = vi.fn<() => Promise<string>>(() => new Promise(() => {}));
      const { gateway, post } = open(service, {
        channels: [ark(hangs, "first", 1), ark("other-canary-1", "second")],
      });
      const waiting = Promise.all([post(BODY), post(BODY)]);
      await vi.waitFor(() => expect(hangs).toHaveBeenCalledOnce());
      await vi.advanceTimersByTimeAsync(10_000);

      expect((await waiting).map(({ status }) => status)).toEqual([200, 200]);
      expect(hangs).toHaveBeenCalledOnce();
      expect(gateway.status().channels[0]?.errors[0]?.message).toBe(
        "The function of apiKey (channel first, key 0) has not returned within 10 s.",
      );
    } finally {
      vi.useRealTimers();
    }
  });

  it("has the health of its place, whatever key it returns", async () => {
    const service = new Service();
    service.respond = () => Response.json({ error: { code: "AuthenticationError" } }, { status: 401 });
    const { gateway, post, calls } = open(service);
    await post(BODY);
    expect(calls.map(bearer)).toEqual([tokenOf(1), tokenOf(2)]);
    await gateway.probeChannel("ark");
    service.pass(60);
    await post(BODY);

    expect(calls.map(bearer)).toEqual([1, 2, 2, 3, 4].map(tokenOf));
    expect(gateway.status().channels).toMatchObject([
      { state: "cooling", since: new Date(1_800_000_000_000).toISOString(), reason: "credential" },
    ]);
  });
});

describe("keys that were returned", () => {
  it.each([
    ["a small response", { ...ARK_RESPONSE, note: "" }],
    ["a large response", { ...ARK_RESPONSE, note: "x".repeat(200_000) }],
  ])("are redacted in %s, also after they were replaced", async (_what, response) => {
    const service = new Service();
    const { postNative } = createTestGateway(
      () => Response.json({ ...response, key: `${tokenOf(1)} ${tokenOf(2)}` }),
      { models: MODELS, channels: [ark(service.read)] },
      { now: service.now },
    );
    const first = await postNative(BODY);
    expect(first.text).toContain(`"*** ${tokenOf(2)}"`);
    service.pass(60);
    const second = await postNative(BODY);
    expect(second.text).toContain('"*** ***"');
    service.pass(86_400);
    service.count = 5;
    const third = await postNative(BODY);

    expect(third.text).toContain(`"${tokenOf(1)} ***"`);
  });

  it("are redacted in streams, errors, logs, records and the status", async () => {
    const service = new Service();
    const { gateway, post, logs, records } = createTestGateway(
      ({ body }) => {
        if (body["stream"] === true) {
          const event = { type: "image_generation.partial_succeeded", image_index: 0, url: QUOTE };
          return new Response(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`, {
            headers: { "content-type": "text/event-stream", "x-request-id": QUOTE },
          });
        }
        throw new Error(QUOTE);
      },
      { models: MODELS, channels: [ark(service.read)] },
      { now: service.now },
    );
    const streamed = await post({ ...BODY, stream: true });
    const failed = await post(BODY);
    const seen = inspect([streamed, failed, logs, records, gateway.status()], { depth: 20 });

    expect(streamed.text).toContain("***");
    expect(seen).not.toContain("token-canary");
  });

  it("are not in the log if the function throws them", async () => {
    const service = new Service();
    const { post, logs } = open(service);
    await post(BODY);
    service.failure = new Error(`${tokenOf(1)} cannot be renewed`, { cause: { message: tokenOf(1) } });
    service.pass(60);
    await post(BODY);

    expect(inspect(logs, { depth: 20 })).toContain("*** cannot be renewed");
    expect(inspect(logs, { depth: 20 })).not.toContain("token-canary");
  });
});

/** @param onPoll called with the number of each poll */
function openJob(
  service: Service,
  onPoll: (poll: number) => void,
  ledger = createMemoryLedger(),
): TestGateway {
  let polls = 0;
  return openDarkroom(
    ledger,
    (call) => {
      if (isSubmission(call.url)) return Response.json({ id: "t1" });
      onPoll(++polls);
      if (keyOf(call) !== service.valid) return Response.json({ why: "no" }, { status: 401 });
      return Response.json(polls < 4 ? { state: "pending" } : DONE);
    },
    { channels: [{ id: "one", family: "darkroom", apiKey: service.read }] },
  );
}

describe("a job of a channel whose key a function returns", () => {
  it("is polled with the next key after a 401", async () => {
    const service = new Service();
    const { post, calls, records } = openJob(service, (poll) => {
      if (poll === 2) service.valid = "";
    });

    expect((await post({ model: "film", prompt: "p" })).status).toBe(200);
    expect(calls.map(keyOf)).toEqual([1, 1, 1, 2, 2].map(tokenOf));
    expect(records).toMatchObject([{ images: 1, attempts: [{ status: 200 }] }]);
  });

  it("is polled again if the function fails meanwhile", async () => {
    const service = new Service();
    service.read = async () => {
      if (service.failure !== undefined) throw service.failure;
      service.valid = tokenOf(++service.count);
      // Shorter than the wait between two polls.
      return { key: service.valid, expiresAt: Date.now() + 50 };
    };
    const { post, records } = openJob(service, (poll) => {
      service.failure = poll === 1 ? new Error("no network") : undefined;
      if (poll === 1) setTimeout(() => (service.failure = undefined), 300);
    });

    expect((await post({ model: "film", prompt: "p" })).status).toBe(200);
    expect(service.count).toBeGreaterThan(2);
    expect(records).toMatchObject([{ images: 1 }]);
  });

  it("is continued by another process with its own key", async () => {
    const service = new Service();
    const ledger = createMemoryLedger();
    const first = openDarkroom(
      ledger,
      ({ url }) => Response.json(isSubmission(url) ? { id: "t1" } : { state: "pending" }),
      { channels: [{ id: "one", family: "darkroom", apiKey: service.read }] },
    );
    void first.post({ model: "film", prompt: "p" });
    await cutOffWhenPolled(first);
    const next = openDarkroom(
      ledger,
      (call) => (keyOf(call) === service.valid ? Response.json(DONE) : Response.json({}, { status: 401 })),
      { channels: [{ id: "one", family: "darkroom", apiKey: service.read }] },
    );
    next.gateway.start();

    await vi.waitFor(() => expect(next.records).toMatchObject([{ images: 1 }]), 10_000);
    expect(next.calls.map(keyOf)).toEqual([tokenOf(2)]);
    await next.gateway.close();
  });
});

describe("the option apiKey", () => {
  it.each<[what: string, apiKey: unknown, problem: string]>([
    ["a promise", Promise.resolve("k"), "channels[0].apiKey must be a key, or a function that returns a key"],
    [
      "an object",
      { key: "k", expiresAt: 1 },
      "channels[0].apiKey must be a key, or a function that returns a key",
    ],
    [
      "a promise in a list",
      ["k", Promise.resolve("l")],
      "channels[0].apiKey[1] must be a key, or a function that returns a key",
    ],
    [
      "nothing in a list",
      [() => "k", undefined],
      "channels[0].apiKey[1] is missing; is the environment variable set?",
    ],
  ])("is not %s", (_what, apiKey, problem) => {
    expect(() => open(new Service(), { channels: [ark(apiKey as string)] })).toThrow(problem);
  });

  it("names a function that is given twice", () => {
    const { read } = new Service();
    expect(() => open(new Service(), { channels: [ark([read, read])] })).toThrow(
      "channels[0].apiKey[1] is given twice",
    );
  });
});
