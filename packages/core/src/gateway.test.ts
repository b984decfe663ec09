import { describe, expect, it, vi } from "vitest";
import { hashApiKey } from "./auth/api-key.js";
import { type ErrorCode, GatewayError, isGatewayError } from "./errors.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import type { GatewayRequest } from "./http.js";
import type { Feature } from "./kernel/feature.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  CALLER_KEY,
  createPost,
  createTestGateway,
  DASHSCOPE_KEY,
  DASHSCOPE_RESPONSE,
  GENERATIONS,
  readResponse,
} from "./testing/test-gateway.js";

const body = { model: "seedream-4-0-250828", prompt: "a fox" };
const priced = {
  billing: { model_details: { "*": { pricing_mode: "per-request" as const, model_price: "0.1" } } },
};

/** A value that JSON cannot represent. */
function roundObject(): object {
  const round: { itself?: object } = {};
  round.itself = round;
  return round;
}

/** An error that is its own cause. */
function roundError(): Error {
  const error = new Error("down");
  error.cause = error;
  return error;
}

describe("paths and methods", () => {
  it.each(["/", "/v1", "/v1/images/variations", "/v1/model", "/favicon.ico"])(
    "%s is 404 from fetch, and the host's from handle",
    async (path) => {
      const { gateway } = createTestGateway();
      const response = await readResponse(
        await gateway.fetch(new Request(`http://gateway.test${path}`, { method: "POST" })),
      );
      expect(response).toMatchObject({
        status: 404,
        body: { error: { code: "not_found", type: "invalid_request_error" } },
      });
      expect(gateway.handle({ ...(createPost(body) as unknown as GatewayRequest), url: path })).toBeNull();
    },
  );

  it.each(["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])(
    "%s is 405 before the key is looked at",
    async (method) => {
      const { gateway } = createTestGateway();
      const response = await gateway.fetch(new Request(GENERATIONS, { method }));
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
    },
  );

  it("are served only below the base path", async () => {
    const { gateway } = createTestGateway(undefined, { basePath: "/ai" });
    expect(gateway.basePath).toBe("/ai");
    expect((await gateway.fetch(createPost(body))).status).toBe(404);
    const url = "http://gateway.test/ai/v1/images/generations?api-version=1";
    expect((await gateway.fetch(new Request(url, createPost(body)))).status).toBe(200);
  });
});

describe("the option features", () => {
  const ping: Feature = {
    name: "ping",
    setup: () => ({
      api: { pings: 1 },
      routes: ({ respond }) => [
        {
          pattern: /^(.*)\/(?:ping|models)$/,
          respond: (request) => respond(request, async () => ({ status: 200, headers: {}, body: "pong" })),
        },
      ],
    }),
  };

  it("adds features, whose routes take no path of the gateway", async () => {
    const { gateway } = createTestGateway(undefined, { features: [ping] });
    const read = async (path: string) =>
      (await gateway.fetch(new Request(`http://gateway.test${path}`))).text();
    expect(await read("/ping")).toBe("pong");
    expect(await read("/v1/models")).toContain("invalid_api_key");
    expect(gateway).toHaveProperty("pings", 1);
  });

  it.each<[unknown, string]>([
    [ping, "features must be a list of features"],
    [[() => ping], "features[0] must be a feature"],
    [[{ name: "ping" }], "features[0].setup"],
    [[ping, undefined], "features[1] must be a feature"],
  ])("refuses %j", (features, problem) => {
    expect(() => createTestGateway(undefined, { features: features as readonly Feature[] })).toThrow(problem);
  });
});

describe("every response", () => {
  it("has the request's id, is not stored, and names nothing of the provider", async () => {
    const { post, records } = createTestGateway(() =>
      Response.json(ARK_RESPONSE, {
        headers: { "x-request-id": "theirs", server: "ark", "set-cookie": "a=b", "cache-control": "public" },
      }),
    );
    const { status, headers } = await post(body);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_[\da-f]{32}$/),
    });
    expect(records).toMatchObject([{ id: headers.get("x-request-id"), upstreamRequestId: "theirs" }]);
  });

  it("has another id", async () => {
    const { post } = createTestGateway();
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await post(body)).headers.get("x-request-id")),
    );
    expect(new Set(ids).size).toBe(20);
  });

  it.each<[string, unknown, Record<string, string>, number, ErrorCode | "SomeCode"]>([
    ["a wrong key", body, { authorization: "Bearer wrong" }, 401, "invalid_api_key"],
    ["no JSON", "{", {}, 400, "invalid_request_error"],
    ["another content type", body, { "content-type": "text/plain" }, 415, "unsupported_media_type"],
    ["too many bytes", { ...body, prompt: "x".repeat(2_000) }, {}, 413, "request_too_large"],
    ["an unknown model", { ...body, model: "x" }, {}, 404, "model_not_found"],
    ["a refusal of the provider", { ...body, prompt: "400" }, {}, 400, "SomeCode"],
    ["a failure of the provider", { ...body, prompt: "500" }, {}, 502, "SomeCode"],
  ])("to %s is the envelope", async (_what, sent, given, status, code) => {
    const { post } = createTestGateway(
      (call) =>
        Response.json(
          { error: { code: "SomeCode", message: "No." } },
          { status: Number(call.body["prompt"]) },
        ),
      { bodyLimits: { json: 1_000 } },
    );
    const response = await post(sent, given);
    expect(response.status).toBe(status);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.body).toEqual({
      error: {
        message: expect.stringMatching(/./),
        type: expect.stringMatching(/_error$/),
        code,
        param: code === "model_not_found" ? "model" : null,
      },
    });
  });

  it("to each error of ours has its status and type", async () => {
    const kinds: Record<ErrorCode, readonly [number, string]> = {
      invalid_request_error: [400, "invalid_request_error"],
      invalid_api_key: [401, "authentication_error"],
      not_signed_in: [401, "authentication_error"],
      upstream_authentication_failed: [401, "authentication_error"],
      model_not_allowed: [403, "permission_error"],
      insufficient_quota: [403, "insufficient_quota"],
      request_refused: [403, "permission_error"],
      cross_site_request: [403, "permission_error"],
      model_not_priced: [403, "permission_error"],
      group_not_priced: [403, "permission_error"],
      not_found: [404, "invalid_request_error"],
      channel_not_found: [404, "invalid_request_error"],
      caller_not_found: [404, "invalid_request_error"],
      caller_exists: [409, "invalid_request_error"],
      caller_revoked: [409, "invalid_request_error"],
      model_not_found: [404, "invalid_request_error"],
      file_not_found: [404, "invalid_request_error"],
      task_not_found: [404, "invalid_request_error"],
      task_not_cancellable: [409, "invalid_request_error"],
      file_expired: [410, "invalid_request_error"],
      range_not_satisfiable: [416, "invalid_request_error"],
      method_not_allowed: [405, "invalid_request_error"],
      request_timeout: [408, "invalid_request_error"],
      idempotency_conflict: [422, "invalid_request_error"],
      idempotency_in_progress: [409, "invalid_request_error"],
      idempotency_not_replayable: [409, "invalid_request_error"],
      request_too_large: [413, "invalid_request_error"],
      unsupported_media_type: [415, "invalid_request_error"],
      client_closed_request: [499, "invalid_request_error"],
      upstream_rejected: [400, "invalid_request_error"],
      rate_limit_exceeded: [429, "rate_limit_error"],
      upstream_rate_limited: [429, "rate_limit_error"],
      upstream_quota_exceeded: [429, "rate_limit_error"],
      internal_error: [500, "server_error"],
      body_already_read: [500, "server_error"],
      no_totals: [501, "server_error"],
      upstream_error: [502, "upstream_error"],
      upstream_invalid_response: [502, "upstream_error"],
      upstream_unreachable: [502, "upstream_error"],
      image_not_marked: [502, "upstream_error"],
      upstream_no_image: [502, "upstream_error"],
      outcome_unknown: [502, "upstream_error"],
      task_expired: [503, "server_error"],
      task_queue_full: [503, "server_error"],
      task_input_lost: [500, "server_error"],
      task_result_lost: [502, "server_error"],
      model_paused: [503, "server_error"],
      overloaded: [503, "server_error"],
      gateway_unavailable: [503, "server_error"],
      gateway_closed: [503, "server_error"],
      upstream_timeout: [504, "upstream_error"],
    };
    for (const [code, [status, type]] of Object.entries(kinds)) {
      const error = new GatewayError(code as ErrorCode, "Because.", {
        param: "p",
        retryAfterSeconds: 3,
        shouldRetry: false,
      });
      const { post } = createTestGateway(undefined, {
        callers: undefined,
        authenticate: () => {
          throw error;
        },
      });
      const response = await post(body);
      expect(response).toMatchObject({
        status,
        body: {
          error: {
            message: "Because.",
            type,
            code: status === 400 ? "invalid_request_error" : code,
            param: "p",
          },
        },
      });
      expect(response.headers.get("retry-after")).toBe("3");
      expect(response.headers.get("x-should-retry")).toBe("false");
    }
  });
});

