import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

const MODEL = "seedream-4-5-251128";

let app: RunningExample;
let client: OpenAI;
beforeAll(async () => {
  app = await startExample(join(ROOT, "examples/koa-app/server.ts"));
  client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
});
afterAll(() => app.stop());

it("says that its images are emulated, on stderr", () => {
  expect(app.errors()).toContain("emulated images");
  expect(app.lines).toEqual([expect.stringMatching(/^calotype listens on http:\/\/localhost:\d+\/v1$/)]);
});

it("makes an image for the official client and prints its usage record", async () => {
  const { data, response } = await client.images
    .generate({ model: MODEL, prompt: "an oak tree", size: "2048x2048" })
    .withResponse();

  const [image] = data.data ?? [];
  expect((await fetch(image?.url ?? "")).headers.get("content-type")).toMatch(/^image\//);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
    model: MODEL,
    caller: "default",
    operation: "generate",
    usage: { generated_images: 1 },
    charge: "0.25",
  });
});

it("streams the images of a batch as they arrive", async () => {
  const { data: events, response } = await client.images
    .generate({
      model: MODEL,
      prompt: "Three pictures of an oak tree, a season each",
      n: 3,
      size: "2048x2048",
      stream: true,
    })
    .withResponse();
  const types: string[] = [];
  for await (const event of events) types.push(event.type);

  expect(types).toEqual([
    ...Array.from({ length: 3 }, () => "image_generation.partial_succeeded"),
    "image_generation.completed",
  ]);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
    usage: { generated_images: 3 },
    charge: "0.75",
  });
});

it("ends when it is stopped", async () => {
  expect(await app.stop()).toBe(0);
});
