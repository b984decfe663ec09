import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { Auth } from "@auth/core";
import { ExpressAuth, getSession } from "@auth/express";
import type { Caller } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import { toFastifyHook, toNodeHandler } from "@calotype/node";
import { serve } from "@hono/node-server";
import { bodyParser } from "@koa/bodyparser";
import { fromNodeHeaders, toNodeHandler as toBetterAuthHandler } from "better-auth/node";
import express, { type Request as ExpressRequest } from "express";
import express4 from "express4";
import { type FastifyRequest, fastify } from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import Koa2 from "koa2";
import { type Listening, listen } from "../support/listen.js";
import { isFull } from "../support/test-run.js";
import { authJsClient, betterAuthClient, expressSessionClient } from "./clients.js";
import { AUTH_JS, createBetterAuth, createExpressSession, findAuthJsId } from "./libraries.js";
import type { SignInApp } from "./sign-in-app.js";

const toCaller = async (id: string | undefined): Promise<Caller | null> => (id === undefined ? null : { id });

const onExpress = (host: string, framework: typeof express): readonly SignInApp[] => [
  {
    host,
    library: "better-auth",
    client: betterAuthClient,
    hasParser: true,
    open(gateway, { seen = toCaller, parsesBodies = false } = {}) {
      const auth = createBetterAuth();
      const app = framework();
      app.use("/api/auth", toBetterAuthHandler(auth));
      if (parsesBodies) app.use(framework.json());
      const caller = async (req: ExpressRequest) => {
        const session = await auth.api.getSession({ headers: fromNodeHeaders(req.headers) });
        return seen(session?.user.id);
      };
      app.use(toExpressHandler(gateway, { caller }));
      return listen(app);
    },
  },
  {
    host,
    library: "Auth.js",
    client: authJsClient,
    hasParser: true,
    open(gateway, { seen = toCaller, parsesBodies = false } = {}) {
      const app = framework();
      app.use("/api/auth", ExpressAuth(AUTH_JS));
      if (parsesBodies) app.use(framework.json());
      const caller = async (req: ExpressRequest) => seen((await getSession(req, AUTH_JS))?.user?.id);
      app.use(toExpressHandler(gateway, { caller }));
      return listen(app);
    },
  },
  {
    host,
    library: "express-session",
    client: expressSessionClient,
    hasParser: true,
    open(gateway, { seen = toCaller, parsesBodies = false } = {}) {
      const app = framework();
      app.use(createExpressSession());
      app.post("/login", (req, res) => {
        req.session.userId = `id-of-${new URLSearchParams(req.url.split("?")[1]).get("name")}`;
        res.end();
      });
      app.post("/logout", (req, res) => void req.session.destroy(() => res.end()));
      if (parsesBodies) app.use(framework.json());
      app.use(toExpressHandler(gateway, { caller: (req) => seen(req.session.userId) }));
      return listen(app);
    },
  },
];

const onKoa = (host: string, Framework: typeof Koa): readonly SignInApp[] => [
  {
    host,
    library: "better-auth",
    client: betterAuthClient,
    hasParser: true,
    open(gateway, { seen = toCaller, parsesBodies = false } = {}) {
      const auth = createBetterAuth();
      const app = new Framework();
      app.use(async (ctx, next) => {
        if (!ctx.path.startsWith("/api/auth")) return next();
        ctx.respond = false;
        await toBetterAuthHandler(auth)(ctx.req, ctx.res);
      });
      if (parsesBodies) app.use(bodyParser({ enableTypes: ["json"] }));
      app.use(
        toKoaMiddleware(gateway, {
          async caller(ctx) {
            const session = await auth.api.getSession({ headers: fromNodeHeaders(ctx.headers) });
            return seen(session?.user.id);
          },
        }),
      );
      const handle = app.callback();
      return listen((req, res) => void handle(req, res));
    },
  },
  {
    host,
    library: "Auth.js",
    client: authJsClient,
    hasParser: true,
    open(gateway, { seen = toCaller, parsesBodies = false } = {}) {
      const app = new Framework();
      app.use(async (ctx, next) => {
        if (!ctx.path.startsWith("/api/auth")) return next();
        ctx.respond = false;
        await respondWithAuthJs(ctx.req, ctx.res);
      });
      if (parsesBodies) app.use(bodyParser({ enableTypes: ["json"] }));
      const caller = async (ctx: Koa.Context) => seen(await findAuthJsId(ctx.headers.cookie));
      app.use(toKoaMiddleware(gateway, { caller }));
      const handle = app.callback();
      return listen((req, res) => void handle(req, res));
    },
  },
];