const fail = (): never => {
  throw new Error("disk full");
};

describe("errors", () => {
  it("are recognized by their mark, whatever copy of the package made them", () => {
    expect(isGatewayError(new GatewayError("not_found", "x"))).toBe(true);
    expect(
      isGatewayError(Object.assign(new Error("x"), { [Symbol.for("calotype.GatewayError")]: true })),
    ).toBe(true);
    for (const other of [new Error("x"), null, undefined, "x", { code: "not_found" }])
      expect(isGatewayError(other)).toBe(false);
  });

  it("of the operator's own function are a 500 without details, and are logged", async () => {
    const { post, logs, calls } = createTestGateway(undefined, {
      callers: undefined,
      authenticate: () => {
        throw new Error("the database at 10.0.0.1 is down");
      },
    });
    const response = await post(body);
    expect(response.status).toBe(500);
    expect(response.text).not.toContain("10.0.0.1");
    expect(logs).toMatchObject([
      { level: "error", fields: { requestId: response.headers.get("x-request-id"), err: expect.any(Error) } },
    ]);
    expect(calls).toEqual([]);
  });

  it("are written with their words by the default logger", async () => {
    const lines: string[] = [];
    const write = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
    try {
      const { post } = createTestGateway(undefined, {
        logger: undefined,
        callers: undefined,
        authenticate: () => {
          throw new Error("down", { cause: new Error("no route") });
        },
      });
      await post(body);
    } finally {
      write.mockRestore();
    }
    // The other line says that the request was refused.
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "error",
      err: { name: "Error", message: "down", cause: { message: "no route" } },
    });
  });

  it.each<[string, () => unknown]>([
    ["an error that is its own cause", roundError],
    ["an error whose cause goes round", () => new Error("down", { cause: roundObject() })],
    ["an error whose cause is a bigint", () => new Error("down", { cause: 1n })],
    ["a text", () => "down"],
    ["an object that goes round", roundObject],
  ])("are written whatever was thrown: %s", async (_what, makeThrown) => {
    const lines: string[] = [];
    const write = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
    try {
      const { post } = createTestGateway(undefined, {
        logger: undefined,
        ledger: { ...createMemoryLedger(), hold: () => Promise.reject(makeThrown()) },
      });
      await post(body);
    } finally {
      write.mockRestore();
    }
    // The other line says that the request was refused.
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "error",
      err: { message: expect.any(String) },
    });
  });

  it("of the operator's logger break nothing", async () => {
    const { post, records } = createTestGateway(() => new Response("", { status: 401 }), {
      logger: { warn: fail, error: fail },
    });
    expect((await post(body)).status).toBe(401);
    expect(records).toHaveLength(1);
  });
});

