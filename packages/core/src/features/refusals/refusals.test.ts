import { describe, expect, it } from "vitest";
import { GatewayError } from "../../errors.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { createManualClock } from "../../testing/manual-clock.js";
import {
  CALLER_KEY,
  createPost,
  createTestGateway,
  GENERATIONS,
  type Provider,
  refusedConnection,
} from "../../testing/test-gateway.js";
import { createMemoryAdmissionStore } from "../limits/memory-store.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { Refusal } from "./refusal.js";
import type { RefusalStore } from "./refusal-store.js";

const PROMPT = "canary-prompt-4af0";
const BODY = { model: "doodle", prompt: PROMPT };
const BASE = "http://gateway.test";

type LogLine = Readonly<Record<string, unknown>> & { readonly message: string };

interface OpenOptions extends Partial<GatewayOptions> {
  readonly provider?: Provider;
}

/** A gateway whose log is collected, and whose timers are those of the test. */
function open({ provider, ...options }: OpenOptions = {}) {
  const lines: LogLine[] = [];
  const write = (fields: object, message: string): void => void lines.push({ ...fields, message });
  const clock = createManualClock();
  const test = createTestGateway(
    provider,
    { logger: { info: write, warn: write, error: write }, ...options },
    { repeat: clock.repeat },
  );
  const refusalLines = () => lines.filter(({ message }) => message === "A request was refused.");
  return { ...test, lines, refusalLines, clock };
}

const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`${BASE}${path}`, { headers: { authorization: `Bearer ${CALLER_KEY}`, ...headers } });

interface Kind {
  readonly options?: OpenOptions;
  /** Sent before, one after the other. */
  readonly before?: () => Request;
  readonly request?: () => Request;
  readonly refusal: Partial<Refusal>;
  /** Closes the gateway before the request. */
  readonly isClosed?: boolean;
}

const ME = { id: "me", key: CALLER_KEY };
const repeated = (body: object) => createPost(body, { "idempotency-key": "once" });
const PRICED = {
  model_details: { "*": { pricing_mode: "per-request", model_price: "1" } },
  group_ratio: { default: "1" },
} as const;

