import { describe, expect, it } from "vitest";
import {
  type ComposeOptions,
  type Composition,
  composeGateway,
  cors,
  type Feature,
  GatewayError,
  limits,
} from "./compose.js";
import { type Family, invalidRequest, seedream } from "./families/index.js";
import { ARK_RESPONSE } from "./testing/test-gateway.js";

const IMAGES = "http://localhost/v1/images/generations";

/** Opens a gateway of the kernel and these features, and what it sent and recorded. */
function open(features: Composition["features"], options: Partial<ComposeOptions> = {}, family = seedream) {
  const sent: string[] = [];
  const charges: (string | null)[] = [];
  const gateway = composeGateway(
    {
      models: { doodle: { family: family.name } },
      channels: [{ id: "ark", family: family.name, apiKey: "upstream-key" }],
      callers: [{ id: "me", key: "sk-me", budget: "0.05" }],
      billing: { model_details: { doodle: { pricing_mode: "per-request", model_price: "0.03" } } },
      onUsage: ({ charge }) => charges.push(charge),
      fetch: async (url) => {
        sent.push(url);
        return Response.json(ARK_RESPONSE);
      },
      ...options,
    },
    { families: [family], features },
  );
  const post = (body: object, headers: Record<string, string> = {}, url = IMAGES): Promise<Response> =>
    gateway.fetch(
      new Request(url, {
        method: "POST",
        headers: { authorization: "Bearer sk-me", "content-type": "application/json", ...headers },
        body: JSON.stringify({ model: "doodle", prompt: "a fox", ...body }),
      }),
    );
  return { gateway, post, sent, charges };
}

/** A feature of an operator: it refuses prompts, and shows how many it has refused. */
function refuse(word: string): Feature {
  let refused = 0;
  return {
    name: "refuse",
    setup: () => ({
      beforeSend({ prompt }) {
        if (!prompt.includes(word)) return;
        refused++;
        throw new GatewayError("request_refused", `The prompt contains ${word}.`);
      },
      routes: ({ respond }) => [
        {
          pattern: /^(.*?)\/v1\/refused$/,
          respond: (request) =>
            respond(request, async (id) => ({
              status: 200,
              headers: { "content-type": "application/json", "x-request-id": id },
              body: JSON.stringify({ refused }),
            })),
        },
      ],
    }),
  };
}

/** A feature that adds to a header. */
const stamp = (name: string, value: string): Feature => ({
  name,
  setup: () => ({
    changeResponse: (_request, response) => ({
      ...response,
      headers: { ...response.headers, "x-stamp": `${response.headers["x-stamp"] ?? ""}${value}` },
    }),
  }),
});

const observe: Feature["observe"] = (logger) => ({
  logger,
  start: () => undefined,
  watchChannels: () => () => {},
});

/** As JavaScript may do. */
const passNull = (): unknown => Reflect.apply(composeGateway, undefined, [null, { families: [] }]);

describe("a gateway of the kernel alone", () => {
  it("makes images, charges them exactly, and refuses what a budget does not cover", async () => {
    const { gateway, post, sent, charges } = open([]);

    const made = await post({});
    const refused = await post({});
    await gateway.close();

    expect(made.status).toBe(200);
    expect(await made.json()).toMatchObject({ data: [{ url: expect.any(String) }] });
    expect(refused.status).toBe(403);
    expect(sent).toHaveLength(1);
    expect(charges).toEqual(["0.03"]);
  });

  it("has no other path, no limit, and ignores idempotency keys", async () => {
    const { gateway, post, sent } = open([], { billing: undefined, callers: [{ id: "me", key: "sk-me" }] });
    expect((await gateway.fetch(new Request("http://localhost/v1/models"))).status).toBe(404);

    const headers = { "idempotency-key": "same" };
    for (const response of [await post({}, headers), await post({}, headers)]) {
      expect(response.status).toBe(200);
      expect(response.headers.has("ratelimit")).toBe(false);
    }
    expect(sent).toHaveLength(2);
    await gateway.close();
    expect((await post({})).status).toBe(503);
  });

  it("serves the endpoints of its families, with their rules, and those of no other family", async () => {
    const family: Family = {
      ...seedream,
      name: "studio",
      nativeEndpoint: {
        path: "/studio/images",
        checkHeaders(headers) {
          if (headers.get("x-studio-async") !== null) throw invalidRequest("Leave X-Studio-Async out.");
        },
        toErrorFields: ({ code }, requestId) => ({ reason: code, id: requestId }),
      },
    };
    const { post, sent } = open([], {}, family);
    const send = (path: string, headers?: Record<string, string>) =>
      post({}, headers, `http://localhost${path}`);

    const refused = await send("/studio/images", { "x-studio-async": "enable" });
    expect(await refused.json()).toMatchObject({
      reason: "invalid_request_error",
      id: refused.headers.get("x-request-id"),
      error: { message: "Leave X-Studio-Async out." },
    });
    const elsewhere = await send("/api/v3/images/generations");
    expect(await elsewhere.json()).toEqual({
      error: expect.objectContaining({ message: expect.stringContaining(" and /studio/images only.") }),
    });
    expect((await send("/api/v1/services/aigc/multimodal-generation/generation")).status).toBe(404);
    expect(sent).toEqual([]);
    expect((await send("/studio/images")).status).toBe(200);
  });

  it("reports every problem of its options", () => {
    expect(passNull).toThrow(/options must be an object/);
    const wrong = { models: { doodle: { family: "gemini" } }, limits: {}, callers: undefined };
    expect(() => open([], wrong)).toThrow(
      /limits is not an option[\s\S]*callers or authenticate is needed[\s\S]*models.doodle.family must be one of seedream/,
    );
  });
});

