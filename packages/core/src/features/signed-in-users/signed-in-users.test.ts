import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { composeGateway, cors, type Feature, signedInUsers } from "../../compose.js";
import { GatewayError } from "../../errors.js";
import { seedream } from "../../families/seedream/seedream.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import type { FindUser } from "../../http.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "../../testing/test-gateway.js";
import type { Caller } from "../../types.js";

const APP = "http://gateway.test";
const BODY = { model: "seedream-4-0-250828", prompt: "x" };
const PRICE = { pricing_mode: "per-request", model_price: "0.04" } as const;
const MODELS = { "seedream-4-0-250828": { family: "seedream" }, doodle: { family: "seedream" } } as const;
const PRICES = { model_details: { "seedream-4-0-250828": PRICE, doodle: PRICE } };

/** A request of a page of the app. */
function fromPage(path: string, body?: object, headers: Record<string, string> = {}): Request {
  return new Request(APP + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      "sec-fetch-site": "same-origin",
      cookie: "sid=1",
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const findAda: FindUser<Request> = () => ({ id: "42" });

const create = (options: Partial<GatewayOptions> = {}): TestGateway =>
  createTestGateway(undefined, { models: MODELS, billing: PRICES, ...options });

async function send(
  { gateway }: Pick<TestGateway, "gateway">,
  caller: FindUser<Request> | undefined,
  request = fromPage("/v1/images/generations", BODY),
): Promise<ReadResponse> {
  return readResponse(await gateway.fetch(request, { caller }));
}

/** As queries of Knex and Drizzle, which are not promises. */
class Query {
  readonly #user: Caller;

  constructor(user: Caller) {
    this.#user = user;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- such queries have it
  then(resolve: (user: Caller) => void): void {
    resolve(this.#user);
  }
}

describe("a signed-in user", () => {
  it.each<[string, FindUser<Request>]>([
    ["at once", () => ({ id: "42" })],
    ["later", async () => ({ id: "42" })],
    ["by a query that runs when it is awaited", () => new Query({ id: "42" }) as never],
  ])("that is found %s is a caller with an id of its own kind", async (_when, caller) => {
    const test = create();
    expect(await send(test, caller)).toMatchObject({ status: 200 });
    expect(test.records).toMatchObject([{ caller: "user:42", charge: "0.04" }]);
    expect(await test.gateway.usage.balance("user:42")).toMatchObject({ settled: "0.04" });
    expect(await test.gateway.usage.balance("42")).toMatchObject({ settled: "0" });
  });

  it("is found in the host's request", async () => {
    const test = create();
    const caller = vi.fn<FindUser<Request>>(() => ({ id: "42" }));
    const request = fromPage("/v1/images/generations", BODY);
    await send(test, caller, request);
    expect(caller.mock.calls).toEqual([[request]]);
  });

  it("has the group, the models, the limits, the preferences and the budget of the caller", async () => {
    const test = create({
      billing: { ...PRICES, group_ratio: { default: "1", vip: "0.5" } },
    });
    const ada: Caller = {
      id: "42",
      group: "vip",
      models: ["seedream-*"],
      responseFormat: "b64_json",
      limits: { requestsPerMinute: 2 },
      budget: "0.03",
    };
    const caller = (): Caller => ada;
    expect(await send(test, caller)).toMatchObject({ status: 200 });
    expect(test.calls[0]?.body).toMatchObject({ response_format: "b64_json" });
    expect(test.records).toMatchObject([{ caller: "user:42", charge: "0.02" }]);
    const refused = await send(
      test,
      caller,
      fromPage("/v1/images/generations", { ...BODY, model: "doodle" }),
    );
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "model_not_allowed" } } });
    expect(await send(test, caller)).toMatchObject({
      status: 403,
      body: { error: { code: "insufficient_quota" } },
    });
    expect(await send(test, caller)).toMatchObject({ status: 429 });
    // Another user has limits of its own.
    expect(await send(test, () => ({ ...ada, id: "43" }))).toMatchObject({ status: 200 });
  });

  it("may use every route that needs a caller", async () => {
    const test = create();
    const caller = findAda;
    const submitted = await send(
      test,
      caller,
      fromPage("/v1/images/generations", BODY, { prefer: "respond-async" }),
    );
    expect(submitted.status).toBe(202);
    const path = `/v1/images/tasks/${String(submitted.body["id"])}`;
    expect(await send(test, caller, fromPage(`${path}?wait=10`))).toMatchObject({
      body: { status: "completed" },
    });
    expect(await send(test, caller, fromPage("/v1/images/tasks"))).toMatchObject({
      body: { data: [{ id: submitted.body["id"] }] },
    });
    expect((await send(test, caller, fromPage(`${path}/events`))).text).toContain("completed");
    expect(await send(test, caller, fromPage(`${path}/cancel`, {}))).toMatchObject({ status: 409 });
    expect(await send(test, caller, fromPage("/v1/models"))).toMatchObject({ status: 200 });
    expect(await send(test, caller, fromPage("/v1/models/doodle"))).toMatchObject({ status: 200 });

    for (const other of [path, `${path}/events`]) {
      expect(await send(test, () => ({ id: "43" }), fromPage(other))).toMatchObject({ status: 404 });
      expect(await send(test, () => null, fromPage(other))).toMatchObject({ status: 401 });
      const foreign = { "sec-fetch-site": "cross-site" };
      expect(await send(test, caller, fromPage(other, undefined, foreign))).toMatchObject({ status: 403 });
    }
    const foreign = fromPage(`${path}/cancel`, {}, { "sec-fetch-site": "cross-site" });
    expect(await send(test, caller, foreign)).toMatchObject({
      body: { error: { code: "cross_site_request" } },
    });
  });

  it("is not asked for by routes that need no caller", async () => {
    const test = create({ healthz: true, openapi: true });
    const caller = vi.fn<FindUser<Request>>(() => null);
    const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    expect(await send(test, caller, fromPage("/healthz", undefined, foreign))).toMatchObject({ status: 200 });
    expect(await send(test, caller, fromPage("/openapi.json", undefined, foreign))).toMatchObject({
      status: 200,
    });
    expect(caller).not.toHaveBeenCalled();
  });
});