const KINDS: Readonly<Record<string, Kind>> = {
  "400 for a body that is not JSON": {
    request: () => createPost("{"),
    refusal: { status: 400, code: "invalid_request_error", caller: "me" },
  },
  "400 for a wrong field": {
    request: () => createPost({ ...BODY, n: "x" }),
    refusal: { status: 400, code: "invalid_request_error", param: "n", caller: "me", model: "doodle" },
  },
  "401 without a key": {
    request: () => createPost(BODY, { authorization: "" }),
    refusal: { status: 401, code: "invalid_api_key", method: "POST", path: "/v1/images/generations" },
  },
  "401 of the list of models": {
    request: () => get("/v1/models", { authorization: "Bearer wrong-canary" }),
    refusal: { status: 401, code: "invalid_api_key", method: "GET", path: "/v1/models" },
  },
  "403 for a model that the caller may not use": {
    options: { callers: [{ ...ME, models: ["sketch"] }] },
    refusal: { status: 403, code: "model_not_allowed", caller: "me" },
  },
  "403 for a budget that is spent": {
    options: { callers: [{ ...ME, budget: "0.5" }], billing: PRICED },
    refusal: {
      status: 403,
      code: "insufficient_quota",
      caller: "me",
      model: "doodle",
      limit: "budget",
      budget: { asked: "1", left: "0.5" },
    },
  },
  "403 of beforeSend": {
    options: {
      beforeSend: ({ prompt }) => {
        throw new GatewayError("request_refused", `Not this: ${prompt}`);
      },
    },
    refusal: { status: 403, code: "request_refused", caller: "me", model: "doodle" },
  },
  "404 for an unknown model": {
    request: () => createPost({ ...BODY, model: "nothing" }),
    refusal: { status: 404, code: "model_not_found", caller: "me" },
  },
  "404 below /v1/images": {
    request: () => new Request(`${BASE}/v1/images/generation?key=${CALLER_KEY}`, { method: "POST" }),
    refusal: { status: 404, code: "not_found", method: "POST", path: "/v1/images/generation" },
  },
  "404 for an unknown task": {
    request: () => get(`/v1/images/tasks/task_${"0".repeat(32)}`),
    refusal: { status: 404, code: "task_not_found" },
  },
  "405 for another method": {
    request: () => get("/v1/images/generations"),
    refusal: { status: 405, code: "method_not_allowed", method: "GET", path: "/v1/images/generations" },
  },
  "413 for a body that is too large": {
    options: { bodyLimits: { json: 1_000 } },
    request: () => createPost({ ...BODY, prompt: PROMPT.repeat(100) }),
    refusal: { status: 413, code: "request_too_large", caller: "me" },
  },
  "415 for another type": {
    request: () => createPost(PROMPT, { "content-type": "text/plain" }),
    refusal: { status: 415, code: "unsupported_media_type", caller: "me" },
  },
  "422 for another request with the same idempotency key": {
    before: () => repeated(BODY),
    request: () => repeated({ ...BODY, n: 2 }),
    refusal: { status: 422, code: "idempotency_conflict", caller: "me", model: "doodle" },
  },
  "429 for a limit": {
    options: { limits: { requestsPerMinute: 1 } },
    before: () => createPost(BODY),
    refusal: { status: 429, code: "rate_limit_exceeded", caller: "me", limit: "requests" },
  },
  "499 for a client that left": {
    options: { beforeSend: () => leave.abort() },
    request: () => new Request(createPost(BODY), { signal: leave.signal }),
    refusal: { status: 499, code: "client_closed_request", caller: "me" },
  },
  "500 of a function of the operator": {
    options: {
      beforeSend: () => {
        throw new TypeError("broken");
      },
    },
    refusal: { status: 500, code: "internal_error", caller: "me" },
  },
  "502 for a provider that cannot be reached": {
    options: {
      provider: () => {
        throw refusedConnection();
      },
    },
    refusal: { status: 502, code: "upstream_unreachable", caller: "me", model: "doodle" },
  },
  "413 for bytes that can never fit": {
    options: { maxBytesInFlight: 10 },
    refusal: { status: 413, code: "request_too_large", caller: "me" },
  },
  "503 of an admission store that is away": {
    options: {
      limits: { requestsPerMinute: 1 },
      admission: { ...createMemoryAdmissionStore(), admit: () => Promise.reject(new Error("away")) },
    },
    refusal: { status: 503, code: "gateway_unavailable", caller: "me" },
  },
  "503 of a ledger that is away": {
    options: { ledger: { ...createMemoryLedger(), hold: () => Promise.reject(new Error("away")) } },
    refusal: { status: 503, code: "gateway_unavailable", caller: "me" },
  },
  "503 of a gateway that closes": {
    isClosed: true,
    refusal: { status: 503, code: "gateway_closed" },
  },
  "503 of a list of models of a gateway that closes": {
    isClosed: true,
    request: () => get("/v1/models"),
    refusal: { status: 503, code: "gateway_closed", path: "/v1/models" },
  },
};

const leave = new AbortController();

