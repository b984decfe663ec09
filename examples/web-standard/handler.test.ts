import { fileURLToPath } from "node:url";
import { type RunningExample, startExample } from "@calotype/example-options/testing";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";

let app: RunningExample;
beforeAll(async () => {
  app = await startExample(fileURLToPath(new URL("serve.ts", import.meta.url)));
});
afterAll(() => app.stop());

it("makes an image for the official client and prints its usage record", async () => {
  const client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
  const { data, response } = await client.images
    .generate({ model: "image-max", prompt: "a red fox", size: "1328x1328" })
    .withResponse();

  expect(data.data?.[0]?.url).toMatch(/^http/);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
    model: "image-max",
    operation: "generate",
    charge: "0.5",
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