describe("nobody", () => {
  it.each<[string, FindUser<Request>]>([
    ["null", () => null],
    ["undefined", () => undefined],
    ["null later", async () => null],
    ["false of JavaScript", () => false as never],
    ["a session that has expired", () => ({ id: "42", expiresAt: "2020-01-01T00:00:00Z" })],
  ])("is signed in: %s", async (_what, caller) => {
    const test = create();
    const { status, body, headers } = await send(test, caller);
    expect({ status, ...body }).toMatchObject({
      status: 401,
      error: { type: "authentication_error", code: "not_signed_in", param: null },
    });
    expect(headers.get("www-authenticate")).toBe("Bearer");
    expect(test.calls).toEqual([]);
    expect(test.logs).toEqual([]);
  });

  it("is asked for without the option: the error is that of a missing key", async () => {
    expect(await send(create(), undefined)).toMatchObject({
      status: 401,
      body: { error: { code: "invalid_api_key" } },
    });
  });
});

describe("a header for a key", () => {
  it.each([
    ["authorization", `Bearer ${CALLER_KEY}`],
    ["api-key", CALLER_KEY],
  ])("is used, also if a user is signed in: %s", async (name, value) => {
    const test = create();
    const caller = vi.fn<FindUser<Request>>(() => ({ id: "42" }));
    const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example", [name]: value };
    expect(await send(test, caller, fromPage("/v1/images/generations", BODY, foreign))).toMatchObject({
      status: 200,
    });
    expect(test.records).toMatchObject([{ caller: "me" }]);
    expect(caller).not.toHaveBeenCalled();
  });

  it.each([
    ["authorization", "Bearer wrong"],
    ["authorization", "Bearer"],
    ["authorization", ""],
    ["authorization", CALLER_KEY],
    ["authorization", "Basic eDp5"],
    ["api-key", "wrong"],
    ["api-key", ""],
    ["api-key", "two keys"],
  ])("never falls back to the user: %s, value %#", async (name, value) => {
    const test = create();
    const caller = vi.fn<FindUser<Request>>(() => ({ id: "42" }));
    const { status, body } = await send(
      test,
      caller,
      fromPage("/v1/images/generations", BODY, { [name]: value }),
    );
    expect({ status, ...body }).toMatchObject({ status: 401, error: { code: "invalid_api_key" } });
    expect(caller).not.toHaveBeenCalled();
    expect(test.calls).toEqual([]);
  });
});