describe("a refused request", () => {
  it.each(Object.entries(KINDS))(
    "has a line in the log and an entry in the store: %s",
    async (_name, kind) => {
      const { gateway, refusalLines, lines } = open(kind.options);
      if (kind.before !== undefined) await gateway.fetch(kind.before());
      if (kind.isClosed === true) await gateway.close();
      const response = await gateway.fetch(kind.request?.() ?? createPost(BODY));

      const id = response.headers.get("x-request-id") ?? "";
      expect(refusalLines()).toEqual([expect.objectContaining({ requestId: id, ...kind.refusal })]);
      expect(await gateway.refusals.find(id)).toMatchObject({ id, ...kind.refusal });
      expect(JSON.stringify([lines, await gateway.refusals.find(id)])).not.toMatch(/canary/);
      await gateway.close();
    },
  );

  it("408 for a body that does not come has a line and an entry", async () => {
    const { gateway, refusalLines, clock } = open();
    const { readable } = new TransformStream<Uint8Array, Uint8Array>();
    const request = new Request(GENERATIONS, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: readable,
      duplex: "half",
    });
    const sent = gateway.fetch(request);
    await clock.tick(60);
    const response = await sent;

    const id = response.headers.get("x-request-id") ?? "";
    expect(refusalLines()).toMatchObject([
      { requestId: id, status: 408, code: "request_timeout", caller: "me" },
    ]);
    expect(await gateway.refusals.find(id)).toMatchObject({ status: 408 });
  });

  it("of a path that is not the gateway's leaves nothing", async () => {
    const { gateway, lines } = open();
    const response = await gateway.fetch(get("/wp-login.php"));

    expect(response.status).toBe(404);
    expect(lines).toEqual([]);
    expect(await gateway.refusals.find(response.headers.get("x-request-id") ?? "")).toBeUndefined();
  });

  it("with a key in its path shows neither the key nor a long part", async () => {
    const { gateway, refusalLines } = open();
    await gateway.fetch(
      new Request(`${BASE}/sk-short/${"k".repeat(41)}/v1/images/generations`, { method: "POST" }),
    );

    expect(refusalLines()).toMatchObject([{ path: "/…/…/v1/images/generations" }]);
  });

  it("goes to warn of a logger without info", async () => {
    const lines: string[] = [];
    const logger = { warn: (_: object, message: string) => void lines.push(message), error: () => undefined };
    const { gateway } = open({ logger });
    await gateway.fetch(createPost(BODY, { authorization: "" }));

    expect(lines).toEqual(["A request was refused."]);
  });
});

it("a request that succeeds, and one that its provider refuses, is no refusal: it has a usage record", async () => {
  const { gateway, refusalLines, clock } = open({
    provider: ({ body }) =>
      body["prompt"] === "no"
        ? Response.json({ error: { code: "bad", message: "no" } }, { status: 400 })
        : Response.json({ data: [{ url: "https://ark.test/1.png" }] }),
  });
  const statuses = [BODY, { ...BODY, prompt: "no" }].map(
    async (body) => (await gateway.fetch(createPost(body))).status,
  );

  expect(await Promise.all(statuses)).toEqual([200, 400]);
  expect(refusalLines()).toEqual([]);
  await clock.tick(1); // The timer of the bodies stops at its next tick.
  expect(clock.running).toBe(0);
});

describe("a flood of refused requests", () => {
  it("writes ten lines of a cause in a second, and then one with the number of the others", async () => {
    const { gateway, refusalLines, lines, clock } = open();
    for (let sent = 0; sent < 50; sent++) await gateway.fetch(createPost(BODY, { authorization: "" }));
    await gateway.fetch(createPost("{"));
    expect(refusalLines().map(({ status }) => status)).toEqual([
      ...Array.from({ length: 10 }, () => 401),
      400,
    ]);

    await clock.tick(1);
    expect(lines.at(-1)).toEqual({
      message: "Further requests were refused.",
      status: 401,
      code: "invalid_api_key",
      caller: undefined,
      requests: 40,
    });
  });

  it("of one caller keeps the refusals of others", async () => {
    const { gateway } = open({ callers: [ME] });
    const first = await gateway.fetch(createPost(BODY, { authorization: "" }));
    const ids: string[] = [];
    for (let sent = 0; sent < 1_200; sent++) {
      const response = await gateway.fetch(createPost("{"));
      ids.push(response.headers.get("x-request-id") ?? "");
    }

    expect(await gateway.refusals.find(first.headers.get("x-request-id") ?? "")).toMatchObject({
      status: 401,
    });
    expect(await gateway.refusals.find(ids[0] ?? "")).toBeUndefined();
    expect(await gateway.refusals.find(ids.at(-1) ?? "")).toMatchObject({ caller: "me" });
  });
});

/** A store whose writes the test ends. */
function createSlowStore() {
  const stored: Refusal[] = [];
  const batches: { readonly refusals: readonly Refusal[]; readonly end: (error?: Error) => void }[] = [];
  const store: RefusalStore = {
    add: async (refusals) => {
      await new Promise<void>((resolve, reject) => {
        batches.push({ refusals, end: (error) => (error === undefined ? resolve() : reject(error)) });
      });
      stored.push(...refusals);
    },
    find: async (id) => stored.find((refusal) => refusal.id === id),
  };
  return { ledger: { ...createMemoryLedger(), refusals: store }, batches, stored };
}

