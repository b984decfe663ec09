import { toFastifyHook } from "@calotype/node";
import { fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { describeAdapter } from "../adapter-suite.js";
import { SEEDREAM_BODY } from "../support/image-calls.js";
import { CALLER_KEY, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { FASTIFY_HOST } from "./fastify-host.js";

describeAdapter(FASTIFY_HOST);

const providers = useProviders();
const PATH = "/v1/images/generations";

/** An app with the gateway, and what its `onResponse` hook has seen. */
function createApp() {
  const { gateway } = startGateway(providers());
  const app = fastify();
  onTestFinished(() => app.close());
  const seen: string[] = [];
  app.addHook("onRequest", toFastifyHook(gateway));
  app.addHook("onResponse", async ({ method, url }, reply) => {
    seen.push(`${method} ${url} ${reply.statusCode}`);
  });
  app.post("/echo", ({ body }) => body);
  const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
  return { app, gateway, seen, headers };
}

it("responds to app.inject, and to the routes of the app with their parsed body", async () => {
  const { app, headers } = createApp();

  const image = await app.inject({ method: "POST", url: PATH, headers, payload: SEEDREAM_BODY });
  const echo = await app.inject({ method: "POST", url: "/echo", headers, payload: { a: 1 } });

  expect({ status: image.statusCode, body: image.json() }).toMatchObject({
    status: 200,
    body: { data: [{ url: expect.any(String) }] },
  });
  expect(echo.json()).toEqual({ a: 1 });
});

it("lets Fastify know when a response is complete", async () => {
  const { app, headers, seen } = createApp();

  await app.inject({ method: "POST", url: PATH, headers, payload: SEEDREAM_BODY });
  await app.inject({ method: "POST", url: PATH, payload: SEEDREAM_BODY });

  expect(seen).toEqual([`POST ${PATH} 200`, `POST ${PATH} 401`]);
});

it("uses the body that Fastify has parsed if it is a preHandler of a route", async () => {
  const { app, gateway, headers } = createApp();
  app.post("/ai/v1/images/generations", { preHandler: toFastifyHook(gateway) }, () => "not reached");

  const response = await app.inject({ method: "POST", url: `/ai${PATH}`, headers, payload: SEEDREAM_BODY });

  expect({ status: response.statusCode, body: response.json() }).toMatchObject({ status: 200 });
});
