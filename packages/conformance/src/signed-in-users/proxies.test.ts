import type { RequestListener } from "node:http";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import express from "express";
import Koa from "koa";
import { describe, expect, it, onTestFinished } from "vitest";
import { send } from "../support/http-client.js";
import { GENERATIONS } from "../support/image-calls.js";
import { listen } from "../support/listen.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";

type Gateway = ReturnType<typeof startGateway>["gateway"];

/** Apps behind a proxy that ends TLS, which they trust or not. */
const APPS: Readonly<Record<string, (gateway: Gateway, isTrusted: boolean) => RequestListener>> = {
  Express: (gateway, isTrusted) =>
    express()
      .set("trust proxy", isTrusted)
      .use(toExpressHandler(gateway, { caller: () => null })),
  Koa: (gateway, isTrusted) => {
    const app = new Koa({ proxy: isTrusted });
    app.use(toKoaMiddleware(gateway, { caller: () => null }));
    const handle = app.callback();
    return (req, res) => void handle(req, res);
  },
};

describe.each(Object.entries(APPS))(
  "the app's own origin on %s behind a proxy that ends TLS",
  (_name, create) => {
    const providers = useProviders();

    it.each([
      // Nobody is signed in: a 401 says that the request has passed.
      ["trusts the proxy", true, "https", "https", 401],
      ["trusts the proxy, and the page has no TLS", true, "https", "http", 403],
      ["does not trust the proxy", false, "https", "https", 403],
      ["trusts a proxy without TLS", true, "http", "http", 401],
    ] as const)("if the app %s", async (_what, isTrusted, forwarded, page, status) => {
      const { url, close } = await listen(create(startGateway(providers()).gateway, isTrusted));
      onTestFinished(close);
      const headers = {
        host: "app.example",
        "x-forwarded-proto": forwarded,
        origin: `${page}://app.example`,
      };
      expect((await send(url, { path: GENERATIONS, headers, body: "{}" })).status).toBe(status);
    });
  },
);