const NODE: readonly SignInApp[] = [
  {
    host: "node:http",
    library: "better-auth",
    client: betterAuthClient,
    hasParser: false,
    open(gateway, { seen = toCaller } = {}) {
      const auth = createBetterAuth();
      const handle = toNodeHandler(gateway, {
        async caller(req) {
          const session = await auth.api.getSession({ headers: fromNodeHeaders(req.headers) });
          return seen(session?.user.id);
        },
      });
      return listen((req, res) =>
        req.url?.startsWith("/api/auth") ? void toBetterAuthHandler(auth)(req, res) : handle(req, res),
      );
    },
  },
  {
    host: "node:http",
    library: "Auth.js",
    client: authJsClient,
    hasParser: false,
    open(gateway, { seen = toCaller } = {}) {
      const handle = toNodeHandler(gateway, {
        caller: async (req) => seen(await findAuthJsId(req.headers.cookie)),
      });
      return listen((req, res) =>
        req.url?.startsWith("/api/auth") ? void respondWithAuthJs(req, res) : handle(req, res),
      );
    },
  },
];

const FASTIFY: readonly SignInApp[] = [
  {
    host: "Fastify",
    library: "better-auth",
    client: betterAuthClient,
    hasParser: false,
    async open(gateway, { seen = toCaller } = {}) {
      const auth = createBetterAuth();
      const app = fastify({ forceCloseConnections: true });
      app.addHook("onRequest", async (request, reply) => {
        if (!request.url.startsWith("/api/auth")) return;
        reply.hijack();
        await toBetterAuthHandler(auth)(request.raw, reply.raw);
      });
      app.addHook(
        "onRequest",
        toFastifyHook(gateway, {
          async caller({ raw }: FastifyRequest) {
            const session = await auth.api.getSession({ headers: fromNodeHeaders(raw.headers) });
            return seen(session?.user.id);
          },
        }),
      );
      return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() };
    },
  },
  {
    host: "Fastify",
    library: "Auth.js",
    client: authJsClient,
    hasParser: false,
    async open(gateway, { seen = toCaller } = {}) {
      const app = fastify({ forceCloseConnections: true });
      app.addHook("onRequest", async (request, reply) => {
        if (!request.url.startsWith("/api/auth")) return;
        reply.hijack();
        await respondWithAuthJs(request.raw, reply.raw);
      });
      const caller = async ({ raw }: { readonly raw: IncomingMessage }) =>
        seen(await findAuthJsId(raw.headers.cookie));
      app.addHook("onRequest", toFastifyHook(gateway, { caller }));
      return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() };
    },
  },
];

const HONO: readonly SignInApp[] = [
  {
    host: "gateway.fetch in Hono",
    library: "better-auth",
    client: betterAuthClient,
    hasParser: false,
    open(gateway, { seen = toCaller } = {}) {
      const auth = createBetterAuth();
      const app = new Hono();
      app.on(["GET", "POST"], "/api/auth/*", (context) => auth.handler(context.req.raw));
      const caller = async ({ headers }: Request) => seen((await auth.api.getSession({ headers }))?.user.id);
      app.all("*", (context) => gateway.fetch(context.req.raw, { caller }));
      return serveHono(app);
    },
  },
  {
    host: "gateway.fetch in Hono",
    library: "Auth.js",
    client: authJsClient,
    hasParser: false,
    open(gateway, { seen = toCaller } = {}) {
      const app = new Hono();
      app.all("/api/auth/*", (context) => Auth(context.req.raw, AUTH_JS));
      const caller = async ({ headers }: Request) =>
        seen(await findAuthJsId(headers.get("cookie") ?? undefined));
      app.all("*", (context) => gateway.fetch(context.req.raw, { caller }));
      return serveHono(app);
    },
  },
];

/** Every app, but those of Next.js, which are built. */
export const SIGN_IN_APPS: readonly SignInApp[] = [
  ...onExpress("Express 5", express),
  ...onKoa("Koa 3", Koa),
  ...NODE,
  ...FASTIFY,
  ...HONO,
  // They share the adapters of Express 5 and Koa 3.
  ...(isFull() ? [...onExpress("Express 4", express4), ...onKoa("Koa 2", Koa2)] : []),
];

/** Responds with Auth.js, for hosts without a package of Auth.js. */
async function respondWithAuthJs(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await buffer(req);
  const headers = new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
  const request = new Request(`http://${req.headers.host}${req.url}`, {
    method: req.method ?? "GET",
    headers,
    body: body.length === 0 ? null : new Uint8Array(body),
  });
  const response = await Auth(request, AUTH_JS);
  res.statusCode = response.status;
  for (const [name, value] of response.headers) if (name !== "set-cookie") res.setHeader(name, value);
  res.setHeader("set-cookie", response.headers.getSetCookie());
  res.end(await response.text());
}

function serveHono(app: Hono): Promise<Listening> {
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
      resolve({
        url: `http://127.0.0.1:${port}`,
        close: async () => {
          server.close();
          if ("closeAllConnections" in server) server.closeAllConnections();
        },
      }),
    );
  });
}