describe("a usage record", () => {
  it.each<[string, unknown, Record<string, string>]>([
    ["a wrong key", body, { authorization: "Bearer x" }],
    ["a bad body", "{", {}],
    ["a bad field", { ...body, n: "x" }, {}],
    ["an unknown model", { ...body, model: "x" }, {}],
  ])("is not left by %s", async (_what, sent, headers) => {
    const { post, records, calls } = createTestGateway(undefined, priced);
    await post(sent, headers);
    expect({ records, calls }).toEqual({ records: [], calls: [] });
  });

  it("is not made, and nothing is sent, if the client has already disconnected", async () => {
    const { gateway, records, calls } = createTestGateway(undefined, priced);
    const response = await gateway.fetch(new Request(createPost(body), { signal: AbortSignal.abort() }));
    expect(response.status).toBe(499);
    expect({ records, calls }).toEqual({ records: [], calls: [] });
  });

  it("is marked if the price is by token and no tokens were reported, and a line is logged", async () => {
    const billing = {
      model_details: { "*": { pricing_mode: "per-token" as const, output_token_price: "5" } },
    };
    const { post, records, logs } = createTestGateway(() => Response.json({ data: [{ url: "https://x" }] }), {
      billing,
      models: { [body.model]: { family: "seedream" } },
    });
    expect((await post(body)).status).toBe(200);
    expect(records).toMatchObject([{ unpriced: true, charge: "0" }]);
    expect(logs).toMatchObject([{ level: "warn", fields: { requestId: records[0]?.id } }]);
  });

  it("carries no charge without prices", async () => {
    const { post, records } = createTestGateway();
    await post(body);
    expect(records).toMatchObject([{ charge: null }]);
    expect(records[0]).not.toHaveProperty("derivation");
  });

  it("has the time of arrival and the time taken", async () => {
    let time = Date.UTC(2026, 0, 1);
    const { post, records } = createTestGateway(
      () => {
        time += 25_000;
        return Response.json(ARK_RESPONSE);
      },
      {},
      { now: () => time, createId: () => "req_fixed" },
    );
    await post(body);
    expect(records).toMatchObject([
      { id: "req_fixed", time: "2026-01-01T00:00:00.000Z", durationMs: 25_000 },
    ]);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("full"))],
  ])("breaks nothing when onUsage %s", async (_how, onUsage) => {
    const { post, logs, gateway } = createTestGateway(undefined, { onUsage });
    expect((await post(body)).status).toBe(200);
    await gateway.close();
    expect(logs).toMatchObject([
      { level: "error", message: "onUsage failed; it is called again.", fields: { err: expect.any(Error) } },
    ]);
  });

  it.each([
    [
      "model_not_priced",
      {
        billing: {
          model_details: { "seedream-4-5*": { pricing_mode: "per-request" as const, model_price: "1" } },
        },
      },
      {},
    ],
    ["group_not_priced", priced, { group: "vip" }],
  ])("is not left by a %s", async (code, options, caller) => {
    const { post, calls } = createTestGateway(undefined, {
      models: { "seedream*": { family: "seedream" } },
      ...options,
      callers: undefined,
      authenticate: () => ({ id: "me", ...caller }),
    });
    expect(await post(body)).toMatchObject({
      status: 403,
      body: { error: { code, type: "permission_error" } },
    });
    expect(calls).toEqual([]);
  });
});

