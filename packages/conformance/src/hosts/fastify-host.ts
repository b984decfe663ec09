import { once } from "node:events";
import { toFastifyHook } from "@calotype/node";
import { fastify, type onRequestAsyncHookHandler } from "fastify";
import type { AdapterHost, Before } from "../adapter-suite/adapter-host.ts";
import { OWN_RESPONSE } from "../adapter-suite/adapter-host.ts";
import { send } from "../support/http-client.ts";

const BEFORES = ["eats-body", "listens-to-body", "sets-header"] as const satisfies readonly Before[];

const HOOKS: Record<(typeof BEFORES)[number], onRequestAsyncHookHandler> = {
  "eats-body": async ({ raw }) => {
    await once(raw.resume(), "end");
  },
  "listens-to-body": async ({ raw }) => {
    raw.on("data", () => {});
  },
  "sets-header": async (_request, reply) => {
    reply.header("x-host", "yes");
  },
};

/** The host of the suite for Fastify. */
export const FASTIFY_HOST: AdapterHost = {
  name: "Fastify",
  befores: BEFORES,
  hasSocket: true,
  hasMountPaths: false,
  otherPaths: "own-handler",
  sharesAdapter: true, // that of node:http
  async mount(gateway, { before } = {}) {
    const app = fastify({ forceCloseConnections: true });
    const hook = BEFORES.find((name) => name === before);
    if (hook !== undefined) app.addHook("onRequest", HOOKS[hook]);
    app.addHook("onRequest", toFastifyHook(gateway));
    app.setNotFoundHandler((_request, reply) => reply.code(200).send(OWN_RESPONSE));
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url, close: () => app.close(), send: (call) => send(url, call) };
  },
};
