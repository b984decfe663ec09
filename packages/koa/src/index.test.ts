import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createGateway, type Gateway, type UsageRecord } from "@calotype/core";
import { createEmulator, type EmulatorServer } from "@calotype/emulator";
import { bodyParser } from "@koa/bodyparser";
import cors from "@koa/cors";
import Koa3, { type Middleware } from "koa";
import mount from "koa-mount";
import Koa2 from "koa2";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { toKoaMiddleware } from "./index.js";

const MODEL = "doubao-seedream-4-0-250828";
const PATH = "/v1/images/generations";
const ONE = { model: MODEL, prompt: "a red fox", size: "1K" };
const STREAM = { ...ONE, n: 3, stream: true };

let provider: EmulatorServer | undefined;
beforeAll(async () => {
  provider = await createEmulator({ images: "tiny", millisecondsPerImage: 60 }).listen();
});
afterAll(() => provider?.close());

describe.each([
  { version: "Koa 2", Koa: Koa2 },
  { version: "Koa 3", Koa: Koa3 },
])("a gateway in $version", ({ Koa }) => {
  /** An app of these middlewares, and the errors that Koa reported. */
  const serve = async (...middlewares: Middleware[]) => {
    const app = new Koa();
    const errors: unknown[] = [];
    app.on("error", (error) => errors.push(error));
    for (const middleware of middlewares) app.use(middleware);
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, errors };
  };

  it("responds below a path of koa-mount, and passes on other paths", async () => {
    const { gateway } = startGateway();
    const app = await serve(mount("/ai", toKoaMiddleware(gateway)), (ctx) => {
      ctx.body = `own ${ctx.path}`;
    });

    expect(await post(app.url, ONE, { path: `/ai${PATH}` })).toMatchObject({ status: 200 });
    expect(await post(app.url, ONE)).toMatchObject({ status: 200, text: `own ${PATH}` });
    expect(await post(app.url, ONE, { path: "/ai/other" })).toMatchObject({ text: "own /ai/other" });
  });

  it("keeps the headers that were set before it", async () => {
    const { gateway } = startGateway();
    const app = await serve(cors({ origin: "https://a.test" }), toKoaMiddleware(gateway));

    const responses = [await post(app.url, ONE), await post(app.url, STREAM), await post(app.url, {})];

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 400]);
    for (const { headers } of responses) {
      expect(headers).toMatchObject({ "access-control-allow-origin": "https://a.test", vary: "Origin" });
      expect(headers["x-request-id"]).toMatch(/^req_/);
    }
  });

  it("accepts the result of a body parser before it, and checks it as strictly", async () => {
    const { gateway } = startGateway();
    const app = await serve(bodyParser(), toKoaMiddleware(gateway));

    expect((await post(app.url, ONE)).status).toBe(200);
    const twice = await post(app.url, `{"model":"x",${JSON.stringify(ONE).slice(1)}`);
    expect(twice.status).toBe(400);
    expect(twice.text).toContain("model");
  });

  it("sends a stream's first event before its last, and ends before the outer middleware continues", async () => {
    const { gateway, records } = startGateway();
    const seen: unknown[] = [];
    const app = await serve(async (ctx, next) => {
      await next();
      seen.push(ctx.status, ctx.res.writableEnded);
    }, toKoaMiddleware(gateway));

    const response = await responseTo(open(app.url, STREAM));
    expect(response.headers["content-type"]).toContain("text/event-stream");
    expect(seen).toEqual([]);
    expect(records).toEqual([]);
    expect(await text(response)).toContain("image_generation.completed");
    await vi.waitFor(() => expect(seen).toEqual([200, true]));
  });

  it("settles a stream once if its client left", async () => {
    const { gateway, records } = startGateway();
    const app = await serve(toKoaMiddleware(gateway));

    const client = open(app.url, STREAM);
    await once(await responseTo(client), "data");
    client.destroy();

    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(records[0]).toMatchObject({ status: 200, images: 3, charge: null });
  });

  it.each([
    { what: "sets a body", after: (ctx: Koa3.Context) => void (ctx.body = "mine") },
    { what: "throws", after: (ctx: Koa3.Context) => ctx.throw(418, "too late") },
    { what: "redirects", after: (ctx: Koa3.Context) => ctx.redirect("/elsewhere") },
  ])("keeps its response if an outer middleware $what afterwards", async ({ after }) => {
    const { gateway } = startGateway();
    const app = await serve(async (ctx, next) => {
      await next();
      after(ctx);
    }, toKoaMiddleware(gateway));

    const [image, refusal, stream] = [
      await post(app.url, ONE),
      await post(app.url, { model: "unheard-of" }),
      await post(app.url, STREAM),
    ];

    expect(image).toMatchObject({ status: 200, text: expect.stringContaining('"data"') });
    expect(refusal).toMatchObject({ status: 404, text: expect.stringContaining('"model_not_found"') });
    expect(stream).toMatchObject({ status: 200, text: expect.stringMatching(/DONE\]\s+$/) });
  });

  it("writes no second response if an outer middleware has failed", async () => {
    const { gateway, records } = startGateway();
    const app = await serve(async (ctx, next) => {
      await Promise.race([next(), new Promise((resolve) => setTimeout(resolve, 20))]);
      ctx.throw(504, "too slow");
    }, toKoaMiddleware(gateway));

    expect((await post(app.url, ONE)).status).toBe(504);
    await vi.waitFor(() => expect(records).toMatchObject([{ status: 200, images: 1 }]));
    expect(app.errors).toMatchObject([{ status: 504 }]);
  });
});

const CALLER_KEY = "caller-canary-3b8e15c9";

/** A real gateway in front of the emulated provider, and the records of its requests. */
function startGateway(): { gateway: Gateway; records: UsageRecord[] } {
  const records: UsageRecord[] = [];
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [
      { id: "ark", family: "seedream", apiKey: "ark-canary-d04f7b26", baseUrl: provider?.arkBaseUrl },
    ],
    callers: [{ id: "tester", key: CALLER_KEY }],
    onUsage: (record) => records.push(record),
  });
  onTestFinished(() => gateway.close());
  return { gateway, records };
}

function open(url: string, body: unknown, { path = PATH } = {}): ClientRequest {
  const headers = {
    authorization: `Bearer ${CALLER_KEY}`,
    "content-type": "application/json",
    origin: "https://a.test",
  };
  const client = request(url + path, { method: "POST", headers, agent: false });
  client.on("error", () => {});
  return client.end(typeof body === "string" ? body : JSON.stringify(body));
}

async function responseTo(client: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(client, "response")) as [IncomingMessage];
  return response;
}

async function post(url: string, body: unknown, options?: { path: string }) {
  const response = await responseTo(open(url, body, options));
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}