/** Quotes the keys that it was sent in the place that the test says. */
const echo = (status: number, build: (text: string) => unknown) => (): Response =>
  Response.json(build(`Wrong key ${ARK_KEY} (Bearer ${ARK_KEY}, sk-1234567890abcdef).`), {
    status,
    headers: { "x-request-id": "r" },
  });

describe("keys", () => {
  it.each<[string, () => Response]>([
    ["message", echo(400, (text) => ({ error: { code: "InvalidParameter", message: text } }))],
    ["code", echo(400, (text) => ({ error: { code: text, message: "x" } }))],
    ["param", echo(400, (text) => ({ error: { code: "x", message: "x", param: text } }))],
    ["refusal of the key", echo(401, (text) => ({ error: { code: text, message: text } }))],
    ["rate limit", echo(429, (text) => ({ error: { code: text, message: text } }))],
    ["failure", echo(500, (text) => ({ error: { code: text, message: text } }))],
    ["error in 200", echo(200, (text) => ({ error: { code: text, message: text } }))],
    [
      "failed image",
      echo(200, (text) => ({ data: [{ url: "https://x" }, { error: { code: text, message: text } }] })),
    ],
  ])("in a provider's %s reach no response, record or log", async (_where, provider) => {
    const { post, records, logs } = createTestGateway(provider, priced);
    const response = await post(body);
    const seen = JSON.stringify([response.text, [...response.headers], records, logs]);
    expect(seen).toContain("***");
    for (const key of [ARK_KEY, DASHSCOPE_KEY, CALLER_KEY, "sk-1234567890abcdef"])
      expect(seen).not.toContain(key);
  });

  it("in an error that the native endpoint relays with status 200 reach nobody", async () => {
    const error = { code: "x", message: `${DASHSCOPE_KEY} sk-1234567890abcdef` };
    const { postNative } = createTestGateway(() => Response.json({ error }));
    const { status, text } = await postNative(body);
    expect(status).toBe(200);
    for (const key of [DASHSCOPE_KEY, "sk-1234567890abcdef"]) expect(text).not.toContain(key);
  });

  it("of callers are not sent to providers, and providers' keys only to their own", async () => {
    const { post, calls } = createTestGateway();
    await post(body, { cookie: "a=b", "x-forwarded-for": "1.2.3.4", "openai-organization": "org" });
    await post({ model: "image-2.0", prompt: "x" });
    const sent = calls.map(({ headers, text }) => JSON.stringify([[...headers], text]));
    expect(sent.join()).not.toContain(CALLER_KEY);
    expect(Object.fromEntries(calls[0]?.headers ?? [])).toEqual({
      authorization: `Bearer ${ARK_KEY}`,
      "content-type": "application/json",
    });
    expect(sent[0]).not.toContain(DASHSCOPE_KEY);
    expect(sent[1]).not.toContain(ARK_KEY);
  });

  it("cannot be replaced by a channel's headers", async () => {
    const { post, calls } = createTestGateway(undefined, {
      models: { m: { family: "seedream" } },
      channels: [
        {
          id: "c",
          family: "seedream",
          apiKey: ARK_KEY,
          headers: { Authorization: "Basic x", "X-Team": "t" },
        },
      ],
    });
    await post({ model: "m", prompt: "x" });
    expect(calls[0]?.headers.get("authorization")).toBe(`Bearer ${ARK_KEY}`);
    expect(calls[0]?.headers.get("x-team")).toBe("t");
  });

  it("are stored as hashes if hashes are given", async () => {
    const { post } = createTestGateway(undefined, { callers: [{ id: "me", hash: hashApiKey(CALLER_KEY) }] });
    expect((await post(body)).status).toBe(200);
  });
});

