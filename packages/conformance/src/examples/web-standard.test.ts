import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

let app: RunningExample;
beforeAll(async () => {
  app = await startExample(join(ROOT, "examples/web-standard/serve.ts"));
});
afterAll(() => app.stop());

it("makes an image for the official client and prints its usage record", async () => {
  const client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
  const { data, response } = await client.images
    .generate({ model: "seedream-4-5-251128", prompt: "a red fox", size: "2048x2048" })
    .withResponse();

  expect(data.data?.[0]?.url).toMatch(/^http/);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
    model: "seedream-4-5-251128",
    operation: "generate",
    charge: "0.25",
  });
});

it("responds to a path that is not the gateway's with 404", async () => {
  const response = await fetch(new URL("/", app.baseUrl));

  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
});

it("ends when it is stopped", async () => {
  expect(await app.stop()).toBe(0);
});
