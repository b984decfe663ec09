import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { toKoaMiddleware } from "@calotype/koa";
import { bodyParser } from "@koa/bodyparser";
import type Koa from "koa";
import type { Middleware } from "koa";
import mount from "koa-mount";
import { type AdapterHost, type Before, OWN_RESPONSE } from "../adapter-suite/adapter-host.ts";
import { send } from "../support/http-client.ts";
import { listen } from "../support/listen.ts";

const HANDLERS: Record<Before, Middleware> = {
  "json-parser": bodyParser({ enableTypes: ["json"], jsonLimit: "64mb" }),
  "raw-parser": async (ctx, next) => {
    ctx.request.body = await buffer(ctx.req);
    await next();
  },
  "text-parser": bodyParser({ enableTypes: ["text"], extendTypes: { text: ["*/*"] }, textLimit: "64mb" }),
  "form-parser": bodyParser({ enableTypes: ["form"] }),
  "eats-body": async (ctx, next) => {
    await once(ctx.req.resume(), "end");
    await next();
  },
  "listens-to-body": async (ctx, next) => {
    ctx.req.on("data", () => {});
    await next();
  },
  "sets-header": async (ctx, next) => {
    ctx.set("x-host", "yes");
    await next();
  },
};

/** A host of the suite for one version of Koa. */
export function createKoaHost(name: string, Framework: typeof Koa): AdapterHost {
  return {
    name,
    befores: [
      "json-parser",
      "raw-parser",
      "text-parser",
      "form-parser",
      "eats-body",
      "listens-to-body",
      "sets-header",
    ],
    hasSocket: true,
    hasMountPaths: true,
    otherPaths: "own-handler",
    async mount(gateway, { at = "/", before } = {}) {
      const app = new Framework();
      if (before !== undefined) app.use(HANDLERS[before]);
      app.use(mount(at, toKoaMiddleware(gateway)));
      app.use((ctx) => {
        ctx.body = OWN_RESPONSE;
      });
      // Clients disconnect on purpose in these tests.
      app.silent = true;
      const handle = app.callback();
      const { url, close } = await listen((req, res) => void handle(req, res));
      return { url, close, send: (call) => send(url, call) };
    },
  };
}