const parsed = (value: unknown): GatewayRequest => ({
  method: "POST",
  url: "/v1/images/generations",
  headers: new Headers({ authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" }),
  body: null,
  parsedBody: value,
  bodyConsumed: true,
  signal: new AbortController().signal,
});

describe("a body that was already read", () => {
  it("gets an error that says so", async () => {
    const { gateway } = createTestGateway();
    const request = createPost(body);
    await request.text();
    expect(await readResponse(await gateway.fetch(request))).toMatchObject({
      status: 500,
      body: { error: { code: "body_already_read" } },
    });
  });

  it("may be handed over parsed, as deep as any", async () => {
    const { gateway } = createTestGateway();
    let deep: unknown = 1;
    for (let depth = 0; depth < 50_000; depth++) deep = [deep];
    expect(await gateway.handle(parsed(body))).toMatchObject({ status: 200 });
    expect(await gateway.handle(parsed({ ...body, deep }))).toMatchObject({ status: 400 });
  });
});

describe("a Qwen-Image model", () => {
  it("with a stream as response leaves its record", async () => {
    const { post, records } = createTestGateway(
      () => new Response("data: {}\n\n", { headers: { "content-type": "text/event-stream" } }),
      priced,
    );
    expect(await post({ model: "image-2.0", prompt: "x" })).toMatchObject({ status: 502 });
    expect(records).toMatchObject([{ status: 502, images: 0, charge: "0" }]);
  });

  it("gets a response in the format of the interface", async () => {
    const { post } = createTestGateway();
    const { body: response } = await post({ model: "image-max", prompt: "x" });
    expect(Object.keys(response)).toEqual(["created", "data", "extra"]);
    expect(response).toMatchObject({ extra: { request_id: DASHSCOPE_RESPONSE.request_id } });
  });
});