describe("the ids of users", () => {
  it("cannot be those of callers of the options", () => {
    expect(() => create({ callers: [{ id: "user:42", key: "k" }] })).toThrow(
      "callers[0].id must not begin with user:, as the ids of signed-in users do",
    );
    expect(() =>
      create({
        callers: [
          { id: "user", key: "k" },
          { id: "users:1", key: "l" },
        ],
      }),
    ).not.toThrow();
  });

  it("cannot be those of stored callers", async () => {
    const { gateway } = create();
    await expect(gateway.callers.create({ id: "user:42" })).rejects.toMatchObject({
      code: "caller_exists",
      param: "id",
    });
    await expect(gateway.callers.find("user:42")).resolves.toBeUndefined();
  });

  it.each([["user:42"], ["me"], ["../x"], ["ü"], ["auth0|5f7c"]])(
    "keep what the app calls them: %j",
    async (id) => {
      const test = create();
      expect(await send(test, () => ({ id }))).toMatchObject({ status: 200 });
      expect(test.records).toMatchObject([{ caller: `user:${id}` }]);
    },
  );
});

describe("a function that fails is a 500 that names the option, and nothing is sent", () => {
  const SECRET = "Zx81kQpR7tLmN04vB2sD";

  it.each<[string, FindUser<Request>, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("no database");
      },
      /no database/,
    ],
    ["rejects", () => Promise.reject(new Error("no database")), /no database/],
    ["throws no Error", () => Promise.reject("no database"), /no database/],
    ["returns no id", () => ({}) as never, /a user without id.*undefined/],
    ["returns an id of null", () => ({ id: null }) as never, /a user without id.*object/],
    ["returns an empty id", () => ({ id: "" }), /a user without id.*""/],
    ["returns a blank id", () => ({ id: " " }), /a user without id.*" "/],
    ["returns a number", () => ({ id: 42 }) as never, /a user without id.*number/],
    [
      "returns a missing id in a string",
      (request) => ({ id: `${request.headers.get("x-user") ?? undefined}` }),
      /a user without id.*"undefined"/,
    ],
    [
      "returns null in a string",
      (request) => ({ id: String(request.headers.get("x-user")) }),
      /a user without id.*"null"/,
    ],
    ["returns an object in a string", () => ({ id: "[object Object]" }), /a user without id/],
    ["returns a string", () => "42" as never, /a user without id/],
    ["returns true", () => true as never, /a user without id/],
    ["returns an id that is too long", () => ({ id: "x".repeat(510) }), /a wrong id/],
    ["returns an id with NUL", () => ({ id: "x\0" }), /a wrong id/],
    ["returns a wrong budget", () => ({ id: "42", budget: "-1" }), /wrong budget/],
    [
      "returns a wrong limit",
      () => ({ id: "42", limits: { requestsPerMinute: 0 } }),
      /wrong limits\.requestsPerMinute/,
    ],
    ["returns a wrong end", () => ({ id: "42", expiresAt: "soon" }), /wrong expiresAt/],
  ])("%s", async (_what, caller, cause) => {
    const errors: unknown[] = [];
    const test = create({ onError: ({ error }) => void errors.push(error.cause) });
    const { status, body } = await send(test, caller);
    expect({ status, ...body }).toMatchObject({
      status: 500,
      error: {
        type: "server_error",
        code: "internal_error",
        message: expect.stringContaining("The option caller"),
      },
    });
    expect(test.calls).toEqual([]);
    expect(test.records).toEqual([]);
    expect(test.logs).toMatchObject([
      { level: "error", fields: { requestId: expect.stringMatching(/^req_/) } },
    ]);
    expect(errors).toMatchObject([{ cause: { message: expect.stringMatching(cause) } }]);
    const models = await send(test, caller, fromPage("/v1/models"));
    expect(models).toMatchObject({
      status: 500,
      body: { error: { message: expect.stringContaining("caller") } },
    });
  });

  it("logs no token of a session, as it was sent or decoded", async () => {
    const test = create();
    const error = new Error(`no row for token ${SECRET} of ${SECRET}.sig`);
    const cookie = `theme=dark; session=s%3A${SECRET}.sig%2F1`;
    await send(test, () => Promise.reject(error), fromPage("/v1/images/generations", BODY, { cookie }));
    expect(JSON.stringify(test.logs)).not.toContain(SECRET);
    expect(test.logs).toMatchObject([
      { fields: { err: { cause: { message: "no row for token *** of ***.sig" } } } },
    ]);
  });

  it("may choose the response with a GatewayError", async () => {
    const error = new GatewayError("request_refused", "Your account is closed.");
    const { status, body } = await send(create(), () => Promise.reject(error));
    expect({ status, ...body }).toMatchObject({ status: 403, error: { message: "Your account is closed." } });
  });

  it("may not read the body", async () => {
    const test = create();
    expect(await send(test, async (request) => ({ id: await request.text() }))).toMatchObject({
      status: 500,
      body: { error: { code: "body_already_read" } },
    });
    expect(test.calls).toEqual([]);
  });
});

