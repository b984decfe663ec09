import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type RunningExample, startExample } from "@calotype/example-options/testing";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";

const MODEL = "seedream-4-5-251128";
const BATCH = { model: MODEL, prompt: "Three pictures of an oak tree", n: 3, size: "2048x2048" } as const;

// Builds the app first, as `npm run start:next` does.
let app: RunningExample;
let client: OpenAI;
beforeAll(async () => {
  app = await startExample(fileURLToPath(new URL("start.ts", import.meta.url)));
  client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
}, 120_000);
afterAll(() => app?.stop());

it("makes an image for the official client and prints its usage record", async () => {
  const { data, response } = await client.images
    .generate({ model: MODEL, prompt: "an oak tree", size: "2048x2048" })
    .withResponse();

  expect(data.data?.[0]?.url).toMatch(/^http/);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
    model: MODEL,
    usage: { generated_images: 1 },
    charge: "0.25",
  });
});

it("streams the images of a batch", async () => {
  const { data: events, response } = await client.images.generate({ ...BATCH, stream: true }).withResponse();
  const types: string[] = [];
  for await (const event of events) types.push(event.type);

  expect(types).toHaveLength(4);
  expect(types.at(-1)).toBe("image_generation.completed");
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({ charge: "0.75" });
});

it("charges a stream whose client left", async () => {
  const { data: events, response } = await client.images.generate({ ...BATCH, stream: true }).withResponse();
  events.controller.abort();

  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({ charge: "0.75" });
});

it("lists the models with their prices for the official client", async () => {
  const { data } = await client.models.list();

  expect(data).toContainEqual(
    expect.objectContaining({
      id: BATCH.model,
      object: "model",
      price: { pricing_mode: "per-request", model_price: expect.any(String) },
    }),
  );
});

it("responds to what is not the gateway's with 404", async () => {
  const response = await fetch(new URL("/v1/images/variations", app.baseUrl));

  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
});

it("prints only usage records on stdout after it listens, and ends when it is stopped", async () => {
  await pause(50);

  expect(app.lines[0]).toMatch(/^calotype listens on http:\/\/localhost:\d+\/v1$/);
  expect(app.lines.slice(1).map((line) => JSON.parse(line).status)).toEqual([200, 200, 200]);
  expect(await app.stop()).toBe(0);
});
