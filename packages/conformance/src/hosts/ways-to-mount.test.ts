// oxlint-disable-next-line import/no-unassigned-import -- Nest's decorators need it.
import "reflect-metadata";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Gateway } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import { toNodeHandler } from "@calotype/node";
import { Router as KoaRouter } from "@koa/router";
import { type MiddlewareConsumer, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import express4 from "express4";
import Koa from "koa";
import mount from "koa-mount";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ReadResponse, send } from "../support/http-client.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { listen } from "../support/listen.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";

const OWN = "the app's own";
const CALL = jsonCall(SEEDREAM_BODY);

/** Serves a gateway that is mounted in one way. The host responds to all other requests with `OWN`. */
type Mount = (gateway: Gateway) => RequestListener;

const inExpress =
  (use: (app: express.Express, gateway: Gateway) => void): Mount =>
  (gateway) => {
    const app = express();
    use(app, gateway);
    return app.use((_req, res) => void res.send(OWN));
  };

const inKoa =
  (use: (app: Koa, gateway: Gateway) => void): Mount =>
  (gateway) => {
    const app = new Koa();
    use(app, gateway);
    app.use((ctx) => {
      ctx.body = OWN;
    });
    const handle = app.callback();
    return (req, res) => void handle(req, res);
  };

/** A middleware of `forRoutes`. Nest calls it like an Express handler. */
async function inNest(gateway: Gateway, route: string): Promise<string> {
  class App {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(toExpressHandler(gateway)).forRoutes(route);
    }
  }
  Module({})(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, "127.0.0.1");
  onTestFinished(() => app.close());
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

const WAYS: readonly (readonly [name: string, path: string, mount: Mount])[] = [
  ["Express: use(handler)", "/v1/images/generations", inExpress((app, g) => app.use(toExpressHandler(g)))],
  [
    "Express: use('/x', handler)",
    "/x/v1/images/generations",
    inExpress((app, g) => app.use("/x", toExpressHandler(g))),
  ],
  [
    "Express: use('/x/v1', handler)",
    "/x/v1/images/generations",
    inExpress((app, g) => app.use("/x/v1", toExpressHandler(g))),
  ],
  [
    "Express: use('/x/*splat', handler)",
    "/x/v1/images/generations",
    inExpress((app, g) => app.use("/x/*splat", toExpressHandler(g))),
  ],
  [
    "Express: all('/x/*splat', handler)",
    "/x/v1/images/generations",
    inExpress((app, g) => app.all("/x/*splat", toExpressHandler(g))),
  ],
  [
    "Express: post('/x/v1/images/generations', handler)",
    "/x/v1/images/generations",
    inExpress((app, g) => app.post("/x/v1/images/generations", toExpressHandler(g))),
  ],
  [
    "Express: a router in a router with a parameter",
    "/tenants/7/ai/v1/images/generations",
    inExpress((app, g) =>
      app.use(
        "/tenants/:id",
        express.Router().use("/ai", express.Router().all("/*rest", toExpressHandler(g))),
      ),
    ),
  ],
  [
    "Express: a middleware that rewrites the url",
    "/pictures",
    inExpress((app, g) =>
      app
        .use((req, _res, next) => {
          req.url = "/v1/images/generations";
          next();
        })
        .use(toExpressHandler(g)),
    ),
  ],
  [
    "Express 4: all('/x/*', handler)",
    "/x/v1/images/generations",
    (g) => express4().all("/x/*", toExpressHandler(g)) as RequestListener,
  ],
  [
    "Koa: koa-mount('/v1/images/generations')",
    "/v1/images/generations?x=1",
    inKoa((app, g) => app.use(mount("/v1/images/generations", toKoaMiddleware(g)))),
  ],
  [
    "Koa: koa-mount('/x/v1')",
    "/x/v1/images/generations",
    inKoa((app, g) => app.use(mount("/x/v1", toKoaMiddleware(g)))),
  ],
  [
    "Koa: koa-mount in koa-mount",
    "/x/ai/v1/images/generations",
    inKoa((app, g) => app.use(mount("/x", mount("/ai", toKoaMiddleware(g))))),
  ],
  [
    "Koa: router.all('/x/{*rest}')",
    "/x/v1/images/generations",
    inKoa((app, g) => app.use(new KoaRouter().all("/x/{*rest}", toKoaMiddleware(g)).routes())),
  ],
  [
    "Koa: a router with a prefix",
    "/x/v1/images/generations",
    inKoa((app, g) =>
      app.use(new KoaRouter({ prefix: "/x/v1" }).post("/images/generations", toKoaMiddleware(g)).routes()),
    ),
  ],
  [
    "Connect: a mount path taken off url, kept in originalUrl",
    "/x/v1/images/generations",
    (g) => (req, res) => {
      const handler = toNodeHandler(g);
      const stripped = Object.assign(req, { originalUrl: req.url, url: req.url?.slice("/x/v1".length) });
      handler(stripped, res, () => res.end(OWN));
    },
  ],
  ["node:http: toNodeHandler", "/any/where/v1/images/generations", (g) => toNodeHandler(g)],
];

