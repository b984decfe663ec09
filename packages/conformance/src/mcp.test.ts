import type { Gateway } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import { mcp } from "@calotype/mcp";
import { toFastifyHook } from "@calotype/node";
import { getRequestListener } from "@hono/node-server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import express from "express";
import { fastify } from "fastify";
import Koa from "koa";
import mount from "koa-mount";
import { expect, it, onTestFinished } from "vitest";
import { SEEDREAM_BODY } from "./support/image-calls.js";
import { listen } from "./support/listen.js";
import { CALLER_KEY, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const providers = useProviders();

/** Starts an app with the gateway in it, and returns the URL of its tools. */
type StartApp = (gateway: Gateway) => Promise<string>;

const APPS: Readonly<Record<string, StartApp>> = {
  "Express behind a body parser": async (gateway) => {
    const app = express().use(express.json()).use("/ai", toExpressHandler(gateway));
    return `${await start(app)}/ai/mcp`;
  },
  "Express without a mount path": async (gateway) =>
    `${await start(express().use(toExpressHandler(gateway)))}/mcp`,
  Koa: async (gateway) => {
    const app = new Koa().use(mount("/ai", toKoaMiddleware(gateway)));
    const respond = app.callback();
    return `${await start((incoming, outgoing) => void respond(incoming, outgoing))}/ai/mcp`;
  },
  Fastify: async (gateway) => {
    const app = fastify().addHook("onRequest", toFastifyHook(gateway));
    onTestFinished(() => app.close());
    return `${await app.listen({ port: 0 })}/mcp`;
  },
  "a host of Web requests": async (gateway) => {
    const respond = getRequestListener((request) => gateway.fetch(request));
    return `${await start((incoming, outgoing) => void respond(incoming, outgoing))}/mcp`;
  },
};

async function start(listener: Parameters<typeof listen>[0]): Promise<string> {
  const { url, close } = await listen(listener);
  onTestFinished(close);
  return url;
}

it.each(Object.entries(APPS))("the official MCP client makes an image in %s", async (_name, startApp) => {
  const { gateway, records } = startGateway(providers(), { features: [mcp()] });
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${CALLER_KEY}` };
  const url = new URL(await startApp(gateway));
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());

  const { content } = await client.callTool({ name: "generate_image", arguments: { ...SEEDREAM_BODY } });

  expect(content[0]).toMatchObject({ type: "resource_link", uri: expect.stringContaining("/ark-results/") });
  expect(records).toHaveLength(1);
});