describe("a gateway with features", () => {
  it("has the limits and idempotency keys of `limits`", async () => {
    const { post, sent } = open([limits({ limits: { requestsPerMinute: 1 } })]);
    const first = await post({}, { "idempotency-key": "k" });
    expect(first.headers.get("ratelimit")).toBe('"requests";r=0;t=60');
    expect((await post({}, { "idempotency-key": "k" })).headers.get("idempotent-replayed")).toBe("true");
    expect((await post({})).status).toBe(429);
    expect(sent).toHaveLength(1);
    expect(() => open([limits({ limits: { requestsPerMinute: -1 } })])).toThrow(/limits.requestsPerMinute/);
  });

  it("has the routes and checks of a feature of its own, and charges nothing for what it refuses", async () => {
    const { gateway, post, sent, charges } = open([refuse("owl"), cors({ origins: "*" })]);
    const headers = { origin: "https://app.example.com" };

    const refused = await post({ prompt: "an owl" }, headers);
    const shown = await gateway.fetch(new Request("http://localhost/v1/refused", { headers }));
    await gateway.close();

    expect(refused.status).toBe(403);
    expect(refused.headers.get("access-control-allow-origin")).toBe("*");
    expect(await shown.json()).toEqual({ refused: 1 });
    expect(sent).toEqual([]);
    expect(charges).toEqual([]);
  });

  it("has the response changes of its features, in their order, and the response itself if one throws", async () => {
    const errors: string[] = [];
    const fail: Feature = {
      name: "fail",
      setup: () => ({
        changeResponse() {
          throw new TypeError("no table");
        },
      }),
    };
    const logger = { warn() {}, error: (_fields: object, message: string) => errors.push(message) };
    const { gateway, post } = open([stamp("first", "a"), fail, stamp("second", "b")], { logger });

    const made = await post({});
    const refused = await post({ prompt: "" });
    const unknown = await gateway.fetch(new Request("http://localhost/v1/other"));

    expect([made, refused, unknown].map(({ status, headers }) => [status, headers.get("x-stamp")])).toEqual([
      [200, "ab"],
      [400, "ab"],
      [404, "ab"],
    ]);
    expect(new Set(errors)).toEqual(new Set(["A feature could not change a response."]));
  });

  it("converts an interface of its own to the gateway's, within its limits of bodies, and errors have the envelope", async () => {
    const convert: Feature = {
      name: "convert",
      setup: () => ({
        routes: ({ respondWithOptions, readJson, handle, notFound }) => [
          {
            pattern: /^(.*?)\/draw$/,
            respond: (request) =>
              respondWithOptions(request, async ({ authenticate }) => {
                const caller = await authenticate(request);
                const { what } = await readJson(request, caller.id);
                const fields = { model: "doodle", prompt: what };
                const own = {
                  ...request,
                  url: "/v1/images/generations",
                  headers: request.headers,
                  body: null,
                };
                const made = { ...own, method: "POST", signal: request.signal, parsedBody: fields };
                return handle(made) ?? notFound(made);
              }),
          },
        ],
      }),
    };
    const { post, sent, charges, gateway } = open([convert, refuse("owl")], { bodyLimits: { json: 1000 } });
    const draw = (body: object, headers = {}) => post(body, headers, "http://localhost/draw");

    expect(await (await draw({ what: "a fox" })).json()).toMatchObject({
      model: "doodle",
      data: ARK_RESPONSE.data,
    });
    expect((await draw({ what: "a fox" }, { authorization: "Bearer sk-other" })).status).toBe(401);
    expect((await draw({ what: "x".repeat(1000) })).status).toBe(413);
    expect((await draw({ what: 7 })).status).toBe(400);
    expect((await draw({ what: "an owl" })).status).toBe(403);
    await gateway.close();
    const refused = await draw({ what: "a fox" });
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: "gateway_closed" } },
    ]);
    expect([sent.length, charges]).toEqual([1, ["0.03"]]);
  });

  it("begins a stream in time, also without `limits`", async () => {
    const provider = Promise.withResolvers<Response>();
    const { post } = open([], { heartbeatSeconds: 0.01, fetch: () => provider.promise });

    const response = await post({ stream: true });
    provider.resolve(Response.json(ARK_RESPONSE));

    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(await response.text()).toContain(ARK_RESPONSE.data[0]?.url);
  });

  it("closes only with a deadline that is a number", async () => {
    const { gateway } = open([]);
    await expect(gateway.close({ deadlineSeconds: Number.NaN })).rejects.toThrow(RangeError);
    await gateway.close({ deadlineSeconds: 1 });
  });

  it("refuses limits that nothing checks", () => {
    const limited = { callers: [{ id: "me", key: "sk-me", limits: { concurrent: 1 } }] };
    expect(() => open([], limited)).toThrow("callers[0].limits needs the feature limits");
    expect(() => open([limits()], limited)).not.toThrow();
  });

  it("refuses two features that observe calls", () => {
    const observing = { name: "observing", observe, setup: () => ({}) };
    expect(() => open([observing, observing])).toThrow("Two features contribute observation.");
  });

  it("refuses two features of one kind", () => {
    expect(() => open([limits(), limits()])).toThrow("Two features contribute admission.");
  });
});