describe("a gateway that is mounted in different ways", () => {
  const providers = useProviders();
  const post = async (mounted: Mount, path: string): Promise<ReadResponse> => {
    const { gateway } = startGateway(providers());
    const { url, close } = await listen(mounted(gateway));
    onTestFinished(close);
    return send(url, { ...CALL, path });
  };

  it.each(WAYS)("%s serves %s", async (_name, path, mounted) => {
    const { status, text } = await post(mounted, path);

    expect({ status, text }).toMatchObject({ status: 200, text: expect.stringContaining('"data"') });
  });

  it.each(["x", "x/v1", "x/*splat", "*splat"])(
    "Nest: forRoutes(%j) serves /x/v1/images/generations",
    async (route) => {
      const { gateway } = startGateway(providers());
      const url = await inNest(gateway, route);

      expect((await send(url, { ...CALL, path: "/x/v1/images/generations" })).status).toBe(200);
    },
  );

  it.each([
    ["GET", "/shop/v1/images/generations"],
    ["GET", "/shop/v1/models"],
    ["POST", "/v1/images/variations"],
    ["POST", "/v1/chat/completions"],
    ["GET", "/v1"],
  ])("mounted without a path it leaves %s %s to the app", async (method, path) => {
    const { gateway } = startGateway(providers());
    const { url, close } = await listen(inExpress((app) => app.use(toExpressHandler(gateway)))(gateway));
    onTestFinished(close);

    const call = method === "GET" ? { path, method } : { ...CALL, path, method };
    expect((await send(url, call)).text).toBe(OWN);
  });

  it("does not respond to other paths of a wildcard route", async () => {
    const { text } = await post(
      inExpress((app, g) => app.use("/*splat", toExpressHandler(g))),
      "/v1/images/variations",
    );

    expect(text).toBe(OWN);
  });
});

describe("a preflight request", () => {
  const providers = useProviders();

  it.each([
    ["/shop/v1/images/generations", "POST", 204],
    ["/shop/v1/images/generations", "GET", 200],
    ["/v1/models/a", "GET", 204],
    ["/shop/v1/models", "GET", 200],
  ])("without a mount path for %s follows the rule of %s: %i", async (path, method, status) => {
    const { gateway } = startGateway(providers(), { cors: { origins: "*" } });
    const { url, close } = await listen(inExpress((app) => app.use(toExpressHandler(gateway)))(gateway));
    onTestFinished(close);

    const headers = { origin: "https://shop.example", "access-control-request-method": method };
    expect((await send(url, { method: "OPTIONS", path, headers })).status).toBe(status);
  });
});

describe("the response headers that a web page may read", () => {
  const providers = useProviders();

  it("are added to those that the app's CORS middleware names", async () => {
    const { gateway } = startGateway(providers());
    const app = express()
      .use((_req, res, next) => {
        res.set("access-control-expose-headers", "x-shop");
        next();
      })
      .use(toExpressHandler(gateway));
    const { url, close } = await listen(app);
    onTestFinished(close);

    const { headers } = await send(url, {
      ...CALL,
      headers: { ...CALL.headers, origin: "https://shop.example" },
    });

    expect(headers["access-control-expose-headers"]).toBe("x-shop, x-request-id");
  });

  it("and vary are joined with those of the app, each name once, if both allow origins", async () => {
    const { gateway } = startGateway(providers(), { cors: { origins: ["https://shop.example"] } });
    const app = express()
      .use((_req, res, next) => {
        res.set("access-control-allow-origin", "*").vary("Accept-Encoding").vary("Origin");
        res.set("access-control-expose-headers", "X-Request-Id, x-shop");
        next();
      })
      .use(toExpressHandler(gateway));
    const { url, close } = await listen(app);
    onTestFinished(close);

    const { headers } = await send(url, {
      ...CALL,
      headers: { ...CALL.headers, origin: "https://shop.example" },
    });

    expect(headers).toMatchObject({
      "access-control-allow-origin": "https://shop.example",
      "access-control-expose-headers": "x-request-id, x-shop",
      vary: "Accept-Encoding, origin",
    });
  });
});