describe("a composed gateway", () => {
  const SHOP = "https://shop.example.com";

  it.each<[string, number, string, readonly Feature[]]>([
    ["without the feature", 500, "The option caller needs the feature signedInUsers.", []],
    ["with the feature", 200, "https://ark.test/1.png", [cors({ origins: [SHOP] }), signedInUsers()]],
    ["of another origin", 403, "cross_site_request", [signedInUsers()]],
    ["with its own address", 200, "https://ark.test/1.png", [signedInUsers({ publicUrl: `${SHOP}/ai` })]],
  ])("%s: %i", async (_what, status, message, features) => {
    const gateway = composeGateway(
      {
        models: { doodle: { family: "seedream" } },
        channels: [{ id: "ark", family: "seedream", apiKey: "upstream-key" }],
        callers: [],
        logger: { warn() {}, error() {} },
        fetch: async () => Response.json(ARK_RESPONSE),
      },
      { families: [seedream], features },
    );
    const headers = { "content-type": "application/json", origin: SHOP };
    const body = JSON.stringify({ model: "doodle", prompt: "x" });
    const request = new Request(`${APP}/v1/images/generations`, { method: "POST", headers, body });
    const response = await gateway.fetch(request, { caller: findAda });
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(message)]);
  });
});

it.each([
  [{ origins: ["https://shop.example.com"] }, "origins is not an option"],
  [{ publicUrl: "app.example.com" }, "publicUrl must be an http or https address"],
  [{ publicUrl: "ftp://app.example.com" }, "publicUrl must be an http or https address"],
  [{ publicUrls: "https://app.example.com" }, "publicUrls is not an option"],
])("the feature refuses %j", (options, problem) => {
  expect(() => signedInUsers(options as never)).toThrow(problem);
});

describe("a page of an origin of cors.origins", () => {
  const SHOP = "https://shop.example.com";
  const foreign = { origin: SHOP, "sec-fetch-site": "cross-site" };
  const preflight = (): Request =>
    new Request(`${APP}/v1/images/generations`, {
      method: "OPTIONS",
      headers: { origin: SHOP, "access-control-request-method": "POST" },
    });

  it("may send cookies and read the response", async () => {
    const test = create({ cors: { origins: [SHOP] } });
    const caller = findAda;
    for (const request of [preflight(), fromPage("/v1/images/generations", BODY, foreign)]) {
      const { headers } = await send(test, caller, request);
      expect(headers.get("access-control-allow-origin")).toBe(SHOP);
      expect(headers.get("access-control-allow-credentials")).toBe("true");
    }
    expect(test.records).toMatchObject([{ caller: "user:42" }]);
  });

  it.each<[string, GatewayOptions["cors"], FindUser<Request> | undefined]>([
    ["every origin is allowed", { origins: "*" }, () => ({ id: "42" })],
    ["the host has no signed-in users", { origins: [SHOP] }, undefined],
    ["another origin is allowed", { origins: ["https://other.example"] }, () => ({ id: "42" })],
  ])("may not, if %s", async (_what, pages, caller) => {
    const test = create({ cors: pages });
    for (const request of [preflight(), fromPage("/v1/images/generations", BODY, foreign)]) {
      expect((await send(test, caller, request)).headers.get("access-control-allow-credentials")).toBeNull();
    }
    expect(test.calls).toEqual([]);
  });
});

it("the body is not read before the user is known", async () => {
  const { gateway } = create();
  const pulled: string[] = [];
  const found = Promise.withResolvers<Caller | null>();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled.push("chunk");
        controller.enqueue(new TextEncoder().encode(JSON.stringify(BODY)));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request(`${APP}/v1/images/generations`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body,
    duplex: "half",
  });
  const responding = gateway.fetch(request, { caller: () => found.promise });
  await setImmediate();
  expect(pulled).toEqual([]);
  found.resolve({ id: "42" });
  expect((await responding).status).toBe(200);
});
