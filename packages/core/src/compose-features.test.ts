import { describe, expect, it } from "vitest";
import {
  alerts,
  budgets,
  type ComposeOptions,
  callers,
  channelControl,
  composeGateway,
  continuedCalls,
  estimates,
  type Feature,
  health,
  keyFunctions,
  limits,
  marks,
  modelsList,
  openapi,
  refusals,
  results,
  tasks,
  telemetry,
  usage,
  webhooks,
} from "./compose.js";
import type { Telemetry } from "./contract/telemetry.js";
import { seedream } from "./families/seedream/seedream.js";
import { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import { LINK_SECRET, MemoryResults } from "./testing/memory-results.js";
import { ARK_RESPONSE } from "./testing/test-gateway.js";

const URL_OF = "http://localhost";
const PRICES = { model_details: { doodle: { pricing_mode: "per-request", model_price: "0.03" } } } as const;
const WEBHOOKS = {
  endpoints: { me: { main: { url: "https://hooks.example.com/", secrets: [`whsec_${"A".repeat(32)}`] } } },
};

/** Opens a gateway of the kernel and these features. Its ledger keeps everything that features can use. */
function open<const Features extends readonly Feature[]>(
  features: Features,
  options: Partial<ComposeOptions> = {},
) {
  const sent: { readonly url: string; readonly body: unknown }[] = [];
  const gateway = composeGateway(
    {
      models: { doodle: { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "upstream-key" }],
      callers: [{ id: "me", key: "sk-me", budget: "10" }],
      billing: PRICES,
      ledger: createMemoryLedger(),
      logger: { info() {}, warn() {}, error() {} },
      fetch: async (url, { body }) => {
        sent.push({ url, body });
        if (url.endsWith(".png")) return new Response(PNG, { headers: { "content-type": "image/png" } });
        return url.startsWith("https://hooks.") ? new Response() : Response.json(ARK_RESPONSE);
      },
      ...options,
    },
    { families: [seedream], features },
  );
  const send = (path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
    gateway.fetch(
      new Request(`${URL_OF}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: "Bearer sk-me", "content-type": "application/json", ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
  const generate = (headers?: Record<string, string>): Promise<Response> =>
    send("/v1/images/generations", { model: "doodle", prompt: "a fox" }, headers);
  return { gateway, send, generate, sent };
}

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
const PAGE = { status: 200, headers: {}, body: "page" };
const ASYNC = { prefer: "respond-async" };

describe("a composed gateway with", () => {
  it("`modelsList` lists the models that a caller may use, with their prices", async () => {
    const { gateway, send } = open([modelsList({ showPrices: true })]);
    expect(await (await send("/v1/models")).json()).toMatchObject({
      data: [{ id: "doodle", price: expect.anything() }],
    });
    expect((await send("/v1/models/other")).status).toBe(404);
    await gateway.close();
  });

  it("`health` says what works, and `channelControl` shows the same state and pauses channels", async () => {
    const admission = createMemoryAdmissionStore();
    const { gateway, send, generate } = open([
      limits({ admission }),
      health({ admission }),
      channelControl({ admission }),
    ]);
    expect(await (await send("/healthz")).json()).toEqual({ ledger: "ok", store: "ok", channels: "ok" });
    expect(gateway.status()).toMatchObject({ ledger: { state: "ok" }, store: { state: "ok" } });

    await gateway.pauseChannel("ark", { by: "kim" });
    const refused = await generate();
    expect(await refused.json()).toMatchObject({ error: { code: "model_paused" } });
    expect(await (await send("/healthz")).json()).toMatchObject({ channels: "failing" });
    await gateway.resumeChannel("ark");
    expect((await generate()).status).toBe(200);
    expect(gateway.status().channels).toMatchObject([{ id: "ark", state: "ready", errors: [] }]);
    await gateway.close();
  });

  it("`health` alone checks no store", async () => {
    const { gateway, send } = open([health()]);
    expect(await (await send("/healthz")).json()).toEqual({ ledger: "ok", store: "ok", channels: "ok" });
    await gateway.close();
  });

  it("`openapi` serves a document and a page", async () => {
    const { gateway, send } = open([
      openapi({ document: { openapi: "3.1.0" }, reference: async () => PAGE }),
    ]);
    expect(await (await send("/openapi.json")).json()).toMatchObject({ openapi: "3.1.0" });
    expect(await (await send("/reference")).text()).toBe("page");
    await gateway.close();
    expect(() => open([openapi(JSON.parse('{"document":1}'))])).toThrow(/document must be true/);
  });

  it("`telemetry` observes calls and channels", async () => {
    const seen: string[] = [];
    let describeChannels: (() => readonly object[]) | undefined;
    const observer: Telemetry = {
      callStarted: ({ kind }) => ({ ended: () => seen.push(`${kind} ended`) }),
      watchChannels(read) {
        describeChannels = read;
        return () => seen.push("watch ended");
      },
    };
    const { gateway, generate } = open([telemetry({ telemetry: observer })]);
    await generate();
    expect(describeChannels?.()).toEqual([{ id: "ark", state: "ready" }]);
    await gateway.close();
    expect(seen).toEqual(["request ended", "watch ended"]);
    const logger = { warn() {}, error() {} };
    expect(() => open([telemetry({ logCalls: true })], { logger })).toThrow(/logCalls needs a logger/);
  });

  it("`refusals` finds refused requests", async () => {
    const { gateway, send } = open([refusals()]);
    const refused = await send("/v1/images/generations", { model: "other", prompt: "a fox" });
    const id = refused.headers.get("x-request-id") ?? "";
    expect(await gateway.refusals.find(id)).toMatchObject({ code: "model_not_found", caller: "me" });
    await gateway.close();
  });

  it("`usage`, `estimates`, `budgets` and `limits` report what was and would be charged", async () => {
    const callersOf = [{ id: "me", key: "sk-me", budget: { amount: "0.05", period: "month" } }] as const;
    const reached: number[] = [];
    const features = [
      limits({ limits: { requestsPerMinute: 5 } }),
      usage(),
      estimates(),
      budgets(),
      alerts({ onBudget: ({ threshold }) => reached.push(threshold) }),
    ] as const;
    const { gateway, generate } = open(features, { callers: callersOf });
    const request = { headers: new Headers({ authorization: "Bearer sk-me" }) };
    const asked = { operation: "generate", fields: { model: "doodle", prompt: "a fox" } } as const;
    expect(await gateway.estimate(request, asked)).toMatchObject({ charge: { amount: "0.03" } });
    await generate();
    expect(await gateway.usage.balance("me")).toMatchObject({ settled: "0.03" });
    expect(await gateway.budgets.read(callersOf[0])).toMatchObject({ settled: "0.03", left: "0.02" });
    expect(await gateway.limits.read({ id: "me" })).toMatchObject([{ name: "requests", used: 1 }]);
    expect(await gateway.prices()).toMatchObject(PRICES);
    expect(gateway.checkPrices({ model_details: {} })).toEqual([]);
    await gateway.close();
    expect(reached).toEqual([50]);
  });

  it("`callers` admits callers that were created at run time", async () => {
    const { gateway, send } = open([callers()]);
    const { key } = await gateway.callers.create({ id: "late", group: "default" });
    const body = { model: "doodle", prompt: "a fox" };
    const made = await send("/v1/images/generations", body, { authorization: `Bearer ${key}` });
    expect(made.status).toBe(200);
    expect(await gateway.callers.fixed()).toEqual([{ id: "me", budget: "10" }]);
    await gateway.close();
  });

  it("`marks` marks images, and refuses links without a store if a mark is required", async () => {
    const store = new MemoryResults();
    const stored = results({ store, urls: "gateway", secrets: [LINK_SECRET] });
    const { gateway, generate } = open([stored, marks({ producer: "A", china: true })]);
    expect((await generate()).status).toBe(200);
    // The image is not complete.
    expect([...store.images.values()].map(({ bytes }) => new Uint8Array(bytes))).toEqual([PNG]);
    await gateway.close();
    const strict = open([marks({ require: true })]);
    expect((await strict.generate()).status).toBe(400);
    expect(() => marks({ china: true })).toThrow(/marks.producer is missing/);
  });

  it("`results` stores images and serves them", async () => {
    const store = new MemoryResults();
    const { gateway, send, generate } = open([results({ store, urls: "gateway", secrets: [LINK_SECRET] })]);
    const made = await generate();
    const { data } = (await made.json()) as { data: [{ url: string }] };
    expect(data[0].url).toContain("/v1/images/files/");
    const served = await send(data[0].url.slice(URL_OF.length));
    expect(new Uint8Array(await served.arrayBuffer())).toEqual(PNG);
    await gateway.close();
    expect(() => results({ store: { put: async () => {} } })).toThrow(/results.store must have link or open/);
  });

  it("`tasks` and `webhooks` runs a request later, and reports its end", async () => {
    const messages = webhooks(WEBHOOKS);
    const features = [tasks({ concurrency: 0 }, { webhooks: messages }), messages, continuedCalls()] as const;
    const { gateway, send, generate, sent } = open(features);
    const accepted = await generate(ASYNC);
    expect(accepted.status).toBe(202);
    expect(sent).toEqual([]);

    expect(await gateway.runTasks()).toEqual({ tasks: 1 });

    const path = accepted.headers.get("location") ?? "";
    expect(await (await send(path)).json()).toMatchObject({ status: "completed" });
    expect(await gateway.webhooks.list()).toMatchObject([{ caller: "me", state: "delivered" }]);
    expect(sent.at(-1)?.url).toBe("https://hooks.example.com/");
    await gateway.close();
    await expect(gateway.runTasks()).rejects.toThrow("shutting down");
    const unknown = { endpoints: { you: WEBHOOKS.endpoints.me } };
    expect(() => open([webhooks(unknown)])).toThrow(/is not the id of an entry of callers/);
  });
});

describe("a composed gateway with `keyFunctions`", () => {
  const channels = [{ id: "ark", family: "seedream", apiKey: ["fixed-key", () => "returned-key"] }];

  it("sends the keys that functions return", async () => {
    const keys: (string | null)[] = [];
    const { generate } = open([keyFunctions()], {
      channels,
      fetch: async (_url, { headers }) => {
        keys.push(new Headers(headers).get("authorization"));
        return Response.json(ARK_RESPONSE);
      },
    });
    await generate();
    await generate();

    expect(new Set(keys)).toEqual(new Set(["Bearer fixed-key", "Bearer returned-key"]));
  });

  it("is needed for a function", () => {
    expect(() => open([], { channels })).toThrow("channels[0].apiKey needs the feature keyFunctions");
  });
});

describe("a composed gateway refuses", () => {
  it("a budget with a period that no feature counts", () => {
    const options = {
      callers: [{ id: "me", key: "sk-me", budget: { amount: "1", period: "day" } }],
    } as const;
    expect(() => open([], options)).toThrow(/callers\[0\].budget.period needs the feature budgets/);
  });

  it("alerts of a ledger that has none", () => {
    const ledger = undefined;
    expect(() => open([alerts({ onBudget() {} })], { ledger })).toThrow(/onBudget needs a ledger/);
  });
});