describe("with a ledger that keeps refusals", () => {
  it("they are written once a second, at most 100 of them, and found at any time", async () => {
    const { ledger, batches, stored } = createSlowStore();
    const { gateway, clock } = open({ ledger });
    const ids: string[] = [];
    const refuse = async (): Promise<void> => {
      const response = await gateway.fetch(createPost("{"));
      ids.push(response.headers.get("x-request-id") ?? "");
    };
    for (let sent = 0; sent < 150; sent++) await refuse();
    expect(batches).toEqual([]);
    await clock.tick(1);
    expect(batches.map(({ refusals }) => refusals.length)).toEqual([100]);

    await refuse();
    await clock.tick(5);
    expect(batches).toHaveLength(1);
    for (const at of [50, 149, 150])
      expect(await gateway.refusals.find(ids[at] ?? "")).toMatchObject({ status: 400 });
    batches[0]?.end();
    await clock.tick(1);
    expect(stored).toHaveLength(100);
    expect(batches.map(({ refusals }) => refusals.length)).toEqual([100, 1]);
    for (const at of [50, 149, 150])
      expect(await gateway.refusals.find(ids[at] ?? "")).toMatchObject({ status: 400 });
    batches[1]?.end();
    await clock.tick(2);
    expect(clock.running).toBe(0);
  });

  it("a failure is logged once, and later refusals are stored", async () => {
    const { ledger, batches, stored } = createSlowStore();
    const { gateway, clock, lines } = open({ ledger });
    for (const error of [new Error("away"), new Error("away"), undefined]) {
      await gateway.fetch(createPost("{"));
      await clock.tick(1);
      batches.at(-1)?.end(error);
      await clock.tick(1);
    }

    expect(lines.filter(({ message }) => message.startsWith("The ledger did not store"))).toHaveLength(1);
    expect(stored).toHaveLength(1);
  });

  it("the last ones are stored when the gateway closes", async () => {
    const { ledger, batches, stored } = createSlowStore();
    const { gateway } = open({ ledger });
    await gateway.fetch(createPost("{"));
    const closed = gateway.close();
    await expect.poll(() => batches.length).toBe(1);
    batches[0]?.end();
    await closed;

    expect(stored).toHaveLength(1);
  });
});

describe("the list of refusals", () => {
  it("has those that are in memory, the newest first, with counts, and of one caller or model", async () => {
    const { gateway } = open();
    await gateway.fetch(createPost(BODY, { authorization: "" }));
    await gateway.fetch(createPost({ ...BODY, n: "x" }));
    await gateway.fetch(createPost({ ...BODY, n: "y" }));

    const { refusals, counts } = await gateway.refusals.list({ limit: 2 });
    expect(refusals.map(({ status }) => status)).toEqual([400, 400]);
    expect(counts).toEqual([
      { status: 400, code: "invalid_request_error", requests: 2 },
      { status: 401, code: "invalid_api_key", requests: 1 },
    ]);
    expect((await gateway.refusals.list({ caller: "me", model: "doodle" })).refusals).toHaveLength(2);
    expect(await gateway.refusals.list({ to: refusals[1]?.time ?? "", caller: "nobody" })).toEqual({
      refusals: [],
      counts: [],
    });
  });

  it("is read from the ledger after what waits was stored", async () => {
    const added: Refusal[] = [];
    const store: RefusalStore = {
      add: async (refusals) => void added.push(...refusals),
      find: async () => undefined,
      list: async () => ({ refusals: added, counts: [] }),
    };
    const ledger = { ...createMemoryLedger(), refusals: store };
    const { gateway } = open({ ledger });
    await gateway.fetch(createPost(BODY, { authorization: "" }));

    expect((await gateway.refusals.list()).refusals).toHaveLength(1);
  });

  it.each([{ limit: 0 }, { limit: 1.5 }, { from: "yesterday" }])("refuses %j", async (query) => {
    await expect(open().gateway.refusals.list(query)).rejects.toThrow(RangeError);
  });
});
